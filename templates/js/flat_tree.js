// A tree of a score as arrays, from the top down: each node before its parts. Made once for each tree.

import { pathKey } from "./paths.js";
import { editable, formula, numbersOf, read } from "./scales.js";
import { nodesOf } from "./tree_nodes.js";

/** The leaf as it is evaluated; `settable` has the numbers that a reader may set, each with its key. */
function flatLeaf(leaf) {
  const numbers = numbersOf(leaf);
  const settable = (editable[leaf.scale] ?? []).map((name) => [name, pathKey([leaf.task, leaf.metric, name])]);
  return { ...leaf, numbers, settable, formula: formula(leaf.scale, numbers) };
}

/** What a missing part counts; NaN: the node then has no value. If missing parts are left out, `leavesOut` is true. */
const absentOf = (absent) => (absent === undefined || absent === "none" ? NaN : read(absent));

/** The tree of a score as arrays by the index of a node; `index` has them by path key. */
export function flatten(tree, score) {
  const walked = [...nodesOf(tree, pathKey([score]))];
  const [nodes, keys] = [walked.map(({ node }) => node), walked.map(({ key }) => key)];
  const at = new Map(nodes.map((node, i) => [node, i]));
  const flat = {
    keys,
    nodes,
    index: new Map(keys.map((key, i) => [key, i])),
    weights: new Float64Array(nodes.map((node) => node.weight ?? 1)),
    absent: nodes.map((node) => absentOf(node.absent)),
    leavesOut: nodes.map((node) => node.absent === undefined),
    how: nodes.map((node) => node.how ?? "mean"),
    decimals: nodes.map((node) => node.decimals ?? null),
    parts: nodes.map((node) => (node.parts ?? []).map((part) => at.get(part))),
    leaves: nodes.filter((node) => node.leaf).map((node) => flatLeaf(node.leaf)),
  };
  flat.leafNodes = [...nodes.keys()].filter((i) => nodes[i].leaf);
  flat.branches = [...nodes.keys()].filter((i) => !nodes[i].leaf).reverse();
  return flat;
}

/** The formula of a leaf with the numbers that a reader set; numbers that its scale does not have are ignored. */
function setLeaf(leaf, thresholds) {
  const set = leaf.settable.filter(([, key]) => thresholds.has(key)).map(([name, key]) => [name, thresholds.get(key)]);
  return set.length ? formula(leaf.scale, { ...leaf.numbers, ...Object.fromEntries(set) }) : leaf.formula;
}

/** Weights and formulas of a flat tree under a reader's settings, as with_settings in tests/world/reader_settings.py. */
export function withSettings(flat, factors, thresholds) {
  const weights = flat.weights.slice();
  for (const [key, factor] of factors) {
    const i = flat.index.get(key);
    if (i > 0) weights[i] *= factor; // the top, 0, has no weight
  }
  const formulas = flat.leaves.map((leaf) => (thresholds.size ? setLeaf(leaf, thresholds) : leaf.formula));
  return { flat, weights, formulas };
}
