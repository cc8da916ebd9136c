// A row of models side by side: a cell for each model, the best one marked.

import { decimals, NONE, signed } from "./comparison_numbers.js";
import { wasResampled } from "./intervals.js";

/** The cell of one model; the best cell is chosen by `value`; null: it is never the best. */
export function cell(text, note = "", value = null) {
  return { text, note, value, interval: null, fault: "", mark: "" };
}

/** A number with three decimals. */
export const numberCell = (value, note = "") => cell(decimals(value), note, value);

const textOf = ({ text, note, fault }) => JSON.stringify([text, note, fault]);

function row(name, cells, below) {
  // A single cell is not the same as another.
  return { name, cells, below, same: cells.length > 1 && new Set(cells.map(textOf)).size === 1 };
}

/** A row of words without a best cell. */
export const plainLine = (name, texts) => row(name, texts.map((text) => cell(text)), false);

function apart(a, b) {
  if (!a.interval || !b.interval || !wasResampled(a.interval) || !wasResampled(b.interval)) return false;
  return a.interval[1] < b.interval[0] || b.interval[1] < a.interval[0];
}

/** A row with its best cell marked; `lower`: whether lower is better; null: no cell is marked. */
export function line(name, cells, lower = null, below = false) {
  const known = cells.filter((other) => other.value !== null);
  if (lower === null || known.length < 2) return row(name, cells, below);
  const best = (lower ? Math.min : Math.max)(...known.map((other) => other.value));
  const first = known.find((other) => other.value === best);
  const marked = known.filter((other) => other.text === first.text);
  if (marked.length < cells.length) {
    const others = known.filter((other) => !marked.includes(other));
    const sure = marked.length === 1 && others.every((other) => apart(first, other));
    for (const best of marked) best.mark = sure ? "best" : "undecided";
  }
  return row(name, cells, below);
}

function difference(other, first, textOf, endOf) {
  if (other.value === null || first.value === null) return cell(NONE);
  const text = signed(other.value - first.value, textOf);
  if (other.interval === null || first.interval === null) return cell(text, "no interval");
  if (!wasResampled(other.interval) || !wasResampled(first.interval)) return cell(text, "not resampled");
  if (!apart(other, first)) return cell(text, "intervals overlap");
  const [[low, high], [firstLow, firstHigh]] = [other.interval, first.interval];
  return cell(text, `${signed(low - firstHigh, endOf)} to ${signed(high - firstLow, endOf)}`);
}

/** A row below a row with a best cell: the difference of each cell from the best, and its range. `textOf`: as in `signed`; `endOf`: for its range. */
export function differences({ cells }, textOf, endOf = textOf) {
  const first = cells.find((other) => other.mark);
  if (!first) return [];
  return [row("from the best here", cells.map((other) => (other === first ? cell(NONE) : difference(other, first, textOf, endOf))), true)];
}

/** Whether the times of these models compare: only within one hardware class. */
export const inOneClass = (models) => new Set(models.map((model) => model.hardware ?? "")).size === 1;
