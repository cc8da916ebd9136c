// The order of the rows, and which of them are shown.

import { setText } from "./element.js";
import { plain } from "./plain.js";
import { allOk } from "./ranks.js";

/** -1, 0 or 1; what has no value comes last whichever way the others go. */
export function compare(a, b, descending) {
  if (a === null || b === null) return (a === null) - (b === null);
  const order = typeof a === "string" ? a.localeCompare(b) : a < b ? -1 : Number(a > b);
  return descending ? -order : order;
}

const fixed = new Map([
  ["model", { value: (model) => plain(model.name).toLowerCase() }],
  ["ok", { value: (model) => model.outcomes.filter((outcome) => outcome.verdict === "OK").length }],
]);

/** By rank; those without one by the scores that the ranking is by. */
function rankOrder(reckoning) {
  const { ranked_by: keys, scores } = reckoning.scheme;
  const lower = keys.map((key) => scores.find((score) => score.key === key).lower_is_better);
  return (a, b) => {
    const ranks = compare(reckoning.ranks.get(a.model.id), reckoning.ranks.get(b.model.id), false);
    if (ranks || reckoning.asMade) return ranks || a.place - b.place;
    for (const [i, key] of keys.entries()) {
      const order = compare(reckoning.score(a.model.id, key), reckoning.score(b.model.id, key), !lower[i]);
      if (order) return order;
    }
    return a.place - b.place;
  };
}

/** By one column, in classes of hardware where values of several cannot be compared. */
function columnOrder(column, descending, reckoning, byRank) {
  const value = column.order ?? column.value;
  const values = new Map();
  const valueOf = ({ model }) => {
    if (!values.has(model.id)) values.set(model.id, value(model, reckoning));
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

/** Why these are not ranked, as a sentence. */
function whyUnranked(rows, { scheme }) {
  const short = scheme.complete_only ? rows.filter(({ model }) => !allOk(model.outcomes)) : [];
  const found = [];
  if (short.length) found.push("a task of the suite came to no OK");
  if (short.length < rows.length) found.push("nothing that models are ranked by came to a value");
  const words = `Not ranked: ${found.join("; or ")}.`;
  return short.length && scheme.variant === "corrected" ? `${words} What is missing counts at its worst.` : words;
}

/** Puts the rows in order, those without a rank below the others. `sort` is {key, descending} or null. */
export function putInOrder(board, columnOf, sort, reckoning) {
  const byRank = rankOrder(reckoning);
  const column = sort && sort.key !== "rank" ? (fixed.get(sort.key) ?? columnOf(sort.key)) : null;
  const order = column ? columnOrder(column, sort.descending, reckoning, byRank) : byRank;
  const turned = !column && sort?.key === "rank" && sort.descending ? (a, b) => order(b, a) : order;
  const rows = { ranked: [], unranked: [], reference: [] };
  for (const row of board.rows.toSorted(turned)) {
    const place = row.reference ? "reference" : reckoning.ranks.get(row.model.id) === null ? "unranked" : "ranked";
    rows[place].push(row);
  }
  const bodies = [...board.table.querySelectorAll("tbody[data-rows]")];
  for (const body of bodies) setRows(body, rows[body.dataset.rows].map(({ tr }) => tr));
  board.table.classList.toggle("sorted", Boolean(column)); // lines that join neighbours would join others then
  const above = board.table.querySelector("[data-above=unranked] td");
  if (rows.unranked.length) setText(above.firstChild, whyUnranked(rows.unranked, reckoning));
}

/** Hides the rows that do not match, and headings above nothing. The number of models left, reference rows apart. */
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
