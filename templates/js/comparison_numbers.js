// Numbers of the comparison as text.

export { decimals, NONE, number, shownUnit, shownValue } from "./numbers.js";

/** A whole number in groups of three: 412 525; where there is none, the other words. */
export function whole(value, otherwise) {
  return value === undefined || value === null ? otherwise : String(value).replaceAll(/\B(?=(\d{3})+$)/g, "\u202f");
}
