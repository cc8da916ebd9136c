// Numbers and ranks in the cells of the ranking. Only text that changed is written: a slider changes a weight in many
// steps, and the browser lays out again what was written.

import { compare } from "./board_order.js";
import { widthOf } from "./bar.js";
import { element, setText } from "./element.js";
import { tint } from "./goodness.js";
import { NONE } from "./numbers.js";

const SMALL = ["upTo", "covered"]; // small words beside a number

/** Sets the text of a cell, the length of its bar, its tint, and whether it is the best. */
function setCell(cell, text, width, tinted, best) {
  setText(cell.text, text);
  if (cell.bar && cell.width !== width) cell.bar.setAttribute("width", (cell.width = width));
  if (cell.tint !== tinted) {
    if (cell.tint) cell.td.classList.remove(cell.tint);
    if (tinted) cell.td.classList.add(tinted);
    cell.tint = tinted;
  }
  if (cell.best !== best) cell.td.classList.toggle("best", (cell.best = best));
}

/** Writes small words into a cell, and makes their element when they are first needed. */
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

/** The best value of the ranked models, by hardware class if values compare only within one. */
function bestOf(board, column, values, computed) {
  const best = new Map();
  for (const [i, { model, reference }] of board.rows.entries()) {
    if (values[i] === null || reference || computed.ranks.get(model.id) === null) continue;
    const name = classOf(column, model);
    if (!best.has(name) || compare(values[i], best.get(name), !column.lower) < 0) best.set(name, values[i]);
  }
  return best;
}

function updateColumn(board, column, computed) {
  const orders = board.rows.map(({ model }) => (column.order ?? column.value)(model, computed));
  const best = column.marksBest ? bestOf(board, column, orders, computed) : new Map();
  const values = column.good ? board.rows.map(({ model }) => column.value(model, computed)) : null;
  const goodOf = column.good?.(values);
  for (const [i, { model, cells, reference }] of board.rows.entries()) {
    const cell = cells.get(column.key);
    if (cell.made && computed.isPublished) {
      setCell(cell, cell.made.text, cell.made.width, cell.made.tint, cell.made.best);
      for (const name of SMALL) setWords(cell, name, cell.made[name]);
      continue;
    }
    const value = values ? values[i] : column.value(model, computed);
    const isRanked = !reference && computed.ranks.get(model.id) !== null;
    const isBest = isRanked && orders[i] !== null && orders[i] === best.get(classOf(column, model));
    const good = goodOf ? goodOf(value) : null;
    setCell(cell, column.text(value), widthOf(good), tint(good), isBest);
    if (cell.range) setText(cell.range, column.interval(model, computed));
    for (const name of SMALL) if (column[name]) setWords(cell, name, column[name](model, computed));
  }
}

/** Writes the numbers of these columns, and the ranks. */
export function update(board, columns, computed) {
  for (const column of columns) updateColumn(board, column, computed);
  for (const { model, tr, rank, reference } of board.rows) {
    const value = reference ? null : computed.ranks.get(model.id);
    setText(rank, value === null ? NONE : String(value));
    if (tr.classList.contains("unranked") !== (value === null)) tr.classList.toggle("unranked", value === null);
  }
  board.table.classList.toggle("recomputed", !computed.isPublished);
}
