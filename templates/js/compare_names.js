// The model that a typed name means, or a message.

import { plain } from "./plain.js";

const MOST_NAMED = 5;
const LONGEST = 80;

export const nameOf = (model) => plain(`${model.name} ${model.version}`).trim();

/** The names of models in a row, as the heading of their comparison. */
export function namesOf(models) {
  const names = models.map(nameOf);
  return names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : (names[0] ?? "");
}

/** The models by their name in the list; models of one name have their id in it. */
export function offers(models) {
  const counts = new Map();
  for (const model of models) counts.set(nameOf(model), (counts.get(nameOf(model)) ?? 0) + 1);
  return new Map(models.map((model) => [counts.get(nameOf(model)) > 1 ? `${nameOf(model)} (${model.id})` : nameOf(model), model]));
}

/** The model that a typed name means, or a message if there is not exactly one. */
export function meant(typed, offered) {
  const wanted = typed.trim().toLowerCase();
  if (!wanted) return { say: "Type the name of a model." };
  const exact = [...offered].filter(([name, { id }]) => name.toLowerCase() === wanted || id === wanted);
  const alike = exact.length ? exact : [...offered].filter(([name]) => name.toLowerCase().includes(wanted));
  if (alike.length === 1) return { model: alike[0][1] };
  return { say: alike.length ? `${alike.length} models have this in their name: select one.` : "No model has this name." };
}

/** A sentence about ids of unknown models. */
export function unknown(ids, models) {
  const known = new Set(models.map((model) => model.id));
  const lost = ids.filter((id) => !known.has(id));
  if (!lost.length) return "";
  const shown = lost.slice(0, MOST_NAMED).map((id) => `“${plain(id).slice(0, LONGEST)}”`).join(", ");
  return `Not on this leaderboard: ${shown}${lost.length > MOST_NAMED ? ` and ${lost.length - MOST_NAMED} more` : ""}.`;
}
