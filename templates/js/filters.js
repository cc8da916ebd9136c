// Filters of models. A field that the card does not state does not match.

import { conservativeOf, parametersOf } from "./card.js";

/** The chemical symbols in a text like "Si, O" or "si o". */
export function symbols(text) {
  return (text.match(/[a-z]+/gi) ?? []).map((word) => word[0].toUpperCase() + word.slice(1).toLowerCase());
}

function covers(model, wanted) {
  const stated = model.elements?.length ? model.elements : (model.elements_answered ?? []);
  return symbols(wanted).every((symbol) => stated.includes(symbol));
}

function within(count, low, high) {
  return count !== null && count >= (low ?? 0) && count <= (high ?? Infinity);
}

const TESTS = {
  level: (model, wanted) => Object.values(model.label_sets ?? {}).includes(wanted),
  hardware: (model, wanted) => model.hardware === wanted,
  elements: covers,
  open: (model) => model.open_weights === true,
  conservative: (model) => conservativeOf(model) === true,
  isolated: (model) => model.isolated,
  min: (model, wanted) => within(parametersOf(model), wanted, null),
  max: (model, wanted) => within(parametersOf(model), null, wanted),
};

/** The text that is searched: name, version, team and id, in lower case. */
function searchText(model) {
  return [model.name, model.version, model.team ?? "", model.id].join(" ").toLowerCase();
}

/** A function of a model: whether it has all words of the search and passes every filter. */
export function matching({ search, filters }) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const active = Object.entries(filters).filter(([name]) => name in TESTS);
  return (model) => {
    const text = words.length ? searchText(model) : "";
    return words.every((word) => text.includes(word)) && active.every(([name, value]) => TESTS[name](model, value));
  };
}
