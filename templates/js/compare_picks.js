// Ticks beside the models, which the address keeps, and the way from them to the page that has these side by side.

import { MOST, queryFor } from "./compare_address.js";
import { setText } from "./element.js";
import { plain } from "./plain.js";
import { change, onChange, view } from "./view.js";

const FULL = `${MOST} models are ticked, which is the most: to tick another, clear one.`;

function tick({ id, name, version }) {
  const label = document.createElement("label");
  label.className = "pick";
  const box = document.createElement("input");
  box.type = "checkbox";
  box.addEventListener("change", () => change({ picks: [...view.picks.filter((of) => of !== id), ...(box.checked ? [id] : [])] }));
  const words = document.createElement("span");
  words.className = "unseen";
  words.textContent = `Compare ${plain(name)} ${plain(version)}`.trim();
  label.append(box, words);
  return { label, box };
}

/** Drops what an address asks for and nobody could tick: unknown models, and more than can be compared. */
function mend(boxes) {
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
  setText(words, isFull ? FULL : picks.length < 2 ? "Tick two to five models to compare them." : "");
}

/** Puts a tick beside each model of `rows`. */
export function offerPicks(rows) {
  const names = { words: "[data-picked]", link: "[data-compare-link]", clear: "[data-clear-picks]" };
  const parts = Object.fromEntries(Object.entries(names).map(([name, of]) => [name, document.querySelector(of)]));
  const boxes = new Map(rows.map(({ model }) => [model.id, tick(model)]));
  for (const { model, tr } of rows) tr.querySelector("th.model").prepend(boxes.get(model.id).label);
  parts.clear.addEventListener("click", () => {
    const first = view.picks.map((id) => boxes.get(id).box).find((box) => !box.closest("tr").hidden);
    change({ picks: [] });
    // The button is gone, and the focus with it; a row that a filter hides cannot have it.
    (first ?? document.querySelector("[data-view=search]")).focus({ preventScroll: true });
  });
  mend(boxes);
  onChange((_, changed) => changed.includes("picks") && show(boxes, parts));
  show(boxes, parts);
}
