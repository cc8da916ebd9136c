// The tree of a score with a weight at each number, and what a reader may set at its ends. Branches are made when they
// are opened: a tree may have hundreds of fields.

import { namesOf, pathKey } from "./paths.js";
import { element } from "./element.js";
import { digits, field, nameOf } from "./settings_field.js";
import { setNumbers, thresholdKey } from "./settings_leaves.js";
import { fields, MOST, wrong, wrongFactor } from "./settings_numbers.js";

const NAMED = 6; // parts that a closed branch names
const SLIDER = { type: "range", min: 0, max: 4, step: 0.1 };

function percent(share) {
  if (!(share > 0)) return "0 %";
  return share < 0.001 ? "< 0.1 %" : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}

/** A path as words, from the inside out: the same name may stand at many places. */
const said = (key) => namesOf(key).slice(1).toReversed().join(", ");

/** A list of the parts of a node; `of` is what all rows of a score share, see settings_score.js. */
export function partsList(of, node, key, depth) {
  const list = element("ul", { class: "settings-tree" });
  for (const part of node.parts) list.append(row(of, part, `${key}/${pathKey([part.name])}`, depth));
  return list;
}

function row(of, node, key, depth) {
  const item = element("li");
  const line = element("div", { class: "settings-row" });
  const share = element("span", { class: "settings-share" });
  const weight = weightField(of, node, key);
  line.append(nameOf(node.name, { class: "settings-name" }), weight.node);
  if (depth === 0) line.append(slider(of, node, key));
  line.append(share);
  item.append(line);
  of.rows.push(({ weights }, shares) => {
    weight.show(weights.get(key));
    share.textContent = percent(shares.get(key));
  });
  const leaf = of.leaves.at.get(key);
  if (leaf) item.append(numbersLine(of, leaf));
  if (node.parts?.length) item.append(branch(of, node, key, depth));
  return item;
}

function weightField(of, node, key) {
  return field({
    name: `weight of ${said(key)}`,
    before: "×",
    usual: 1,
    step: 0.1,
    least: 0,
    wants: wrongFactor,
    set: (factor) => of.setWeight(key, factor),
  });
}

/** The same weight to be drawn: of the first level alone, where it is wanted most. */
function slider(of, node, key) {
  const input = element("input", { class: "settings-slider" });
  Object.assign(input, SLIDER, { ariaLabel: `weight of ${said(key)}, 0 to 4` });
  input.addEventListener("input", () => of.setWeight(key, input.valueAsNumber === 1 ? undefined : input.valueAsNumber));
  of.rows.push(({ weights }) => {
    const factor = Math.min(weights.get(key) ?? 1, MOST);
    if (input.valueAsNumber !== factor) input.value = factor;
  });
  return input;
}

function numbersLine(of, leaf) {
  const line = element("div", { class: "settings-numbers" });
  for (const { name, label, about, unit } of fields[leaf.scale]) {
    const key = thresholdKey(leaf, name);
    const [low, high] = of.leaves.spread.get(key);
    const between = low === high ? "" : ` (${digits(low, 3)}\u2013${digits(high, 3)} by label set)`;
    const own = field({
      name: `${label}: ${about}, of ${leaf.metric} in ${leaf.task}`,
      before: label,
      after: `${unit(leaf)}${between}`.trim(),
      usual: leaf.numbers[name],
      wants: (value) => wrong(leaf.scale, name, value, setNumbers(leaf, of.thresholds())),
      set: (value) => of.setThreshold(key, value),
    });
    of.rows.push(({ thresholds }) => own.show(thresholds.get(key)));
    line.append(own.node);
  }
  return line;
}

function branch(of, node, key, depth) {
  const details = element("details");
  const summary = element("summary");
  const names = node.parts.slice(0, NAMED).map((part) => part.name);
  const more = node.parts.length > NAMED ? ` and ${node.parts.length - NAMED} more` : "";
  const tally = element("span", { class: "settings-count" });
  summary.append(element("span", { class: "unseen" }, `Parts of ${node.name}: `), nameOf(names.join(", ")), more, tally);
  details.append(summary);
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("ul")) return;
    details.append(partsList(of, node, key, depth + 1));
    of.show();
  });
  of.rows.push((settings) => {
    const n = of.changedBelow(key, settings);
    tally.textContent = n ? ` · ${n} changed` : "";
  });
  return details;
}
