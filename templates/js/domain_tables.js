// The tables by domain, under the settings of the address: those that the page came with, or reckoned anew.

import { coverage, coverageText } from "./coverage.js";
import { element } from "./element.js";
import { decimals, NONE } from "./numbers.js";
import { pathKey } from "./paths.js";
import { plain } from "./plain.js";
import { allOk, rankWhere } from "./ranks.js";
import { reckon } from "./reckoning.js";
import { LAMBENCH } from "./scores.js";
import { sortAgain } from "./sortable.js";
import { leaderboardOfView } from "./sound_view.js";
import { change, onChange, publishedAgain, queryOf, view } from "./view.js";

const RECKONED = ["variant", "weights", "thresholds"];
const PAUSE_MS = 150; // a weight is edited in steps, and the ranking comes first
const SVG = "http://www.w3.org/2000/svg";
const EVERY_SCORE = "Ranked within a domain is every model with a score there.";

const all = (selector) => [...document.querySelectorAll(selector)];

const headOf = (table, i) => table.tHead.rows[0].cells[i].textContent.split("↓")[0].trim();

/** The tables of the page, each with the rows and the words that it came with. */
function readTables() {
  return all("table[data-domain]").map((table) => {
    const [body] = table.tBodies;
    const tally = document.getElementById(table.getAttribute("aria-labelledby")).querySelector(".aside");
    const { domain, keys, lines } = table.dataset;
    const labels = new Map(keys.split(" ").map((key, i) => [key, headOf(table, i + 2)]));
    return { table, domain, labels, n: Number(lines), made: body, tally, said: tally.textContent };
  });
}

/** What a model came to by one score in a domain, and in words how much of that was measured, where not all was. */
function scoreOf(reckoning, key, domain, { id }) {
  const path = pathKey([key, domain]);
  const valueAt = (at) => reckoning.node(id, key, at);
  const score = reckoning.scheme.scores.find((one) => one.key === key); // a variant may lack it
  const part = score?.trees[score.models[id]?.tree]?.parts?.find(({ name }) => name === domain);
  return { value: valueAt(path), covered: part ? coverageText(coverage(part, path, valueAt), "task") : "" };
}

/** Models as a domain ranks them: {model, rank, cells}, those without a rank last. */
function rankDomain(file, reckoning, { domain, labels }) {
  const { scheme } = reckoning;
  const keys = [...labels.keys()];
  const tasks = file.tasks.flatMap((task, i) => (task.domain === domain ? [i] : []));
  const whole = ({ outcomes }) => allOk(tasks.map((i) => outcomes[i]));
  const valueOf = (id, key) => (labels.has(key) ? reckoning.node(id, key, pathKey([key, domain])) : null);
  const ranks = rankWhere(file, scheme, valueOf, (model) => !scheme.complete_only || whole(model));
  const lines = file.models
    .filter((model) => model.page) // the others were not judged
    .map((model) => {
      const cells = keys.map((key) => scoreOf(reckoning, key, domain, model));
      return { model, rank: ranks.get(model.id), cells };
    });
  const costs = ({ rank, cells }) => [rank, ...cells.map(({ value }) => value)].map((value) => value ?? Infinity);
  const order = (a, b) => {
    const [one, other] = [costs(a), costs(b)];
    const i = one.findIndex((cost, k) => cost !== other[k]);
    return i < 0 ? (a.model.id < b.model.id ? -1 : 1) : one[i] - other[i];
  };
  return lines.sort(order);
}

function bar(value) {
  const [svg, rect] = ["svg", "rect"].map((name) => document.createElementNS(SVG, name));
  const look = { class: "bar", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" };
  for (const [name, text] of Object.entries(look)) svg.setAttribute(name, text);
  rect.setAttribute("width", (100 * Math.min(Math.max(value, 0), 1)).toFixed(2));
  rect.setAttribute("height", "4");
  svg.append(rect);
  return svg;
}

function scoreCell({ value, covered }, label) {
  const attributes = { role: "cell", class: "score", "data-label": `${label} ↓`, "data-value": value ?? "" };
  const td = element("td", attributes, element("span", { class: "number" }, decimals(value)));
  if (covered) td.append(" ", element("span", { class: "coverage" }, covered));
  if (value !== null) td.append(bar(value));
  return td;
}

/** A row as templates/domain_table.html makes it, but for intervals: they are of the published numbers. */
function row({ model, rank, cells }, labels) {
  const place = { role: "cell", class: "rank", "data-label": "Rank", "data-value": rank ?? "" };
  const link = element("a", { href: model.page }, element("bdi", {}, plain(model.name)));
  const head = element("th", { role: "rowheader", scope: "row", class: "model" }, link);
  const scores = [...labels.values()].map((label, i) => scoreCell(cells[i], label));
  const attributes = rank === null ? { role: "row", class: "unranked" } : { role: "row" };
  return element("tr", attributes, element("td", place, String(rank ?? NONE)), head, ...scores);
}

function showTable(of, file, reckoning) {
  let [body, words] = [of.made, of.said];
  if (!reckoning.asMade) {
    const lines = rankDomain(file, reckoning, of);
    body = element("tbody", { role: "rowgroup" }, ...lines.slice(0, of.n).map((line) => row(line, of.labels)));
    const n = lines.filter(({ rank }) => rank !== null).length;
    words = `${n} of ${lines.length} ${lines.length === 1 ? "model" : "models"} ranked`;
  }
  of.tally.textContent = words;
  if (of.table.tBodies[0] === body) return;
  of.table.tBodies[0].replaceWith(body);
  sortAgain(of.table);
}

/** Says whose numbers these are, and leads on to the same view of the other page. */
function showWords({ own, asMade, scheme }, made) {
  const line = document.querySelector("[data-domain-own]");
  line.hidden = asMade;
  line.querySelector("strong").textContent = own ? "Your weights" : scheme.title;
  document.querySelector("[data-domain-rule]").textContent = scheme.complete_only ? made : EVERY_SCORE;
}

function lead() {
  for (const link of all("[data-same-view]")) link.search = queryOf(view);
}

const isAsMade = () => view.variant === "corrected" && view.weights.size + view.thresholds.size === 0;

export async function start() {
  const tables = readTables();
  const rule = document.querySelector("[data-domain-rule]").textContent;
  let waiting = 0;
  const show = async () => {
    const file = await leaderboardOfView();
    const reckoning = reckon(file, { ...view, scheme: LAMBENCH });
    for (const of of tables) showTable(of, file, reckoning);
    showWords(reckoning, rule);
  };
  onChange((_, names) => {
    lead();
    if (!names.some((name) => RECKONED.includes(name))) return;
    clearTimeout(waiting);
    waiting = setTimeout(show, PAUSE_MS);
  });
  document.querySelector("[data-domain-own] button").addEventListener("click", () => {
    change(publishedAgain());
    tables[0].table.querySelector("th button").focus(); // the button that was pressed goes away
  });
  lead();
  if (!isAsMade()) await show(); // else nothing need be read
}
