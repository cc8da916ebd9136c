// Ticks beside the models, and the way from them to the page that has these side by side.

import { plain } from "./plain.js";

const MOST = 5;

function tick(model) {
  const label = document.createElement("label");
  label.className = "pick";
  const box = document.createElement("input");
  box.type = "checkbox";
  const words = document.createElement("span");
  words.className = "unseen";
  words.textContent = `Compare ${plain(model.name)} ${plain(model.version)}`.trim();
  label.append(box, words);
  return { label, box };
}

function say(link, words, picked) {
  const ids = [...picked];
  link.hidden = ids.length < 2;
  link.href = `compare.html?ids=${ids.map(encodeURIComponent).join(",")}`;
  link.textContent = `Compare ${ids.length} models`;
  const full = ids.length === MOST ? `${MOST} models are ticked, which is the most.` : "";
  words.textContent = ids.length < 2 ? "Tick two to five models to compare them." : full;
}

/** Puts a tick beside each model of `rows`. */
export function offerPicks(rows) {
  const [link, words] = [document.querySelector("[data-compare-link]"), document.querySelector("[data-picked]")];
  const picked = new Set();
  const boxes = new Map();
  for (const { model, tr } of rows) {
    const { label, box } = tick(model);
    boxes.set(model.id, box);
    tr.querySelector("th.model").prepend(label);
    box.addEventListener("change", () => {
      if (box.checked) picked.add(model.id);
      else picked.delete(model.id);
      for (const [id, other] of boxes) other.disabled = picked.size >= MOST && !picked.has(id);
      say(link, words, picked);
    });
  }
}
