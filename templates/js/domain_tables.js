// The tables by domain, and the matrix of models by domains: as published, or computed again for a reader's own settings.

import { newBar, widthOf } from "./bar.js";
import { coverage, coverageText } from "./coverage.js";
import { element, setText } from "./element.js";
import { goodness, tint } from "./goodness.js";
import { decimals, NONE } from "./numbers.js";
import { pathKey } from "./paths.js";
import { plain } from "./plain.js";
import { allOk, rankWhere } from "./ranks.js";
import { computeScores } from "./computed_scores.js";
import { LAMBENCH } from "./scores.js";
import { sortAgain } from "./sortable.js";
import { leaderboardOfView } from "./valid_view.js";
import { change, onChange, publishedAgain, queryOf, view } from "./view.js";

const SCORE_SETTINGS = ["variant", "weights", "thresholds"];
const PAUSE_MS = 150; // a slider changes a weight in many steps, and the ranking is updated first
const EVERY_SCORE = "A model has a rank in a domain if it has a score there.";

const all = (selector) => [...document.querySelectorAll(selector)];

const headOf = (table, i) => table.tHead.rows[0].cells[i].textContent.split("↓")[0].trim();

/** The tables of the page, each with its published rows and words. */
function readTables() {
  return all("table[data-domain]").map((table) => {
    const [body] = table.tBodies;
    const tally = document.getElementById(table.getAttribute("aria-labelledby")).querySelector(".aside");
    const { domain, keys, lines } = table.dataset;
    const labels = new Map(keys.split(" ").map((key, i) => [key, headOf(table, i + 2)]));
    return { table, domain, labels, n: Number(lines), published: body, tally, words: tally.textContent };
  });
}

/** The score of a model in a domain, and its coverage in words if not all of it was measured. */
function scoreOf(computed, key, domain, { id }) {
  const path = pathKey([key, domain]);
  const valueAt = (at) => computed.node(id, key, at);
  const score = computed.scheme.scores.find((candidate) => candidate.key === key); // a variant may not have it
  const part = score?.trees[score.models[id]?.tree]?.parts?.find(({ name }) => name === domain);
  return { value: valueAt(path), covered: part ? coverageText(coverage(part, path, valueAt), "task") : "" };
}

/** The ranking within a domain: {model, rank, cells}, models without a rank last. */
function rankDomain(file, computed, { domain, labels }) {
  const { scheme } = computed;
  const keys = [...labels.keys()];
  const tasks = file.tasks.flatMap((task, i) => (task.domain === domain ? [i] : []));
  const whole = ({ outcomes }) => allOk(tasks.map((i) => outcomes[i]));
  const valueOf = (id, key) => (labels.has(key) ? computed.node(id, key, pathKey([key, domain])) : null);
  const ranks = rankWhere(file, scheme, valueOf, (model) => !scheme.complete_only || whole(model));
  const lines = file.models
    .filter((model) => model.page) // references that are not submissions have no page
    .map((model) => {
      const cells = keys.map((key) => scoreOf(computed, key, domain, model));
      return { model, rank: ranks.get(model.id), cells };
    });
  const costs = ({ rank, cells }) => [rank, ...cells.map(({ value }) => value)].map((value) => value ?? Infinity);
  const order = (a, b) => {
    const [costsA, costsB] = [costs(a), costs(b)];
    const i = costsA.findIndex((cost, k) => cost !== costsB[k]);
    return i < 0 ? (a.model.id < b.model.id ? -1 : 1) : costsA[i] - costsB[i];
  };
  return lines.sort(order);
}

function scoreCell({ value, covered }, label) {
  const good = goodness(value, 1, true);
  const attributes = { role: "cell", class: `score ${tint(good)}`, "data-label": `${label} ↓`, "data-value": value ?? "" };
  const td = element("td", attributes, element("span", { class: "number" }, decimals(value)));
  if (covered) td.append(" ", element("span", { class: "coverage" }, covered));
  if (good === null) return td;
  const bar = newBar();
  bar.firstChild.setAttribute("width", widthOf(good));
  td.append(bar);
  return td;
}

/** A row as templates/domain_table.html makes it, without intervals, which belong to published numbers. */
function row({ model, rank, cells }, labels) {
  const place = { role: "cell", class: "rank", "data-label": "Rank", "data-value": rank ?? "" };
  const link = element("a", { href: model.page }, element("bdi", {}, plain(model.name)));
  const head = element("th", { role: "rowheader", scope: "row", class: "model" }, link);
  const scores = [...labels.values()].map((label, i) => scoreCell(cells[i], label));
  const attributes = rank === null ? { role: "row", class: "unranked" } : { role: "row" };
  return element("tr", attributes, element("td", place, String(rank ?? NONE)), head, ...scores);
}

function showTable(domain, file, computed) {
  let { published: body, words } = domain;
  if (!computed.isPublished) {
    const lines = rankDomain(file, computed, domain);
    const shown = lines.slice(0, domain.n);
    body = element("tbody", { role: "rowgroup" }, ...shown.map((line) => row(line, domain.labels)));
    const n = lines.filter(({ rank }) => rank !== null).length;
    words = `${lines.length} ${lines.length === 1 ? "model" : "models"}, ${n} of them ranked`;
  }
  domain.tally.textContent = words;
  if (domain.table.tBodies[0] === body) return;
  domain.table.tBodies[0].replaceWith(body);
  sortAgain(domain.table);
}

/** The matrix of models by domains: the published cells, and numbers for a reader's own settings in their place. */
function readMatrix(table) {
  const heads = [...table.tHead.rows[0].cells].slice(1);
  const rows = [...table.tBodies[0].rows].map((tr) => {
    const cells = heads.map(({ dataset }, i) => {
      const td = tr.cells[i + 1];
      const made = { text: td.querySelector(".number").textContent, value: td.dataset.value, look: td.className };
      return { td, made, key: dataset.score, path: pathKey([dataset.score, dataset.domain]) };
    });
    return { id: tr.dataset.id, cells };
  });
  return { table, rows };
}

function showMatrix({ table, rows }, computed) {
  for (const { id, cells } of rows) {
    for (const { td, made, key, path } of cells) {
      const value = computed.isPublished ? null : computed.node(id, key, path);
      const now = computed.isPublished
        ? made
        : { text: decimals(value), value: value ?? "", look: `cell ${tint(goodness(value, 1, true))}` };
      setText(td.querySelector(".number").firstChild, now.text);
      td.dataset.value = now.value;
      td.className = now.look;
    }
  }
  table.classList.toggle("recomputed", !computed.isPublished);
  sortAgain(table);
}

/** Names the settings of these numbers, and the rule of the ranks. */
function showWords({ isRecomputed, isPublished, scheme }, rule) {
  const line = document.querySelector("[data-domain-note]");
  line.hidden = isPublished;
  line.querySelector("strong").textContent = isRecomputed ? "Your weights" : scheme.title;
  const sentence = document.querySelector("[data-domain-rule]");
  if (sentence) sentence.textContent = scheme.complete_only ? rule : EVERY_SCORE;
}

/** Makes links to the other page keep the view. */
function updateLinks() {
  for (const link of all("[data-same-view]")) link.search = queryOf(view);
}

const isPublishedView = () => view.variant === "corrected" && view.weights.size + view.thresholds.size === 0;

export async function start() {
  const tables = readTables();
  const matrices = all("table[data-matrix]").map(readMatrix);
  const rule = document.querySelector("[data-domain-rule]")?.textContent;
  let waiting = 0;
  const show = async () => {
    const file = await leaderboardOfView();
    const computed = computeScores(file, { ...view, scheme: LAMBENCH });
    for (const domain of tables) showTable(domain, file, computed);
    for (const matrix of matrices) showMatrix(matrix, computed);
    showWords(computed, rule);
  };
  onChange((_, names) => {
    updateLinks();
    if (!names.some((name) => SCORE_SETTINGS.includes(name))) return;
    clearTimeout(waiting);
    waiting = setTimeout(show, PAUSE_MS);
  });
  document.querySelector("[data-domain-note] button").addEventListener("click", () => {
    change(publishedAgain());
    (tables[0] ?? matrices[0]).table.querySelector("th button").focus(); // the pressed button is hidden now
  });
  updateLinks();
  if (!isPublishedView()) await show(); // else no data are needed
}
