// The leaves of a score over all its trees: models with other label sets have other numbers in them.

import { pathKey } from "./paths.js";
import { editable, numbersOf } from "./scales.js";
import { wrong, wrongFactor } from "./settings_numbers.js";
import { leavesOf, nodesOf } from "./tree_nodes.js";

const isSettable = (leaf) => leaf.scale in editable;

/** The key of a number that a reader can set. */
export const thresholdKey = (leaf, name) => pathKey([leaf.task, leaf.metric, name]);

const settable = new WeakMap(); // by score and by `first`: needed at every change

/**
 * The numbers in the leaves of a score that a reader can set.
 *
 * at: Map of path key to a leaf with such numbers; the tree with index `first` has priority.
 * spread: Map of threshold key to its smallest and largest value in any tree.
 */
export function settableLeaves(score, first = 0) {
  if (!settable.has(score)) settable.set(score, []);
  return (settable.get(score)[first] ??= findSettable(score, first));
}

function findSettable(score, first) {
  const [at, spread] = [new Map(), new Map()];
  const trees = [score.trees[first], ...score.trees.filter((_, i) => i !== first)];
  for (const tree of trees) {
    for (const { key, node } of leavesOf(tree, pathKey([score.key]))) {
      const { leaf } = node;
      if (!isSettable(leaf)) continue; // a failed task has another scale there
      const numbers = numbersOf(leaf);
      if (!at.has(key)) at.set(key, { ...leaf, numbers });
      for (const name of editable[leaf.scale]) widen(spread, thresholdKey(leaf, name), numbers[name]);
    }
  }
  return { at, spread };
}

function widen(spread, key, value) {
  const [low, high] = spread.get(key) ?? [value, value];
  spread.set(key, [Math.min(low, value), Math.max(high, value)]);
}

/** The numbers of a leaf with a reader's thresholds. */
export function setNumbers(leaf, thresholds) {
  const set = editable[leaf.scale].map((name) => [name, thresholds.get(thresholdKey(leaf, name))]);
  return { ...leaf.numbers, ...Object.fromEntries(set.filter(([, value]) => value !== undefined)) };
}

/** The keys of all weights and thresholds of the file. */
function knownKeys(file) {
  const known = { weights: new Set(), thresholds: new Set() };
  for (const score of file.schemes.flatMap((scheme) => scheme.scores)) {
    const top = pathKey([score.key]);
    const keys = score.trees.flatMap((tree) => [...nodesOf(tree, top)].map(({ key }) => key));
    for (const key of keys) if (key !== top) known.weights.add(key); // the top has no weight
    for (const key of settableLeaves(score).spread.keys()) known.thresholds.add(key);
  }
  return known;
}

/** The valid settings: an address may hold anything, and an old address refers to an old suite. */
export function validSettings(file, { weights, thresholds }) {
  const [invalid, known] = [new Set(), knownKeys(file)];
  for (const { scores } of file.schemes) {
    for (const leaf of scores.flatMap((score) => [...settableLeaves(score).at.values()])) {
      const set = setNumbers(leaf, thresholds);
      for (const name of editable[leaf.scale]) {
        const key = thresholdKey(leaf, name);
        if (thresholds.has(key) && wrong(leaf.scale, name, set[name], set)) invalid.add(key);
      }
    }
  }
  return {
    weights: new Map([...weights].filter(([key, factor]) => known.weights.has(key) && !wrongFactor(factor))),
    thresholds: new Map([...thresholds].filter(([key]) => known.thresholds.has(key) && !invalid.has(key))),
  };
}
