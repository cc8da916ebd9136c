// A row of models side by side: a cell for each, and which of them is best.

import { decimals } from "./numbers.js";

/** What one model has in one row; `value` is what the best is told by, null: it takes no part in that. */
export function cell(text, note = "", value = null) {
  return { text, note, value, interval: null, fault: "", mark: "" };
}

/** A number with three decimals. */
export const numberCell = (value, note = "") => cell(decimals(value), note, value);

const said = ({ text, note, fault }) => JSON.stringify([text, note, fault]);

function row(name, cells, below) {
  return { name, cells, below, same: new Set(cells.map(said)).size <= 1 };
}

/** A row of words, in which no one is better. */
export const plainLine = (name, texts) => row(name, texts.map((text) => cell(text)), false);

function apart(one, other) {
  if (!one.interval || !other.interval) return false;
  // One without any width is of parts that could not be resampled: it says nothing of how sure the number is.
  if ([one, other].some(({ interval: [low, high] }) => low === high)) return false;
  return one.interval[1] < other.interval[0] || other.interval[1] < one.interval[0];
}

/** A row with its best marked; `lower`: whether lower is better, null: no one is better in it. */
export function line(name, cells, lower = null, below = false) {
  const known = cells.filter((of) => of.value !== null);
  if (lower === null || known.length < 2) return row(name, cells, below);
  const best = (lower ? Math.min : Math.max)(...known.map((of) => of.value));
  const first = known.find((of) => of.value === best);
  const marked = known.filter((of) => of.text === first.text);
  if (marked.length < cells.length) {
    const others = known.filter((of) => !marked.includes(of));
    const sure = marked.length === 1 && others.every((other) => apart(first, other));
    for (const of of marked) of.mark = sure ? "best" : "undecided";
  }
  return row(name, cells, below);
}

/** Times compare within one class of hardware alone. */
export const inOneClass = (models) => new Set(models.map((model) => model.hardware ?? "")).size === 1;
