// Which models a reader asked for. What a card does not say is not known to be so, and does not match.

import { conservativeOf, parametersOf } from "./card.js";

/** The symbols of a text like "Si, O" or "si o": first letter large. */
export function symbols(text) {
  return (text.match(/[a-z]+/gi) ?? []).map((word) => word[0].toUpperCase() + word.slice(1).toLowerCase());
}

function covers(model, asked) {
  const stated = model.elements?.length ? model.elements : (model.elements_answered ?? []);
  return symbols(asked).every((symbol) => stated.includes(symbol));
}

function within(count, low, high) {
  return count !== null && count >= (low ?? 0) && count <= (high ?? Infinity);
}

const TESTS = {
  level: (model, asked) => Object.values(model.label_sets ?? {}).includes(asked),
  hardware: (model, asked) => model.hardware === asked,
  elements: covers,
  open: (model) => model.open_weights === true,
  conservative: (model) => conservativeOf(model) === true,
  isolated: (model) => model.isolated,
  min: (model, asked) => within(parametersOf(model), asked, null),
  max: (model, asked) => within(parametersOf(model), null, asked),
};

/** What is searched: name, version, team and id, in small letters. */
function said(model) {
  return [model.name, model.version, model.team ?? "", model.id].join(" ").toLowerCase();
}

/** A function of a model: whether it has all words of the search, and passes every filter that is set. */
export function matching({ search, filters }) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const asked = Object.entries(filters).filter(([name]) => name in TESTS);
  return (model) => {
    const text = words.length ? said(model) : "";
    return words.every((word) => text.includes(word)) && asked.every(([name, value]) => TESTS[name](model, value));
  };
}
