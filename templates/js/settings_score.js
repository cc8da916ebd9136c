// One score of the panel: its tree as the best model has it, and what is set in it.

import { pathKey } from "./paths.js";
import { sharesIn } from "./evaluate.js";
import { element } from "./element.js";
import { settableLeaves, thresholdKey } from "./settings_leaves.js";
import { partsList } from "./settings_tree.js";
import { editable } from "./scales.js";

/** The best model of those that cover most, and no reference row: its tree has what the scheme asks for. */
function bestModel(score, references) {
  const sign = score.lower_is_better ? 1 : -1;
  const cost = ({ score: value }) => (value === null ? Infinity : sign * value);
  const submitted = Object.entries(score.models).filter(([id]) => !references.has(id));
  const models = submitted.length ? submitted : Object.entries(score.models);
  models.sort(([, a], [, b]) => (b.covered ?? 0) - (a.covered ?? 0) || Math.sign(cost(a) - cost(b)) || 0);
  return models[0];
}

/** Keys of the numbers at the ends below a path. */
function numbersBelow(leaves, key) {
  const below = [...leaves.at].filter(([path]) => path === key || path.startsWith(`${key}/`));
  return new Set(below.flatMap(([, leaf]) => editable[leaf.scale].map((name) => thresholdKey(leaf, name))));
}

/** How many settings lie below a path. */
function countBelow(leaves, key, { weights, thresholds }) {
  const own = [...weights.keys()].filter((path) => path.startsWith(`${key}/`)).length;
  if (!thresholds.size) return own;
  const numbers = numbersBelow(leaves, key);
  return own + [...thresholds.keys()].filter((name) => numbers.has(name)).length;
}

/**
 * The panel of a score: {node, show(settings)}.
 *
 * ranks: whether models are ranked by it. settings() are those of now, put(part) takes new ones.
 */
export function scorePanel(score, { ranks, references, settings, put }) {
  const [id, own] = bestModel(score, references);
  const tree = score.trees[own.tree];
  const top = pathKey([score.key]);
  const leaves = settableLeaves(score, own.tree);
  const of = {
    rows: [],
    leaves,
    thresholds: () => settings().thresholds,
    setWeight: (key, factor) => put({ weights: changed(settings().weights, key, factor) }),
    setThreshold: (key, value) => put({ thresholds: changed(settings().thresholds, key, value) }),
    changedBelow: (key, now) => countBelow(leaves, key, now),
    show: () => show(settings()),
  };
  const node = element("details", { class: "settings-score" });
  const summary = element("summary", {}, score.label);
  const tally = element("span", { class: "settings-count" });
  summary.append(element("span", { class: "aside" }, ranks ? " · models are ranked by it" : ""), tally);
  node.append(summary);

  const show = (now) => {
    const n = countBelow(leaves, top, now);
    tally.textContent = n ? ` · ${n} changed` : "";
    if (!of.rows.length) return;
    const shares = sharesIn(score, id, now);
    for (const showRow of of.rows) showRow(now, shares);
  };
  node.addEventListener("toggle", () => {
    if (!node.open || of.rows.length) return;
    node.append(partsList(of, tree, top, 0));
    show(settings());
  });
  return { node, show };
}

/** The Map with a value in place of the one that it has; undefined: without it. */
function changed(map, key, value) {
  const next = new Map(map);
  if (value === undefined) next.delete(key);
  else next.set(key, value);
  return next;
}
