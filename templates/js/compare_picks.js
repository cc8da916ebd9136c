// Check boxes beside the models; the address keeps them, and a link leads to the comparison of the selected models.

import { MOST, queryFor } from "./compare_address.js";
import { setText } from "./element.js";
import { plain } from "./plain.js";
import { change, onChange, view } from "./view.js";

const FULL = `${MOST} models are selected, which is the maximum. To select another, clear one.`;

function tick({ id, name, version }) {
  const label = document.createElement("label");
  label.className = "pick";
  const box = document.createElement("input");
  box.type = "checkbox";
  box.addEventListener("change", () => change({ picks: [...view.picks.filter((other) => other !== id), ...(box.checked ? [id] : [])] }));
  const words = document.createElement("span");
  words.className = "unseen";
  words.textContent = `Compare ${plain(name)} ${plain(version)}`.trim();
  label.append(box, words);
  return { label, box };
}

/** Drops unknown models of the address, and models beyond the maximum. */
function dropInvalid(boxes) {
  const picks = view.picks.filter((id) => boxes.has(id)).slice(0, MOST);
  if (picks.length < view.picks.length) change({ picks });
}

function show(boxes, { words, link, clear }) {
  const { picks } = view;
  const isFull = picks.length === MOST;
  for (const [id, { box, label }] of boxes) {
    box.checked = picks.includes(id);
    box.disabled = isFull && !box.checked;
    label.title = box.disabled ? FULL : "";
  }
  link.hidden = picks.length < 2;
  link.href = `compare.html${queryFor(picks)}`;
  link.textContent = `Compare ${picks.length} models`;
  clear.hidden = picks.length === 0;
  setText(words, isFull ? FULL : picks.length < 2 ? "Select two to five models to compare them." : "");
}

/** Adds a check box to each model of `rows`. */
export function offerPicks(rows) {
  const names = { words: "[data-picked]", link: "[data-compare-link]", clear: "[data-clear-picks]" };
  const parts = Object.fromEntries(Object.entries(names).map(([name, selector]) => [name, document.querySelector(selector)]));
  const boxes = new Map(rows.map(({ model }) => [model.id, tick(model)]));
  for (const { model, tr } of rows) tr.querySelector("th.model").prepend(boxes.get(model.id).label);
  parts.clear.addEventListener("click", () => {
    const first = view.picks.map((id) => boxes.get(id).box).find((box) => !box.closest("tr").hidden);
    change({ picks: [] });
    // The button with the focus is hidden now; a hidden row cannot have the focus.
    (first ?? document.querySelector("[data-view=search]")).focus({ preventScroll: true });
  });
  dropInvalid(boxes);
  onChange((_, changed) => changed.includes("picks") && show(boxes, parts));
  show(boxes, parts);
}
