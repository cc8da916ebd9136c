// Which model a reader means by a name, and what to say where that is not clear.

import { plain } from "./plain.js";

const MOST_SAID = 5;
const LONGEST = 80;

export const nameOf = (model) => plain(`${model.name} ${model.version}`).trim();

/** By what is offered in the list, the model; of those of one name, each with its id. */
export function offers(models) {
  const counts = new Map();
  for (const model of models) counts.set(nameOf(model), (counts.get(nameOf(model)) ?? 0) + 1);
  return new Map(models.map((model) => [counts.get(nameOf(model)) > 1 ? `${nameOf(model)} (${model.id})` : nameOf(model), model]));
}

/** The model that a reader means, or what to say where it is not clear. */
export function meant(typed, offered) {
  const wanted = typed.trim().toLowerCase();
  if (!wanted) return { say: "Type the name of a model." };
  const found = [...offered].filter(([name, { id }]) => name.toLowerCase() === wanted || id === wanted);
  const alike = found.length ? found : [...offered].filter(([name]) => name.toLowerCase().includes(wanted));
  if (alike.length === 1) return { model: alike[0][1] };
  return { say: alike.length ? `${alike.length} models have that in their name: choose one.` : "No model has that name." };
}

/** One line about ids that no model has. */
export function unknown(ids, models) {
  const known = new Set(models.map((model) => model.id));
  const lost = ids.filter((id) => !known.has(id));
  if (!lost.length) return "";
  const shown = lost.slice(0, MOST_SAID).map((id) => `“${plain(id).slice(0, LONGEST)}”`).join(", ");
  return `Not on this leaderboard: ${shown}${lost.length > MOST_SAID ? ` and ${lost.length - MOST_SAID} more` : ""}.`;
}
