// The panel of weights and thresholds. It keeps nothing itself: what is set is in the view, and so in the address.

import { pathKey } from "./paths.js";
import { schemeOf } from "./reckoning.js";
import { MLIPAUDIT } from "./scores.js";
import { settableLeaves } from "./settings_leaves.js";
import { scorePanel } from "./settings_score.js";
import { leaderboardOfView } from "./sound_view.js";
import { change, onChange, queryOf, view } from "./view.js";

const AUDIT = "MLIPAudit’s thresholds apply to single items, and cannot be changed here: weights alone can.";
const USUAL = "As the scheme weighs";
const OWN = "Your own";

const panel = document.querySelector("[data-settings]");
const part = (name) => panel.querySelector(`[data-settings-${name}]`);

let shown = null; // the scheme whose scores are there
let scores = [];

const isOf = (scheme) => (key) => scheme.scores.some((score) => key.startsWith(`${pathKey([score.key])}/`));

/** The weights of a preset by path key. */
const weightsOf = (preset) => new Map(preset.weights.map(([names, factor]) => [pathKey(names), factor]));

function equal(one, other) {
  return one.size === other.size && [...one].every(([key, value]) => other.get(key) === value);
}

const presetsOf = (file, scheme) => (file.presets ?? []).filter((preset) => preset.scheme === scheme.key);

/** The preset that the weights of a scheme are; "" for none at all, null where they are a reader's own. */
function presetNow(file, scheme) {
  const own = new Map([...view.weights].filter(([key]) => isOf(scheme)(key)));
  if (!own.size) return "";
  return presetsOf(file, scheme).find((preset) => equal(weightsOf(preset), own))?.name ?? null;
}

function offerPresets(file, scheme) {
  const select = part("presets");
  const named = presetsOf(file, scheme).map((preset) => new Option(preset.name, preset.name));
  select.replaceChildren(new Option(USUAL, ""), ...named, new Option(OWN, OWN));
  select.lastChild.disabled = true;
}

/** Puts a preset in place of all weights of the scheme; those of others stay. */
function choosePreset(file, scheme, name) {
  const others = [...view.weights].filter(([key]) => !isOf(scheme)(key));
  const preset = presetsOf(file, scheme).find((one) => one.name === name);
  change({ weights: new Map([...others, ...(preset ? weightsOf(preset) : [])]) });
}

/** The scores of the scheme that is looked at, where it is another than before. */
function lay(file) {
  const scheme = schemeOf(file, view);
  if (shown === scheme) return;
  shown = scheme;
  const references = new Set(file.models.filter((model) => model.reference).map((model) => model.id));
  const shared = { references, settings: () => view, put: change };
  const own = scheme.scores.filter((score) => Object.keys(score.models).length);
  scores = own.map((score) => scorePanel(score, { ranks: scheme.ranked_by.includes(score.key), ...shared }));
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
  part("said").textContent = copied ? "Copied." : "The browser does not let it be copied: take the address.";
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
    part("presets").focus(); // a button that can do nothing more loses it
    change({ weights: new Map(), thresholds: new Map() });
    part("said").textContent = "All as published.";
  });
  part("copy").hidden = !navigator.clipboard; // there in secure contexts alone
  part("copy").addEventListener("click", copyLink);
  onChange((_, names) => {
    part("said").textContent = "";
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
