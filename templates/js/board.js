// The ranking follows the view (view.js).

import { update } from "./board_numbers.js";
import { filterRows, putInOrder } from "./board_order.js";
import { boardTable, layOut } from "./board_table.js";
import { showTools, startTools } from "./board_tools.js";
import { allColumns, CARD, cardColumns, groupsOf, scoreColumns } from "./columns.js";
import { offerPicks } from "./compare_picks.js";
import { setText } from "./element.js";
import { matching } from "./filters.js";
import { computeScores } from "./computed_scores.js";
import { hasIntervals, readIntervals } from "./node_intervals.js";
import { leaderboardOfView } from "./valid_view.js";
import { change, onChange, view } from "./view.js";

const SCORE_SETTINGS = ["scheme", "variant", "weights", "thresholds"];
const ranking = document.getElementById("ranking");

/** The state of the ranking: computed scores, score columns by key, all columns (made when needed), and the shown keys. */
let now = { computed: null, scores: new Map(), all: null, keys: [] };

function take(board, file, names) {
  const computed = now.computed && !names.some((name) => SCORE_SETTINGS.includes(name)) ? now.computed : computeScores(file, view);
  const { scheme } = computed;
  if (now.computed?.scheme !== scheme || names.includes("values")) {
    const scores = scoreColumns(scheme, board.full);
    let made = null;
    now = { scores, all: () => (made ??= allColumns(file, scheme, scores, view.values)) };
  }
  now.computed = computed;
  now.keys = view.columns ? [...now.all().keys()].filter((key) => view.columns.includes(key)) : usualKeys(board);
}

/** The columns of a scheme by default: its scores, and the facts of the published table. */
const usualKeys = (board) => [...now.scores.keys(), ...board.facts];

const columnOf = (key) => now.scores.get(key) ?? cardColumns.get(key) ?? now.all().get(key);

/** The shown columns; if they are grouped, one group after another. */
function shownColumns(file) {
  const shown = now.keys.map(columnOf);
  if (!view.group) return shown;
  const groups = groupsOf(file, shown);
  return shown.toSorted((a, b) => groups.indexOf(a.group) - groups.indexOf(b.group));
}

function show(board, file) {
  const { computed } = now;
  const shown = shownColumns(file);
  if (!hasIntervals() && shown.some((column) => column.readsIntervals)) {
    readIntervals(board.table.dataset.intervals).then(() => update(board, shownColumns(file), now.computed));
  }
  layOut(board, shown, view.group, `${computed.scheme.key} ${view.values}`, (th) => makeSortable(board, th));
  board.table.classList.toggle("usual", !view.columns && !view.group);
  board.table.classList.toggle("many", shown.filter(({ group }) => view.columns || group !== CARD).length > 5);
  update(board, shown, computed);
  putInOrder(board, columnOf, view.sort, computed);
  showSort(board);
  count(file, filterRows(board, matching(view)));
  showTools(file, now, (key, wanted) => setColumn(board, key, wanted));
  showScoreNote(computed);
}

// Texts about the ranking.

function count(file, n) {
  const all = file.models.filter((model) => !model.reference).length;
  const words = n === all ? "" : `${n} of ${all} models`; // the page states the number of all models
  setText(ranking.querySelector("[data-count]"), words);
  ranking.querySelector("[data-none]").hidden = n > 0;
}

function showScoreNote({ scheme, isRecomputed, isPublished }) {
  const line = ranking.querySelector("[data-score-note]");
  line.hidden = isPublished;
  if (isPublished) return;
  setText(line.querySelector("strong"), isRecomputed ? "Your weights" : scheme.title);
}

function showSort(board) {
  const { key, descending } = view.sort ?? { key: "rank", descending: false };
  for (const th of board.headRow.cells) {
    if (th.dataset.key !== key) th.removeAttribute("aria-sort");
    else th.setAttribute("aria-sort", descending ? "descending" : "ascending");
  }
}

function announceSort(board) {
  const th = board.headRow.querySelector("[aria-sort]");
  const withinClass = "classes" in board.table.dataset && th && columnOf(th.dataset.key)?.withinClass;
  const where = withinClass ? ", within each hardware class" : "";
  const words = th ? `Sorted by ${th.textContent.trim()}, ${th.getAttribute("aria-sort")}${where}.` : "";
  setText(ranking.querySelector("[data-status]"), words);
}

// Actions of a reader.

function startsDescending(key) {
  if (key === "ok" || key === "submitted") return true;
  return columnOf(key)?.lower === false;
}

function sortBy(board, key) {
  const sorted = view.sort ?? { key: "rank", descending: false };
  const descending = sorted.key === key ? !sorted.descending : startsDescending(key);
  change({ sort: key === "rank" && !descending ? null : { key, descending } });
  announceSort(board);
}

/** Turns the text of a heading into a button. */
function makeSortable(board, th) {
  const label = th.querySelector(".head");
  const button = document.createElement("button");
  button.type = "button";
  button.append(...label.childNodes);
  label.replaceWith(button);
  button.addEventListener("click", () => sortBy(board, th.dataset.key));
}

function setColumn(board, key, wanted) {
  const keys = wanted ? [...now.keys, key] : now.keys.filter((other) => other !== key);
  const usual = usualKeys(board);
  const asUsual = keys.length === usual.length && usual.every((other) => keys.includes(other));
  change({ columns: asUsual ? null : [...now.all().keys()].filter((other) => keys.includes(other)) });
}

/** Follows the view. Several changes by a slider within one frame are shown at once and at the end of the frame. */
function follow(board, file) {
  let [waiting, inFrame] = [[], false];
  const catchUp = () => {
    const names = waiting;
    waiting = [];
    take(board, file, names);
    show(board, file);
  };
  onChange((_, names) => {
    waiting.push(...names);
    if (names.every((name) => name === "weights" || name === "thresholds")) {
      if (inFrame) return;
      inFrame = true;
      requestAnimationFrame(() => {
        inFrame = false;
        if (waiting.length) catchUp();
      });
    }
    catchUp();
  });
}

export async function start() {
  const file = await leaderboardOfView();
  const board = boardTable(document.querySelector("[data-board]"), file);
  for (const th of board.headRow.cells) makeSortable(board, th);
  offerPicks(board.rows);
  take(board, file, []);
  startTools(file, () => showTools(file, now, (key, wanted) => setColumn(board, key, wanted)));
  show(board, file);
  follow(board, file);
  board.table.dataset.ready = "";
  performance.mark("ranking is ready");
}
