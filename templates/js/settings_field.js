// A field for one number that a reader can set, with a message for a wrong value and a reset button.

import { element } from "./element.js";

let made = 0;

/** A name from a suite; its text direction does not affect other text. */
export const nameOf = (text, attributes = {}) => element("bdi", attributes, text);

/** The number with `n` significant digits; empty if it is not finite. */
export const digits = (value, n = 4) => (Number.isFinite(value) ? String(Number(value.toPrecision(n))) : "");

function read(input, usual) {
  if (input.value.trim() === "" && !input.validity.badInput && usual === Infinity) return Infinity;
  return input.valueAsNumber; // NaN if it is not a number
}

/**
 * A field with the accessible name `name`; the texts `before` and `after` are around the input.
 *
 * usual: the default; Infinity means no value, shown as an empty field.
 * wants(value): a message if the value is wrong, else empty. set(value): sets it; undefined: the default.
 * Returns {node, input, show(value)}; show(undefined) shows the default.
 */
export function field({ name, before, after = "", usual, step = "any", least = "", wants, set }) {
  const node = element("span", { class: "settings-field" });
  const label = element("label");
  const input = element("input");
  Object.assign(input, { type: "number", step, min: least, ariaLabel: name, inputMode: "decimal" });
  input.placeholder = usual === Infinity ? "none" : "";
  const words = element("span", { class: "settings-wrong" });
  words.id = `settings-${(made += 1)}`;
  words.setAttribute("aria-live", "polite");
  const undo = element("button", { class: "settings-undo" }, "reset");
  Object.assign(undo, { type: "button", hidden: true, ariaLabel: `reset ${name}` });
  label.append(element("span", {}, before), input, element("span", { class: "settings-unit" }, after));
  node.append(label, undo, words);

  const say = (sentence) => {
    words.textContent = sentence;
    if (sentence) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    if (sentence) input.setAttribute("aria-describedby", words.id);
    else input.removeAttribute("aria-describedby");
  };
  const show = (value) => {
    node.classList.toggle("changed", value !== undefined);
    undo.hidden = value === undefined;
    say("");
    const typed = document.activeElement === input && read(input, usual) === (value ?? usual); // "1." may become 1.5
    if (!typed) input.value = value === undefined ? digits(usual) : String(value);
  };
  input.addEventListener("input", () => {
    const value = read(input, usual);
    const sentence = value === usual ? "" : wants(value);
    say(sentence);
    if (!sentence) set(value === usual ? undefined : value);
  });
  undo.addEventListener("click", () => {
    input.focus();
    set(undefined);
  });
  show(undefined);
  return { node, input, show };
}
