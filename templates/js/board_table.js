// The rows and cells of the ranking: published columns, and columns that a reader adds.

import { CARD } from "./columns.js";
import { element } from "./element.js";
import { newBar } from "./bar.js";

/** The parts of a cell that change. `made` has the published content; `small` has the words beside the number. */
function readCell(td) {
  const text = td.querySelector(".number").firstChild;
  const bar = td.querySelector(".bar rect");
  const [upTo, covered] = [".up-to", ".coverage:not(.up-to)"].map((selector) => td.querySelector(selector)?.firstChild);
  const words = { upTo: upTo?.data ?? "", covered: covered?.data ?? "" };
  const tint = td.className.match(/\bt\d\b/)?.[0] ?? "";
  const made = { text: text.data, width: bar?.getAttribute("width"), best: td.classList.contains("best"), tint, ...words };
  return { td, text, bar, made, width: made.width, best: made.best, tint, small: { upTo, covered } };
}

function newCell(column) {
  const text = document.createTextNode("");
  const holder = element(column.words ? "bdi" : "span", { class: "number" }, text);
  const label = column.aside ? `${column.label}, ${column.aside}` : column.label;
  const td = element("td", { role: "cell", class: kindOf(column), "data-label": label }, holder);
  const range = column.interval ? td.appendChild(element("span", { class: "range live" }, document.createTextNode(""))) : null;
  const bar = column.good ? td.appendChild(newBar()).firstChild : null;
  return { td, text, bar, range: range?.firstChild, made: null, width: undefined, best: false, tint: "", small: {} };
}

const kindOf = (column) => (column.group === CARD ? "fact" : "score");

function readRows(table, models) {
  const rows = [];
  for (const body of table.querySelectorAll("tbody[data-rows]")) {
    for (const tr of body.rows) {
      const model = models.get(tr.dataset.id);
      const rank = tr.cells[0].firstChild;
      rows.push({ model, tr, rank, place: rows.length, reference: body.dataset.rows === "reference", cells: new Map() });
    }
  }
  return rows;
}

/** The table with its published columns. `file` is leaderboard.json. */
export function boardTable(table, file) {
  const rows = readRows(table, new Map(file.models.map((model) => [model.id, model])));
  const headRow = table.tHead.rows[0];
  const heads = new Map([...headRow.cells].map((th) => [th.dataset.key, th]));
  const [full, facts] = [{}, []];
  for (const [key, { dataset }] of heads) {
    if (dataset.full === undefined && dataset.fact === undefined) continue;
    if (dataset.fact !== undefined) facts.push(key);
    else full[key] = Number(dataset.full);
    for (const row of rows) row.cells.set(key, readCell(row.tr.cells[heads.get(key).cellIndex]));
  }
  const last = new Map(rows.map((row) => [row, row.tr.lastElementChild]));
  return { table, rows, headRow, heads, full, facts, last, groupRow: null, shown: shownAs([...Object.keys(full), ...facts], false) };
}

function newHead(column) {
  const label = element("span", { class: "head" }, column.label);
  if (column.lower !== undefined && column.group !== CARD) {
    label.append("\u00a0", element("span", { class: "arrow", "aria-hidden": "true" }, column.lower ? "↓" : "↑"));
    label.append(element("span", { class: "unseen" }, `, ${column.lower ? "lower" : "higher"} is better`));
  }
  const th = element("th", { role: "columnheader", scope: "col", class: kindOf(column), "data-key": column.key }, label);
  if (column.aside) label.append(element("span", { class: "metric" }, column.aside));
  return th;
}

/** A row above the headings with the group of each column. */
function groupHeads(columns) {
  const runs = [];
  for (const { group } of columns) {
    if (runs.at(-1)?.group === group) runs.at(-1).span += 1;
    else runs.push({ group, span: 1 });
  }
  const heads = runs.map(({ group, span }) => {
    const th = element("th", { role: "columnheader", scope: "colgroup", colspan: span }, group);
    th.style.setProperty("--span", span);
    return th;
  });
  const gap = (kind) => element("td", { role: "cell", class: kind });
  return element("tr", { role: "row", class: "groups" }, gap("rank"), gap("model"), ...heads, gap("verdicts"));
}

const shownAs = (keys, grouped) => JSON.stringify([keys, grouped]);

/**
 * Shows these columns, in this order, between model and verdicts.
 *
 * version: of a column with this key. enhance: a function that is called with each new heading.
 */
export function layOut(board, columns, grouped, version, enhance) {
  const fresh = columns.map((column) => useColumn(board, column, version, enhance)).some(Boolean);
  const shown = shownAs(columns.map((column) => column.key), grouped);
  if (!fresh && shown === board.shown) return;
  board.shown = shown;
  const { headRow, heads } = board;
  headRow.replaceChildren(
    heads.get("rank"),
    heads.get("model"),
    ...columns.map((column) => heads.get(column.key)),
    heads.get("ok"),
  );
  for (const row of board.rows) {
    const [rank, model] = row.tr.cells;
    row.tr.replaceChildren(rank, model, ...columns.map((column) => row.cells.get(column.key).td), board.last.get(row));
  }
  for (const td of board.table.querySelectorAll(".divider td")) td.colSpan = columns.length + 3;
  board.table.style.setProperty("--columns", columns.length);
  board.groupRow?.remove();
  board.groupRow = grouped && columns.length ? groupHeads(columns) : null;
  if (board.groupRow) headRow.before(board.groupRow);
}

const isPublished = (head) => head?.dataset.full !== undefined || head?.dataset.fact !== undefined;

/** Makes heading and cells of a column if there are none of this version; returns whether it made them. */
function useColumn(board, column, version, enhance) {
  const head = board.heads.get(column.key);
  if (isPublished(head) || (head && head.dataset.version === version)) return false;
  const th = newHead(column);
  th.dataset.version = version;
  enhance(th);
  board.heads.set(column.key, th);
  for (const row of board.rows) row.cells.set(column.key, newCell(column));
  return true;
}
