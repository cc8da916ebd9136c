// Two to five models side by side: the first of the ranking, or those in the address.

import { MOST, read, write } from "./compare_address.js";
import { meant, nameOf, namesOf, offers, unknown } from "./compare_names.js";
import { radarPlot } from "./compare_radar.js";
import { table } from "./compare_table.js";
import { modelIntervals } from "./compare_intervals.js";
import { BY_DOMAIN, comparison, FIRST } from "./comparison.js";
import { leaderboard } from "./leaderboard.js";
import { drawPlot } from "./plot.js";
import { setHeight } from "./plot_look.js";

/** The selected models; `byReader`: whether a reader selected them, so that the address names them. */
let chosen = [];
let byReader = false;

/** The parts of the page that this module reads and writes. */
function partsOf(section, file, intervals) {
  const form = section.querySelector("[data-choose]");
  return {
    file,
    intervals,
    names: document.querySelector("[data-names]"),
    form,
    input: form.querySelector("input"),
    button: form.querySelector("button"),
    list: form.querySelector("datalist"),
    differences: form.querySelector("[data-differences]"),
    status: section.querySelector("[data-status]"),
    none: section.querySelector("[data-none]"),
    shown: section.querySelector("[data-shown]"),
    first: section.querySelector("[data-first]"),
    rest: section.querySelector("[data-rest]"),
    radar: section.querySelector("[data-radar]"),
    labels: JSON.parse(section.querySelector("[data-metrics]").textContent),
    offered: offers(file.models),
  };
}

/** The best of the ranking; the first models if fewer than two are ranked. */
function firstModels(file) {
  const ranked = file.models.filter((model) => model.rank !== null && !model.reference);
  return (ranked.length > 1 ? ranked : file.models).slice(0, MOST);
}

// Output.

function say(page, ...words) {
  page.status.textContent = words.filter(Boolean).join(" ");
}

/** The next possible step. */
function next() {
  if (chosen.length === 1) return "Add another to compare it with.";
  return chosen.length >= MOST ? "To add another, remove one." : "";
}

function draw(page) {
  page.none.hidden = chosen.length > 0;
  page.shown.hidden = chosen.length === 0;
  page.names.textContent = namesOf(chosen) || "Compare models";
  if (!chosen.length) return;
  const groups = comparison(page.file, chosen, page.labels, page.intervals);
  const [first, rest] = [true, false].map((isFirst) => groups.filter((group) => FIRST.includes(group.title) === isFirst));
  page.first.replaceChildren(table(chosen, first, (model) => remove(page, model)));
  page.rest.replaceChildren(table(chosen, rest));
  showDifferences(page);
  if (page.radar) drawRadar(page.radar, groups);
}

/** Shows all rows, or only those in which the models differ. */
function showDifferences({ first, rest, differences }) {
  for (const frame of [first, rest]) frame.querySelector("table").classList.toggle("differences", differences.checked);
}

function drawRadar(figure, groups) {
  const axes = groups.find((group) => group.title === BY_DOMAIN)?.lines.filter(({ domain }) => domain) ?? [];
  figure.hidden = axes.length < 3;
  if (figure.hidden) return;
  const stage = figure.querySelector(".stage");
  setHeight(stage);
  const { layout } = JSON.parse(figure.querySelector("script").textContent);
  const plot = radarPlot(axes, chosen.map(nameOf), layout);
  drawPlot(stage, plot, "Accuracy by domain", "radar-about").catch((error) => console.warn(error.message));
}

function follow(page) {
  write(byReader ? chosen.map((model) => model.id) : null, page.differences.checked);
}

// Actions of a reader.

function choose(page, models, ...sentences) {
  chosen = models;
  byReader = true;
  draw(page);
  follow(page);
  say(page, ...sentences, `${chosen.length} of at most ${MOST} models.`, next());
}

/** Removes a model; the focus goes to the button in the place of the pressed one. */
function remove(page, model) {
  const at = chosen.indexOf(model);
  choose(page, chosen.toSpliced(at, 1), `${nameOf(model)} is removed.`);
  const buttons = chosen.length ? page.first.querySelectorAll("thead button") : [];
  (buttons[Math.min(at, buttons.length - 1)] ?? page.input).focus({ preventScroll: true });
}

/** Adds the typed model; the focus stays. */
function add(page) {
  if (chosen.length >= MOST) {
    say(page, `${MOST} models are the maximum.`, next());
    return;
  }
  const { model, say: why } = meant(page.input.value, page.offered);
  if (!model) say(page, why);
  else if (chosen.includes(model)) say(page, `${nameOf(model)} is already here.`);
  else {
    page.input.value = "";
    choose(page, [...chosen, model], `${nameOf(model)} is added.`);
  }
}

function listen(page) {
  page.button.addEventListener("click", () => add(page));
  page.input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") add(page);
  });
  // A name that is selected from the list by mouse arrives whole, without Enter.
  page.input.addEventListener("input", (event) => {
    const isChosen = !event.inputType || event.inputType === "insertReplacementText"; // not typed or deleted
    if (isChosen && page.offered.has(page.input.value)) add(page);
  });
  page.differences.addEventListener("change", () => {
    showDifferences(page); // the tables stay
    follow(page);
  });
}

/** Shows the models of the address, and names those that cannot be shown. */
function begin(page) {
  const { ids, differencesOnly } = read();
  const byId = new Map(page.file.models.map((model) => [model.id, model]));
  const wanted = (ids ?? []).map((id) => byId.get(id)).filter(Boolean);
  byReader = wanted.length > 0 || ids?.length === 0;
  chosen = byReader ? wanted.slice(0, MOST) : firstModels(page.file);
  page.differences.checked = differencesOnly;
  draw(page);
  const tooMany = wanted.length > MOST ? `Only the first ${MOST} of ${wanted.length} models are shown.` : "";
  const instead = ids && !byReader ? "The first of the ranking are shown." : "";
  say(page, unknown(ids ?? [], page.file.models), tooMany, instead, next());
}

export async function start() {
  const section = document.querySelector("[data-compare]");
  if (!section.querySelector(".table-frame")) return; // there are fewer than two models
  const page = partsOf(section, ...(await Promise.all([leaderboard(), modelIntervals()])));
  page.list.append(...[...page.offered.keys()].map((name) => new Option(name, name)));
  begin(page);
  listen(page);
  page.form.hidden = false;
}
