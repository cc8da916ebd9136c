// Any two to five models side by side. The page comes with the first of the ranking; the address says which others.

import { asked, MOST, write } from "./compare_address.js";
import { meant, nameOf, offers, unknown } from "./compare_names.js";
import { radarPlot } from "./compare_radar.js";
import { table } from "./compare_table.js";
import { BY_DOMAIN, comparison } from "./comparison.js";
import { leaderboard } from "./leaderboard.js";
import { drawPlot } from "./plot.js";

/** The models that are shown; `byReader`: whether the address has to name them. */
let chosen = [];
let byReader = false;

/** What of the page is read and written. */
function partsOf(section, file) {
  const form = section.querySelector("[data-choose]");
  return {
    file,
    form,
    input: form.querySelector("input"),
    button: form.querySelector("button"),
    names: form.querySelector("datalist"),
    differences: form.querySelector("[data-differences]"),
    said: section.querySelector("[data-said]"),
    none: section.querySelector("[data-none]"),
    shown: section.querySelector("[data-shown]"),
    frame: section.querySelector(".table-frame"),
    radar: section.querySelector("[data-radar]"),
    labels: JSON.parse(section.querySelector("[data-metrics]").textContent),
    offered: offers(file.models),
  };
}

/** The best of the ranking; where not even two are ranked, the first that there are. */
function firstModels(file) {
  const ranked = file.models.filter((model) => model.rank !== null && !model.reference);
  return (ranked.length > 1 ? ranked : file.models).slice(0, MOST);
}

// What is shown.

function say(page, ...words) {
  page.said.textContent = words.filter(Boolean).join(" ");
}

/** What can be done next, where it is not plain. */
function next() {
  if (chosen.length === 1) return "Add another to compare it with.";
  return chosen.length >= MOST ? "To add another, remove one." : "";
}

function draw(page) {
  page.none.hidden = chosen.length > 0;
  page.shown.hidden = chosen.length === 0;
  if (!chosen.length) return;
  const groups = comparison(page.file, chosen, page.labels);
  const made = table(chosen, groups, (model) => remove(page, model));
  made.classList.toggle("differences", page.differences.checked);
  page.frame.replaceChildren(made);
  if (page.radar) drawRadar(page.radar, groups);
}

function drawRadar(figure, groups) {
  const axes = groups.find((group) => group.title === BY_DOMAIN)?.lines ?? [];
  figure.hidden = axes.length < 3;
  if (figure.hidden) return;
  const stage = figure.querySelector(".stage");
  stage.style.height = `${stage.dataset.height}px`;
  const { layout } = JSON.parse(figure.querySelector("script").textContent);
  const plot = radarPlot(axes, chosen.map(nameOf), layout);
  drawPlot(stage, plot, "Accuracy by domain", "radar-about").catch((error) => console.warn(error.message));
}

function follow(page) {
  write(byReader ? chosen.map((model) => model.id) : null, page.differences.checked);
}

// What a reader does.

function choose(page, models, ...said) {
  chosen = models;
  byReader = true;
  draw(page);
  follow(page);
  say(page, ...said, `${chosen.length} of at most ${MOST} models.`, next());
}

/** Takes a model out; the focus goes to the button that took the place of the one that was pressed. */
function remove(page, model) {
  const at = chosen.indexOf(model);
  choose(page, chosen.toSpliced(at, 1), `${nameOf(model)} is taken out.`);
  const buttons = chosen.length ? page.frame.querySelectorAll("thead button") : [];
  (buttons[Math.min(at, buttons.length - 1)] ?? page.input).focus({ preventScroll: true });
}

/** Adds what is typed; the focus stays where it is, for the next. */
function add(page) {
  if (chosen.length >= MOST) {
    say(page, `${MOST} models are here, which is the most.`, next());
    return;
  }
  const { model, say: why } = meant(page.input.value, page.offered);
  if (!model) say(page, why);
  else if (chosen.includes(model)) say(page, `${nameOf(model)} is there already.`);
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
  // Chosen from the list by mouse there is no Enter: the whole name stands there at once.
  page.input.addEventListener("input", (event) => {
    const isChosen = !event.inputType || event.inputType === "insertReplacementText"; // and not typed or deleted
    if (isChosen && page.offered.has(page.input.value)) add(page);
  });
  page.differences.addEventListener("change", () => {
    page.frame.querySelector("table").classList.toggle("differences", page.differences.checked); // none is made anew
    follow(page);
  });
}

/** Shows what the address asks for, and says what of it cannot be shown. */
function begin(page) {
  const { ids, differencesOnly } = asked();
  const byId = new Map(page.file.models.map((model) => [model.id, model]));
  const wanted = (ids ?? []).map((id) => byId.get(id)).filter(Boolean);
  byReader = wanted.length > 0 || ids?.length === 0;
  chosen = byReader ? wanted.slice(0, MOST) : firstModels(page.file);
  page.differences.checked = differencesOnly;
  draw(page);
  const tooMany = wanted.length > MOST ? `Of ${wanted.length} models the first ${MOST} are shown.` : "";
  const instead = ids && !byReader ? "The first of the ranking are shown." : "";
  say(page, unknown(ids ?? [], page.file.models), tooMany, instead, next());
}

export async function start() {
  const section = document.querySelector("[data-compare]");
  if (!section.querySelector(".table-frame")) return; // nobody is there to be compared
  const page = partsOf(section, await leaderboard());
  page.names.append(...[...page.offered.keys()].map((name) => new Option(name, name)));
  begin(page);
  listen(page);
  page.form.hidden = false;
}
