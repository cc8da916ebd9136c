// "Which model for …": a form whose answers are in the address (for.…), and the models that fit, best first.

import { choiceOf, columnsOfChoice, independentItems, rankingOfChoice } from "./chooser_rank.js";
import { kelvinWords, lengthWords, resultTable } from "./chooser_result.js";
import { isFastEnough, speedOf } from "./chooser_speed.js";
import { element, setText } from "./element.js";
import { symbols } from "./filters.js";
import { change, view } from "./view.js";

const SPEED = "speed";
const MD = "dynamics";
const LONG_NS = 0.01; // shorter runs say little of long ones
const MOST = 8;

const box = document.querySelector("[data-chooser]");
const form = box.querySelector("[data-choice]");
const state = box.querySelector(".chooser-state");
const result = box.querySelector("[data-result]");

const loaded = new Map(); // promises by path

/** A promise of the content of a file of the site; a file that could not be read is asked for again next time. */
function load(path) {
  if (!loaded.has(path)) {
    loaded.set(path, fetch(path).then((answer) => {
      if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
      return answer.json();
    }));
    loaded.get(path).catch(() => loaded.delete(path));
  }
  return loaded.get(path);
}

const wordsOf = (name) => (view.chosen.get(name) ?? "").split(/\s+/).filter(Boolean);

function numberOf(name) {
  const value = Number(view.chosen.get(name));
  return value > 0 && Number.isFinite(value) ? value : null;
}

/** The reader's choice in the view. A drug-like molecule is a molecule: `included` says what a class includes. */
function chosenNow({ included }) {
  const needs = wordsOf("need");
  const classes = wordsOf("class").flatMap((each) => included[each] ?? [each]);
  const conditions = { temperature_k: numberOf("temperature"), length_ns: numberOf("length") };
  const asked = { elements: symbols(view.chosen.get("elements") ?? ""), classes, needs: needs.filter((need) => need !== SPEED) };
  const speed = { hardware: view.chosen.get("hardware") ?? "", atoms: numberOf("atoms"), ns: numberOf("ns"), needed: needs.includes(SPEED) };
  const atConditions = conditions.temperature_k !== null || conditions.length_ns !== null;
  const bySpeed = speed.needed && !asked.needs.length;
  return { choice: choiceOf({ ...asked, ...conditions }), anyRuns: choiceOf(asked), atConditions, speed, bySpeed };
}

// The form and the view.

function showForm() {
  for (const input of form.querySelectorAll("[name]")) {
    if (input.type === "checkbox") input.checked = wordsOf(input.name).includes(input.value);
    else if (input !== document.activeElement) input.value = view.chosen.get(input.name) ?? "";
  }
}

function readForm() {
  const chosen = new Map();
  for (const [name, value] of new FormData(form)) {
    const words = value.trim();
    if (words) chosen.set(name, chosen.has(name) ? `${chosen.get(name)} ${words}` : words);
  }
  return chosen;
}

// The answer.

/** The models that are fast enough, with their speeds; the fastest first if speed is all that is needed. */
function withSpeeds(models, speeds, { speed, bySpeed }) {
  const fitting = models
    .map((model) => ({ ...model, speed: speedOf(speeds, model.model, speed) }))
    .filter((model) => isFastEnough(model.speed, speed));
  return bySpeed ? fitting.toSorted((a, b) => a.speed.ms - b.speed.ms) : fitting;
}

const count = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

/** The conditions that a choice states: at 800 K, for 1 ns. */
function conditionWords({ temperature, length }) {
  const words = [];
  if (temperature !== null) words.push(`at ${kelvinWords(temperature)}`);
  if (length !== null) words.push(`for ${lengthWords(length)}`);
  return words.join(" ");
}

/** A sentence about the runs, if long MD is needed, no length is stated, and all runs are short; else an empty text. */
function shortRunWords(basis, { needs, length }) {
  const lengths = basis.flatMap(({ runs }) => (runs ? [runs.length_ns] : [])).toSorted((a, b) => a - b);
  if (!needs.has(MD) || length !== null || !lengths.length || lengths.at(-1) >= LONG_NS) return "";
  const ends = new Set([lengths[0], lengths.at(-1)].map(lengthWords));
  return ` The runs are ${[...ends].join(" to ")} long and say little of long runs.`;
}

/** What a list by speed is: on which machine, and whether its times compare. */
function speedSummary(models, shown) {
  const machines = new Set(shown.map(({ speed }) => speed.hardware));
  const sizes = new Set(shown.map(({ speed }) => speed.atoms));
  const on = machines.size === 1 ? ` on ${[...machines]}` : "";
  const compare = machines.size > 1 || sizes.size > 1 ? " Times of different machines or sizes do not compare: state what you have." : "";
  return `By speed${on}: ${models}, the fastest first.${compare}`;
}

function summary(shown, all, basis, ordered, least, bySpeed) {
  if (!all.length) return "No task of this leaderboard answers this question.";
  if (!shown.length) return "No model has this speed at a size that was measured. Change what you have.";
  const among = shown.length < all.length ? ` of ${all.length}` : "";
  const models = `${shown.length}${among} ${all.length === 1 ? "model" : "models"}`;
  const items = `by ${count(Math.max(...all.map((model) => model.n_items)), "item")} of ${count(basis.length, "task")}.`;
  if (bySpeed) return `${speedSummary(models, shown)} The errors are ${items}`;
  const order = ordered ? "" : ` The order may be chance: there are fewer than ${least} independent items.`;
  return `${models} ${items}${order}`;
}

/** The tasks of the choice, with their columns. */
function basisOf(tasks, index, choice) {
  return tasks
    .map((task) => ({ runs: task.runs, entry: index.tasks.find(({ name }) => name === task.task), columns: columnsOfChoice(task, choice) }))
    .filter(({ columns }) => columns.length);
}

let last = 0; // turn of the last answer: files of an earlier question may arrive later

async function answer() {
  const turn = ++last;
  showForm();
  if (!view.chosen.size) {
    setText(state, "");
    result.replaceChildren();
    return;
  }
  try {
    const index = await load(box.dataset.chooser);
    if (turn !== last) return;
    const now = chosenNow(index);
    let { choice } = now;
    const overlaps = (names, chosen) => !chosen.size || names.some((name) => chosen.has(name));
    const wanted = index.tasks.filter(
      ({ needs, classes, runs }) => overlaps(needs, choice.needs) && overlaps(classes, choice.classes) && (runs || !now.atConditions),
    );
    const tasks = await Promise.all(wanted.map(({ file }) => load(file)));
    if (turn !== last) return;
    const models = index.models.map(({ id }) => id);
    let uncovered = "";
    if (!tasks.some((task) => columnsOfChoice(task, choice).length) && tasks.some((task) => columnsOfChoice(task, now.anyRuns).length)) {
      uncovered = `No task runs such systems ${conditionWords(choice)}. Here are the runs that there are: `;
      choice = now.anyRuns;
    }
    const all = rankingOfChoice(tasks, models, choice);
    const fitting = withSpeeds(all, index.speeds, now);
    const basis = basisOf(tasks, index, choice);
    const ordered = independentItems(tasks, choice) >= index.min_independent;
    setText(state, uncovered + summary(fitting, all, basis, ordered, index.min_independent, now.bySpeed) + shortRunWords(basis, now.choice));
    const ties = ordered && !now.bySpeed;
    result.replaceChildren(...(fitting.length ? resultTable(fitting, MOST, index, basis, ties, now.bySpeed) : []));
  } catch (error) {
    if (turn !== last) return;
    console.warn(error.message);
    setText(state, "The numbers could not be loaded. Try again.");
    result.replaceChildren(element("p"));
  }
}

function choose(chosen) {
  change({ chosen });
  answer();
}

function listen() {
  form.addEventListener("input", () => choose(readForm()));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    choose(new Map());
  });
  box.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-preset]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return; // in a new tab or window
    event.preventDefault();
    const query = new URL(link.href).searchParams;
    choose(new Map([...query].map(([name, value]) => [name.replace("for.", ""), value])));
  });
}

export function start() {
  listen();
  box.hidden = false;
  box.open = view.chosen.size > 0;
  if (box.open) answer();
}
