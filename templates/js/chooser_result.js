// The answer of the chooser: a table of models, and the tasks that it rests on.

import { element } from "./element.js";
import { decimals, NONE, number } from "./numbers.js";

const cell = (...content) => element("td", { class: "num" }, ...content);
const unseen = (text) => element("span", { class: "unseen" }, text);

function scoreCell({ score, low, high, tied }, place, ordered) {
  if (low === null) return cell(decimals(score));
  const words = [` ${decimals(low)} – ${decimals(high)}`];
  if (ordered && tied && place > 0) words.push(", tied with the first");
  return cell(decimals(score), element("span", { class: "range" }, unseen("95 % interval"), words.join("")));
}

function speedCells(speed) {
  if (!speed) return [cell(NONE), cell(NONE)];
  const size = element("span", { class: "range" }, `${number(speed.atoms, 3)} atoms`);
  return [cell(number(speed.ms, 2), size), cell(number(speed.ns, 2))];
}

function failures({ n_failed: failed, n_items: items }) {
  return failed ? [element("span", { class: "aside" }, `${failed} of ${items} items failed`)] : [];
}

function row(model, place, named, scored, timed, ordered) {
  const { name, page } = named.get(model.model);
  const link = element("a", { href: page }, element("bdi", {}, name));
  return element(
    "tr",
    {},
    element("td", { class: "num" }, String(place + 1)),
    element("th", { scope: "row" }, link, ...(scored ? failures(model) : [])),
    ...(scored ? [scoreCell(model, place, ordered)] : []),
    ...(timed ? speedCells(model.speed) : []),
  );
}

/** A number as a reader types it, without zeros at its end. */
const plain = (value) => String(Number(value.toPrecision(4)));

export const kelvinWords = (...temperatures) => `${[...new Set(temperatures.map(plain))].join("–")} K`;

/** A length of time in ns, in words. */
export const lengthWords = (ns) => (ns < 1 ? `${plain(ns * 1000)} ps` : `${plain(ns)} ns`);

/** The conditions of runs: 300–3000 K for 10 ps. */
function runWords({ temperatures_k: temperatures, length_ns: length }) {
  return [...(temperatures ? [kelvinWords(...temperatures)] : []), lengthWords(length)].join(" for ");
}

function basisLine(basis) {
  const parts = basis.flatMap(({ entry, columns, runs }, i) => [
    i ? "; " : "",
    element("a", { href: entry.page }, entry.title),
    ` (${[...columns.map(({ metric }) => entry.columns[metric]), ...(runs ? [runWords(runs)] : [])].join(", ")})`,
  ]);
  return element("p", { class: "aside" }, "Rests on ", ...parts, ". 0 is perfect, 1 is no better than the trivial model, or the worst energy drift. A failed task counts 1.");
}

/** The table of the first models of a choice, and the line about its tasks. */
export function resultTable(models, most, index, basis, ordered) {
  const named = new Map(index.models.map((model) => [model.id, model]));
  const scored = basis.length > 0;
  const timed = index.speeds.length > 0;
  const heads = ["No.", "Model", ...(scored ? ["Error ↓"] : []), ...(timed ? ["ms per step", "ns a day at 1 fs"] : [])];
  const numeric = (i) => (i === 1 ? {} : { class: "num" });
  const head = element("tr", {}, ...heads.map((text, i) => element("th", { scope: "col", ...numeric(i) }, text)));
  const rows = models.slice(0, most).map((model, i) => row(model, i, named, scored, timed, ordered));
  const table = element("table", { class: "plain", "aria-label": "Models for this choice" }, element("thead", {}, head), element("tbody", {}, ...rows));
  const frame = element("div", { class: "table-frame" }, table);
  const more = models.length > most ? [element("p", { class: "aside" }, `The first ${most} of ${models.length} models.`)] : [];
  return [frame, ...more, ...(scored ? [basisLine(basis)] : [])];
}
