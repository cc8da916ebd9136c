// The order of the rows, and the filter of rows.

import { setText } from "./element.js";
import { plain } from "./plain.js";
import { allOk } from "./ranks.js";

/** -1, 0 or 1; a null comes last in either direction. */
export function compare(a, b, descending) {
  if (a === null || b === null) return (a === null) - (b === null);
  const order = typeof a === "string" ? a.localeCompare(b) : a < b ? -1 : Number(a > b);
  return descending ? -order : order;
}

const fixed = new Map([
  ["model", { value: (model) => plain(model.name).toLowerCase() }],
  ["ok", { value: (model) => model.outcomes.filter((outcome) => outcome.verdict === "OK").length }],
]);

/** By rank; models without a rank by the scores that determine it. */
function rankOrder(computed) {
  const { ranked_by: keys, scores } = computed.scheme;
  const lower = keys.map((key) => scores.find((score) => score.key === key).lower_is_better);
  return (a, b) => {
    const ranks = compare(computed.ranks.get(a.model.id), computed.ranks.get(b.model.id), false);
    if (ranks || computed.isPublished) return ranks || a.place - b.place;
    for (const [i, key] of keys.entries()) {
      const order = compare(computed.score(a.model.id, key), computed.score(b.model.id, key), !lower[i]);
      if (order) return order;
    }
    return a.place - b.place;
  };
}

/** By one column; within hardware classes if its values compare only there. */
function columnOrder(column, descending, computed, byRank) {
  const value = column.order ?? column.value;
  const values = new Map();
  const valueOf = ({ model }) => {
    if (!values.has(model.id)) values.set(model.id, value(model, computed));
    return values.get(model.id);
  };
  const inClass = (a, b) => (column.withinClass ? compare(a.model.hardware ?? null, b.model.hardware ?? null, false) : 0);
  return (a, b) => inClass(a, b) || compare(valueOf(a), valueOf(b), descending) || byRank(a, b);
}

/** Puts the rows of a body in this order; a row that is in its place stays there, with the focus that is in it. */
function setRows(body, rows) {
  let at = body.firstElementChild;
  for (const tr of rows) {
    if (tr === at) at = at.nextElementSibling;
    else body.insertBefore(tr, at);
  }
}

/** Why these models have no rank, as a sentence. */
function whyUnranked(rows, { scheme }) {
  const failing = scheme.complete_only ? rows.filter(({ model }) => !allOk(model.outcomes)) : [];
  const reasons = [];
  if (failing.length) reasons.push("a task of the suite failed");
  if (failing.length < rows.length) reasons.push("the scores that determine the rank have no value");
  const words = `Not ranked: ${reasons.join("; or ")}.`;
  return failing.length && scheme.variant === "corrected" ? `${words} A missing value counts as the worst.` : words;
}

/** Sorts the rows, those without a rank below the others. `sort` is {key, descending} or null. */
export function putInOrder(board, columnOf, sort, computed) {
  const byRank = rankOrder(computed);
  const column = sort && sort.key !== "rank" ? (fixed.get(sort.key) ?? columnOf(sort.key)) : null;
  const order = column ? columnOrder(column, sort.descending, computed, byRank) : byRank;
  const directed = !column && sort?.key === "rank" && sort.descending ? (a, b) => order(b, a) : order;
  const rows = { ranked: [], unranked: [], reference: [] };
  for (const row of board.rows.toSorted(directed)) {
    const place = row.reference ? "reference" : computed.ranks.get(row.model.id) === null ? "unranked" : "ranked";
    rows[place].push(row);
  }
  const bodies = [...board.table.querySelectorAll("tbody[data-rows]")];
  for (const body of bodies) setRows(body, rows[body.dataset.rows].map(({ tr }) => tr));
  board.table.classList.toggle("sorted", Boolean(column)); // lines that join tied models would join other models
  const above = board.table.querySelector("[data-above=unranked] td");
  if (rows.unranked.length) setText(above.firstChild, whyUnranked(rows.unranked, computed));
}

/** Hides rows that do not match, and headings without rows. Returns the number of models that are left, without references. */
export function filterRows(board, matches) {
  let n = 0;
  for (const { model, tr, reference } of board.rows) {
    const hidden = !matches(model);
    if (tr.hidden !== hidden) tr.hidden = hidden;
    n += !hidden && !reference;
  }
  for (const above of board.table.querySelectorAll("tbody[data-above]")) {
    const body = board.table.querySelector(`tbody[data-rows="${above.dataset.above}"]`);
    above.hidden = ![...body.rows].some((tr) => !tr.hidden);
  }
  return n;
}
