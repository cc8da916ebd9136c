// The tree of a score with a weight for each node, and the numbers of leaves that a reader can set. A branch is made when
// it is opened, since a tree may have hundreds of fields.

import { namesOf, pathKey } from "./paths.js";
import { element } from "./element.js";
import { digits, field, nameOf } from "./settings_field.js";
import { setNumbers, thresholdKey } from "./settings_leaves.js";
import { fields, MOST, wrong, wrongFactor } from "./settings_numbers.js";
import { titleOf } from "./titles.js";

const NAMED = 6; // parts that a closed branch names
const SLIDER = { type: "range", min: 0, max: 4, step: 0.1 };

function percent(share) {
  if (!(share > 0)) return "0 %";
  return share < 0.001 ? "< 0.1 %" : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}

/** A path as words, from the leaf to the top: one name may be at many places. */
const words = (key) => namesOf(key).slice(1).toReversed().map(titleOf).join(", ");

/** A list of the parts of a node; `shared` is the state of all rows of a score, see settings_score.js. */
export function partsList(shared, node, key, depth) {
  const list = element("ul", { class: "settings-tree" });
  for (const part of node.parts) list.append(row(shared, part, `${key}/${pathKey([part.name])}`, depth));
  return list;
}

function row(shared, node, key, depth) {
  const item = element("li");
  const line = element("div", { class: "settings-row" });
  const share = element("span", { class: "settings-share" });
  const weight = weightField(shared, node, key);
  line.append(nameOf(titleOf(node.name), { class: "settings-name" }), weight.node);
  if (depth === 0) line.append(slider(shared, node, key));
  line.append(share);
  item.append(line);
  shared.rows.push(({ weights }, shares) => {
    weight.show(weights.get(key));
    share.textContent = percent(shares.get(key));
  });
  const leaf = shared.leaves.at.get(key);
  if (leaf) item.append(numbersLine(shared, leaf));
  if (node.parts?.length) item.append(branch(shared, node, key, depth));
  return item;
}

function weightField(shared, node, key) {
  return field({
    name: `weight of ${words(key)}`,
    before: "×",
    usual: 1,
    step: 0.1,
    least: 0,
    wants: wrongFactor,
    set: (factor) => shared.setWeight(key, factor),
  });
}

/** A slider for the same weight, at the first level only. */
function slider(shared, node, key) {
  const input = element("input", { class: "settings-slider" });
  Object.assign(input, SLIDER, { ariaLabel: `weight of ${words(key)}, 0 to 4` });
  input.addEventListener("input", () => shared.setWeight(key, input.valueAsNumber === 1 ? undefined : input.valueAsNumber));
  shared.rows.push(({ weights }) => {
    const factor = Math.min(weights.get(key) ?? 1, MOST);
    if (input.valueAsNumber !== factor) input.value = factor;
  });
  return input;
}

function numbersLine(shared, leaf) {
  const line = element("div", { class: "settings-numbers" });
  for (const { name, label, about, unit } of fields[leaf.scale]) {
    const key = thresholdKey(leaf, name);
    const [low, high] = shared.leaves.spread.get(key);
    const between = low === high ? "" : ` (${digits(low, 3)}\u2013${digits(high, 3)} by label set)`;
    const input = field({
      name: `${label}: ${about}, of ${leaf.metric} in ${titleOf(leaf.task)}`,
      before: label,
      after: `${unit(leaf)}${between}`.trim(),
      usual: leaf.numbers[name],
      wants: (value) => wrong(leaf.scale, name, value, setNumbers(leaf, shared.thresholds())),
      set: (value) => shared.setThreshold(key, value),
    });
    shared.rows.push(({ thresholds }) => input.show(thresholds.get(key)));
    line.append(input.node);
  }
  return line;
}

function branch(shared, node, key, depth) {
  const details = element("details");
  const summary = element("summary");
  const names = node.parts.slice(0, NAMED).map((part) => titleOf(part.name));
  const more = node.parts.length > NAMED ? ` and ${node.parts.length - NAMED} more` : "";
  const tally = element("span", { class: "settings-count" });
  summary.append(element("span", { class: "unseen" }, `Parts of ${titleOf(node.name)}: `), nameOf(names.join(", ")), more, tally);
  details.append(summary);
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("ul")) return;
    details.append(partsList(shared, node, key, depth + 1));
    shared.show();
  });
  shared.rows.push((settings) => {
    const n = shared.changedBelow(key, settings);
    tally.textContent = n ? ` · ${n} changed` : "";
  });
  return details;
}
