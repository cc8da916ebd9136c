// The panel of weights and thresholds. All settings are in the view, and so in the address.

import { pathKey } from "./paths.js";
import { schemeOf } from "./computed_scores.js";
import { MLIPAUDIT } from "./scores.js";
import { settableLeaves } from "./settings_leaves.js";
import { scorePanel } from "./settings_score.js";
import { leaderboardOfView } from "./valid_view.js";
import { change, onChange, queryOf, view } from "./view.js";

const AUDIT = "MLIPAudit’s thresholds apply to single items. Only its weights can be changed here.";
const USUAL = "Weights of the scheme";
const OWN = "Your own";

const panel = document.querySelector("[data-settings]");
const part = (name) => panel.querySelector(`[data-settings-${name}]`);

let shown = null; // the scheme of the shown scores
let scores = [];

const isOf = (scheme) => (key) => scheme.scores.some((score) => key.startsWith(`${pathKey([score.key])}/`));

/** The weights of a preset by path key. */
const weightsOf = (preset) => new Map(preset.weights.map(([names, factor]) => [pathKey(names), factor]));

function equal(a, b) {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}

const presetsOf = (file, scheme) => (file.presets ?? []).filter((preset) => preset.scheme === scheme.key);

/** The preset of the current weights of a scheme; "" without any weight, null for a reader's own weights. */
function presetNow(file, scheme) {
  const weights = new Map([...view.weights].filter(([key]) => isOf(scheme)(key)));
  if (!weights.size) return "";
  return presetsOf(file, scheme).find((preset) => equal(weightsOf(preset), weights))?.name ?? null;
}

function offerPresets(file, scheme) {
  const select = part("presets");
  const named = presetsOf(file, scheme).map((preset) => new Option(preset.name, preset.name));
  select.replaceChildren(new Option(USUAL, ""), ...named, new Option(OWN, OWN));
  select.lastChild.disabled = true;
}

/** Replaces all weights of the scheme by a preset; weights of other schemes stay. */
function choosePreset(file, scheme, name) {
  const others = [...view.weights].filter(([key]) => !isOf(scheme)(key));
  const preset = presetsOf(file, scheme).find((candidate) => candidate.name === name);
  change({ weights: new Map([...others, ...(preset ? weightsOf(preset) : [])]) });
}

/** Shows the scores of the current scheme, if it changed. */
function lay(file) {
  const scheme = schemeOf(file, view);
  if (shown === scheme) return;
  shown = scheme;
  const references = new Set(file.models.filter((model) => model.reference).map((model) => model.id));
  const shared = { references, settings: () => view, put: change };
  const scored = scheme.scores.filter((score) => Object.keys(score.models).length);
  scores = scored.map((score) => scorePanel(score, { ranks: scheme.ranked_by.includes(score.key), ...shared }));
  part("scores").replaceChildren(...scores.map(({ node }) => node));
  if (scores.length === 1) scores[0].node.open = true;
  offerPresets(file, scheme);
}

function show(file) {
  count(file);
  if (!panel.open) return;
  lay(file);
  const preset = presetNow(file, shown);
  part("presets").value = preset ?? OWN;
  const about = presetsOf(file, shown).find(({ name }) => name === preset)?.about ?? "";
  part("about").textContent = [about, shown.key === MLIPAUDIT ? AUDIT : ""].filter(Boolean).join(" ");
  for (const score of scores) score.show(view);
}

function count(file) {
  const scheme = schemeOf(file, view);
  const weights = [...view.weights.keys()].filter(isOf(scheme)).length;
  const known = scheme.scores.map((score) => settableLeaves(score).spread);
  const n = weights + [...view.thresholds.keys()].filter((key) => known.some((spread) => spread.has(key))).length;
  part("count").textContent = n ? ` · ${n} changed` : "";
  part("reset").disabled = view.weights.size + view.thresholds.size === 0;
}

async function copyLink() {
  const link = `${location.origin}${location.pathname}${queryOf(view)}`; // the address follows a moment later
  const copied = await navigator.clipboard.writeText(link).then(() => true, () => false);
  part("status").textContent = copied ? "Copied." : "The browser does not allow copying. Copy the address of the page.";
}

function listen(file) {
  panel.addEventListener("toggle", () => show(file));
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !panel.open) return;
    panel.open = false;
    panel.querySelector("summary").focus();
  });
  part("presets").addEventListener("change", (event) => choosePreset(file, shown, event.target.value));
  part("reset").addEventListener("click", () => {
    part("presets").focus(); // a disabled button loses the focus
    change({ weights: new Map(), thresholds: new Map() });
    part("status").textContent = "Published settings.";
  });
  part("copy").hidden = !navigator.clipboard; // only in secure contexts
  part("copy").addEventListener("click", copyLink);
  onChange((_, names) => {
    part("status").textContent = "";
    if (names.some((name) => ["scheme", "variant", "weights", "thresholds"].includes(name))) show(file);
  });
}

export async function start() {
  const file = await leaderboardOfView();
  if (!file.schemes.length) return;
  listen(file);
  show(file);
  panel.hidden = false;
}
