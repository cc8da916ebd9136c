// Numbers and ranks in the cells of the ranking. Nothing is written that is there already: a weight is edited in steps,
// and the browser lays out again only what changed.

import { compare } from "./board_order.js";
import { element, setText } from "./element.js";
import { NONE } from "./numbers.js";

const SMALL = ["upTo", "covered"]; // what a column may say in small beside a number

/** What stands in a cell, and how long its bar is; nothing is written that is there already. */
function setCell(cell, text, width, best) {
  setText(cell.text, text);
  if (cell.bar && cell.width !== width) cell.bar.setAttribute("width", (cell.width = width));
  if (cell.best !== best) cell.td.classList.toggle("best", (cell.best = best));
}

/** Writes small words into a cell; their place is made where there first are some. */
function setWords(cell, name, text) {
  if (!text && !cell.small[name]) return;
  cell.small[name] ??= newWords(cell, name);
  setText(cell.small[name], text);
}

function newWords(cell, name) {
  const text = document.createTextNode("");
  const before = (name === "covered" && cell.small.upTo?.parentNode) || cell.td.querySelector(".number");
  before.after(" ", element("span", { class: "coverage" }, text));
  return text;
}

const classOf = (column, model) => (column.withinClass ? (model.hardware ?? "") : "");

/** The best value of those that are ranked, by class of hardware where that matters. */
function bestOf(board, column, values, reckoning) {
  const best = new Map();
  for (const [i, { model, reference }] of board.rows.entries()) {
    if (values[i] === null || reference || reckoning.ranks.get(model.id) === null) continue;
    const of = classOf(column, model);
    if (!best.has(of) || compare(values[i], best.get(of), !column.lower) < 0) best.set(of, values[i]);
  }
  return best;
}

function updateColumn(board, column, reckoning) {
  const orders = board.rows.map(({ model }) => (column.order ?? column.value)(model, reckoning));
  const best = column.bar ? bestOf(board, column, orders, reckoning) : new Map();
  for (const [i, { model, cells, reference }] of board.rows.entries()) {
    const cell = cells.get(column.key);
    if (cell.made && reckoning.asMade) {
      setCell(cell, cell.made.text, cell.made.width, cell.made.best);
      for (const name of SMALL) setWords(cell, name, cell.made[name]);
      continue;
    }
    const value = column.value(model, reckoning);
    const takesPart = !reference && reckoning.ranks.get(model.id) !== null;
    const isBest = takesPart && orders[i] !== null && orders[i] === best.get(classOf(column, model));
    const share = cell.bar ? Math.min(Math.max((value ?? 0) / column.bar, 0), 1) : 0;
    setCell(cell, column.text(value), (100 * share).toFixed(2), isBest);
    for (const name of SMALL) if (column[name]) setWords(cell, name, column[name](model, reckoning));
  }
}

/** Writes the numbers of these columns, and the ranks. */
export function update(board, columns, reckoning) {
  for (const column of columns) updateColumn(board, column, reckoning);
  for (const { model, tr, rank, reference } of board.rows) {
    const own = reference ? null : reckoning.ranks.get(model.id);
    setText(rank, own === null ? NONE : String(own));
    if (tr.classList.contains("unranked") !== (own === null)) tr.classList.toggle("unranked", own === null);
  }
  board.table.classList.toggle("reckoned", !reckoning.asMade);
}
