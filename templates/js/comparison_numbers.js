// Numbers of the comparison as text.

import { decimals } from "./numbers.js";

export { decimals, NONE, number, scoreText, shownUnit, shownValue } from "./numbers.js";

/** A whole number in groups of three, 412 525, or `otherwise`. */
export function whole(value, otherwise) {
  return value === undefined || value === null ? otherwise : String(value).replaceAll(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** The difference with its sign, +0.020 or −0.020; `same` if it is rounded to 0. `textOf` formats its size. */
export function signed(value, textOf = decimals) {
  const text = textOf(Math.abs(value));
  if (text === textOf(0)) return "same";
  return `${value > 0 ? "+" : "−"}${text}`;
}
