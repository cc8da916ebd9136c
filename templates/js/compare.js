// Any two to five models side by side. The page comes with the first of the ranking; the address says which others.

import { radar } from "./compare_radar.js";
import { table } from "./compare_table.js";
import { BY_DOMAIN, comparison } from "./comparison.js";
import { leaderboard } from "./leaderboard.js";
import { plain } from "./plain.js";

const MOST = 5;

/** What the address asks for; null where it asks for no models. */
function asked() {
  const query = new URLSearchParams(location.search);
  const ids = query.get("ids");
  return { ids: ids === null ? null : [...new Set(ids.split(",").filter(Boolean))], only: query.get("diff") === "1" };
}

function write(ids, only) {
  const said = [...(ids ? [`ids=${ids.map(encodeURIComponent).join(",")}`] : []), ...(only ? ["diff=1"] : [])];
  history.replaceState(null, "", `${location.pathname}${said.length ? `?${said.join("&")}` : ""}${location.hash}`);
}

/** The best of the ranking; where not even two are ranked, the first that there are. */
function firstModels(file) {
  const ranked = file.models.filter((model) => model.rank !== null && !model.reference);
  return (ranked.length > 1 ? ranked : file.models).slice(0, MOST);
}

const nameOf = (model) => plain(`${model.name} ${model.version}`).trim();

/** By what is offered in the list, the model; of those of one name, each with its id. */
function offers(models) {
  const counts = new Map();
  for (const model of models) counts.set(nameOf(model), (counts.get(nameOf(model)) ?? 0) + 1);
  return new Map(models.map((model) => [counts.get(nameOf(model)) > 1 ? `${nameOf(model)} (${model.id})` : nameOf(model), model]));
}

/** The model that a reader means, or what to say where it is not clear. */
function meant(typed, offered) {
  const wanted = typed.trim().toLowerCase();
  if (!wanted) return { say: "Type the name of a model." };
  const found = [...offered].filter(([name, { id }]) => name.toLowerCase() === wanted || id === wanted);
  const alike = found.length ? found : [...offered].filter(([name]) => name.toLowerCase().includes(wanted));
  if (alike.length === 1) return { model: alike[0][1] };
  return { say: alike.length ? `${alike.length} models have that in their name: choose one.` : "No model has that name." };
}

/** One line about what in the address cannot be shown. */
function unknown(ids, models) {
  const known = new Set(models.map((model) => model.id));
  const lost = ids.filter((id) => !known.has(id));
  if (!lost.length) return "";
  const shown = lost.slice(0, MOST).map((id) => `“${plain(id).slice(0, 80)}”`).join(", ");
  return `Not on this leaderboard: ${shown}${lost.length > MOST ? ` and ${lost.length - MOST} more` : ""}.`;
}

/** What can be done next, where it is not plain. */
function next(chosen) {
  if (chosen.length < 2) return "Add another to compare it with.";
  return chosen.length >= MOST ? "To add another, remove one." : "";
}

export async function start() {
  const section = document.querySelector("[data-compare]");
  const frame = section.querySelector(".table-frame");
  if (!frame) return; // nobody is there to be compared
  const file = await leaderboard();
  const byId = new Map(file.models.map((model) => [model.id, model]));
  const labels = JSON.parse(section.querySelector("[data-metrics]").textContent);
  const [form, said] = [section.querySelector("[data-choose]"), section.querySelector("[data-said]")];
  const [input, button] = [form.querySelector("input"), form.querySelector("button")];
  const differences = form.querySelector("[data-differences]");
  const offered = offers(file.models);
  let chosen = firstModels(file);
  let byReader = false;

  function say(...words) {
    said.textContent = words.filter(Boolean).join(" ");
  }

  function draw() {
    const groups = comparison(file, chosen, labels);
    const made = table(chosen, groups, (model) => choose(chosen.filter((of) => of !== model)));
    made.classList.toggle("differences", differences.checked);
    frame.replaceChildren(made);
    drawRadar(groups);
  }

  function drawRadar(groups) {
    const stage = section.querySelector("[data-radar] .stage");
    if (!stage) return;
    const axes = groups.find((group) => group.title === BY_DOMAIN)?.lines ?? [];
    const drawing = radar(axes, chosen.map(nameOf));
    stage.replaceChildren(...(drawing ? [drawing] : []));
  }

  function choose(models) {
    chosen = models;
    byReader = true;
    draw();
    write(chosen.map((model) => model.id), differences.checked);
    say(`${chosen.length} of at most ${MOST} models.`, next(chosen));
    input.disabled = chosen.length >= MOST;
    button.disabled = input.disabled;
    if (!input.disabled) input.focus({ preventScroll: true });
  }

  function add() {
    const { model, say: why } = meant(input.value, offered);
    if (!model) say(why);
    else if (chosen.includes(model)) say(`${nameOf(model)} is there already.`);
    else {
      input.value = "";
      choose([...chosen, model]);
    }
  }

  form.querySelector("datalist").append(...[...offered.keys()].map((name) => new Option(name, name)));
  button.addEventListener("click", add);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") add();
  });
  // Chosen from the list by mouse there is no Enter: the whole name stands there at once.
  input.addEventListener("input", (event) => {
    const isChosen = !event.inputType || event.inputType === "insertReplacementText"; // and not typed or deleted
    if (isChosen && offered.has(input.value)) add();
  });
  differences.addEventListener("change", () => {
    frame.querySelector("table").classList.toggle("differences", differences.checked);
    write(byReader ? chosen.map((model) => model.id) : null, differences.checked);
  });

  const { ids, only } = asked();
  differences.checked = only;
  const wanted = (ids ?? []).map((id) => byId.get(id)).filter(Boolean);
  const tooMany = wanted.length > MOST ? `Of ${wanted.length} models the first ${MOST} are shown.` : "";
  const none = ids && !wanted.length ? "The first of the ranking are shown." : "";
  if (wanted.length) [chosen, byReader] = [wanted.slice(0, MOST), true];
  draw();
  say(unknown(ids ?? [], file.models), tooMany, none, next(chosen));
  form.hidden = false;
  input.disabled = chosen.length >= MOST;
  button.disabled = input.disabled;
}
