// Numbers as text, as in judge/view/formatting.py.

import { SCORES } from "./scores.js";

export const NONE = "–";

const SUPERSCRIPT = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const PREFIXED = { "eV/atom": "meV/atom", "eV/Å": "meV/Å", eV: "meV" };

const minus = (text) => text.replaceAll("-", "−");

/** The value with a fixed number of decimals; a dash for null. */
export function decimals(value, places = 3) {
  return value === null || !Number.isFinite(value) ? number(value) : minus(toEven(value, places).toFixed(places));
}

/** The value; halfway between two texts, which only odd multiples of a power of 1/2 are, the even one of the two. */
function toEven(value, places) {
  const halves = Math.abs(value) * 2 ** (places + 1);
  if (!Number.isInteger(halves) || halves % 2 === 0) return value;
  const low = Math.floor(value * 10 ** places);
  return (low % 2 === 0 ? low : low + 1) / 10 ** places;
}

const EXACT = 60; // so many digits show every number that is halfway between two texts

/** Mantissa and power of ten; halfway between two texts that with the even digit, as in Python. */
function exponential(value, digits) {
  const [exact, power] = value.toExponential(EXACT).split("e");
  const rest = exact.slice(digits - EXACT - 1); // of EXACT + 1 digits
  const kept = exact.slice(0, -rest.length).replace(/\.$/, "");
  const isEven = "02468".includes(kept.at(-1));
  return /^\.?50*$/.test(rest) && isEven ? [kept, power] : value.toExponential(digits - 1).split("e");
}

/** The value with significant digits: 0.0213, 1 250, 4.90 × 10⁻⁵; a dash for null. */
export function number(value, digits = 3) {
  if (value === null || Number.isNaN(value)) return NONE;
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const [mantissa, power] = exponential(value, digits);
  const exponent = Number(power);
  if (exponent <= -4 || exponent >= 6) {
    return minus(`${mantissa}\u00a0×\u00a010${[...String(exponent)].map((sign) => SUPERSCRIPT[sign]).join("")}`);
  }
  return minus(thousands(Number(`${mantissa}e${power}`).toFixed(Math.max(0, digits - 1 - exponent))));
}

function thousands(text) {
  const [whole, rest] = text.split(".");
  const spaced = whole.replaceAll(/\B(?=(\d{3})+$)/g, "\u202f");
  return rest === undefined ? spaced : `${spaced}.${rest}`;
}

/** A value of a score as judge/view/columns.py `score_text`: an efficiency has two digits. */
export const scoreText = (key, value) => (SCORES[key]?.from_times ? number(value, 2) : decimals(value));

/** A number of parameters: 412 k, 3.41 M. */
export function parameters(count) {
  if (count === null) return NONE;
  if (count >= 1e6) return `${number(count / 1e6)}\u00a0M`;
  return count >= 1e3 ? `${number(count / 1e3)}\u00a0k` : String(count);
}

/** The unit in which a stored unit is shown: energies in meV. */
export const shownUnit = (unit) => PREFIXED[unit] ?? unit;

/** A stored value in its `shownUnit`. */
export const shownValue = (value, unit) => (value !== null && unit in PREFIXED ? value * 1000 : value);
