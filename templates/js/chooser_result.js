// The answer of the chooser: a table of models, and the tasks that it rests on.

import { element } from "./element.js";
import { decimals, NONE, number } from "./numbers.js";

const cell = (...content) => element("td", { class: "num" }, ...content);
const unseen = (text) => element("span", { class: "unseen" }, text);

/** A number as a reader types it, without zeros at its end. */
const plain = (value) => String(Number(value.toPrecision(4)));

function scoreCell({ score, low, high, tied }, place, ties) {
  if (low === null) return cell(decimals(score));
  const words = [` ${decimals(low)} – ${decimals(high)}`];
  if (ties && tied && place > 0) words.push(", tied with the first");
  return cell(decimals(score), element("span", { class: "range" }, unseen("95 % interval"), words.join("")));
}

function speedCells(speed) {
  if (!speed) return [cell(NONE), cell(NONE)];
  const size = element("span", { class: "range" }, `${plain(speed.atoms)} atoms`);
  return [cell(number(speed.ms, 2), size), cell(number(speed.ns, 2))];
}

function failures({ n_failed: failed, n_items: items }) {
  return failed ? [element("span", { class: "aside" }, `${failed} of ${items} items failed`)] : [];
}

function row(model, place, named, timed, ties) {
  const { name, page } = named.get(model.model);
  const link = element("a", { href: page }, element("bdi", {}, name));
  return element(
    "tr",
    {},
    element("td", { class: "num" }, String(place + 1)),
    element("th", { scope: "row" }, link, ...failures(model)),
    scoreCell(model, place, ties),
    ...(timed ? speedCells(model.speed) : []),
  );
}

export const kelvinWords = (...temperatures) => `${[...new Set(temperatures.map(plain))].join("–")} K`;

/** A length of time in ns, in words. */
export function lengthWords(ns) {
  if (ns < 0.001) return `${plain(ns * 1e6)} fs`;
  return ns < 1 ? `${plain(ns * 1000)} ps` : `${plain(ns)} ns`;
}

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
  const ones = new Set(basis.flatMap(({ entry, columns }) => columns.map(({ metric }) => entry.ones[metric])));
  const words = [". 0 is perfect.", ...[...ones].sort(), "A failed task counts 1."]; // sorted, the general "1 is …" is first
  return element("p", { class: "aside" }, "Rests on ", ...parts, words.join(" "));
}

function intervalLine() {
  const link = element("a", { href: "how.html#intervals" }, "resampled");
  return element("p", { class: "aside" }, "These intervals are by a closed formula, so they differ slightly from those of the leaderboard, which are ", link, ".");
}

/** The table of the first models of a choice, and lines about its tasks and intervals; `ties`: ties with the first are named. */
export function resultTable(models, most, index, basis, ties, bySpeed) {
  const named = new Map(index.models.map((model) => [model.id, model]));
  const timed = index.speeds.length > 0;
  const heads = ["No.", "Model", bySpeed ? "Error" : "Error ↓", ...(timed ? [bySpeed ? "ms per step ↓" : "ms per step", "ns a day at 1 fs"] : [])];
  const numeric = (i) => (i === 1 ? {} : { class: "num" });
  const head = element("tr", {}, ...heads.map((text, i) => element("th", { scope: "col", ...numeric(i) }, text)));
  const rows = models.slice(0, most).map((model, i) => row(model, i, named, timed, ties));
  const table = element("table", { class: "plain", "aria-label": "Models for this choice" }, element("thead", {}, head), element("tbody", {}, ...rows));
  const frame = element("div", { class: "table-frame" }, table);
  const more = models.length > most ? [element("p", { class: "aside" }, `The first ${most} of ${models.length} models.`)] : [];
  const intervals = models.some(({ low }) => low !== null) ? [intervalLine()] : [];
  return [frame, ...more, basisLine(basis), ...intervals];
}
