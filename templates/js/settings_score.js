// One score of the panel: the tree of the best model, with the settings of a reader.

import { pathKey } from "./paths.js";
import { sharesIn } from "./evaluate.js";
import { element } from "./element.js";
import { settableLeaves, thresholdKey } from "./settings_leaves.js";
import { partsList } from "./settings_tree.js";
import { editable } from "./scales.js";

/** The best of the submitted models with the most complete score: its tree has all parts of the scheme. */
function bestModel(score, references) {
  const sign = score.lower_is_better ? 1 : -1;
  const cost = ({ score: value }) => (value === null ? Infinity : sign * value);
  const submitted = Object.entries(score.models).filter(([id]) => !references.has(id));
  const models = submitted.length ? submitted : Object.entries(score.models);
  models.sort(([, a], [, b]) => (b.covered ?? 0) - (a.covered ?? 0) || Math.sign(cost(a) - cost(b)) || 0);
  return models[0];
}

/** Keys of the numbers in the leaves below a path. */
function numbersBelow(leaves, key) {
  const below = [...leaves.at].filter(([path]) => path === key || path.startsWith(`${key}/`));
  return new Set(below.flatMap(([, leaf]) => editable[leaf.scale].map((name) => thresholdKey(leaf, name))));
}

/** The number of settings below a path. */
function countBelow(leaves, key, { weights, thresholds }) {
  const n = [...weights.keys()].filter((path) => path.startsWith(`${key}/`)).length;
  if (!thresholds.size) return n;
  const numbers = numbersBelow(leaves, key);
  return n + [...thresholds.keys()].filter((name) => numbers.has(name)).length;
}

/**
 * The panel of a score: {node, show(settings)}.
 *
 * ranks: whether the score determines the rank. settings(): the current settings. put(part): sets new ones.
 */
export function scorePanel(score, { ranks, references, settings, put }) {
  const [id, { tree: index }] = bestModel(score, references);
  const tree = score.trees[index];
  const top = pathKey([score.key]);
  const leaves = settableLeaves(score, index);
  const shared = {
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
  summary.append(element("span", { class: "aside" }, ranks ? " · determines the rank" : ""), tally);
  node.append(summary);

  const show = (now) => {
    const n = countBelow(leaves, top, now);
    tally.textContent = n ? ` · ${n} changed` : "";
    if (!shared.rows.length) return;
    const shares = sharesIn(score, id, now);
    for (const showRow of shared.rows) showRow(now, shares);
  };
  node.addEventListener("toggle", () => {
    if (!node.open || shared.rows.length) return;
    node.append(partsList(shared, tree, top, 0));
    show(settings());
  });
  return { node, show };
}

/** A copy of the Map with this value for a key; undefined removes the key. */
function changed(map, key, value) {
  const next = new Map(map);
  if (value === undefined) next.delete(key);
  else next.set(key, value);
  return next;
}
