// A row of models side by side: a cell for each, and which of them is best.

import { decimals, NONE, signed } from "./comparison_numbers.js";

/** What one model has in one row; `value` is what the best is told by, null: it takes no part in that. */
export function cell(text, note = "", value = null) {
  return { text, note, value, interval: null, fault: "", mark: "" };
}

/** A number with three decimals. */
export const numberCell = (value, note = "") => cell(decimals(value), note, value);

const said = ({ text, note, fault }) => JSON.stringify([text, note, fault]);

function row(name, cells, below) {
  // One by itself is not the same as another.
  return { name, cells, below, same: cells.length > 1 && new Set(cells.map(said)).size === 1 };
}

/** A row of words, in which no one is better. */
export const plainLine = (name, texts) => row(name, texts.map((text) => cell(text)), false);

// One without any width is of parts that could not be resampled: it says nothing of how sure the number is.
const hasWidth = ({ interval }) => interval !== null && interval[0] < interval[1];

function apart(one, other) {
  if (!hasWidth(one) || !hasWidth(other)) return false;
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

function difference(of, first, textOf) {
  if (of.value === null || first.value === null) return cell(NONE);
  const text = signed(of.value - first.value, textOf);
  if (!hasWidth(of) || !hasWidth(first)) return cell(text, "no interval");
  if (!apart(of, first)) return cell(text, "intervals overlap");
  const [[low, high], [firstLow, firstHigh]] = [of.interval, first.interval];
  return cell(text, `${signed(low - firstHigh, textOf)} to ${signed(high - firstLow, textOf)}`);
}

/** A row below one with a best: how far each other is from the first that has it, and how sure that is. `textOf`: as in `signed`. */
export function differences({ cells }, textOf) {
  const first = cells.find((of) => of.mark);
  if (!first) return [];
  return [row("from the best here", cells.map((of) => (of === first ? cell(NONE) : difference(of, first, textOf))), true)];
}

/** Times compare within one class of hardware alone. */
export const inOneClass = (models) => new Set(models.map((model) => model.hardware ?? "")).size === 1;
