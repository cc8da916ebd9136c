// Scores of all models under a reader's weights and thresholds: scoring/evaluation.py, in the browser. No DOM.
// Models with the same tasks and labels share a tree: its arrays are made once, and each model has its own values.

import { combine, rounded } from "./combine.js";
import { flatten, withSettings } from "./flat_tree.js";
import { read } from "./scales.js";

const nothing = new Map();
const prepared = new WeakMap(); // key: a score of the file

/** The values of a model at the leaves of its tree: NaN if there is none. */
function readModel(id, values) {
  const n = values.leaves.length;
  const [raw, divisors, present] = [new Float64Array(n), new Float64Array(n).fill(1), new Uint8Array(n).fill(1)];
  for (let k = 0; k < n; k++) raw[k] = values.leaves[k] === null ? NaN : read(values.leaves[k]);
  for (const leaf in values.divisors) divisors[leaf] = values.divisors[leaf];
  for (const leaf of values.left_out ?? []) present[leaf] = 0;
  return { id, tree: values.tree, raw, divisors, present, leavesOut: Boolean(values.left_out?.length) };
}

/** The trees of a score as arrays, and the numbers of its models. */
function prepare(score) {
  if (!prepared.has(score)) {
    const trees = score.trees.map((tree) => flatten(tree, score.key));
    const models = Object.entries(score.models).map(([id, values]) => readModel(id, values));
    prepared.set(score, { trees, models });
  }
  return prepared.get(score);
}

/** Arrays that are reused for each model: effective weights, and the share of each node in the node above. */
const buffer = { weights: new Float64Array(0), shares: new Float64Array(0) };

/** The values of all nodes of a model's tree; `worst`: leaves that were left out count as absent. */
function evaluate({ flat, weights, formulas }, model, worst) {
  const n = flat.nodes.length;
  if (buffer.weights.length < n) Object.assign(buffer, { weights: new Float64Array(n), shares: new Float64Array(n) });
  const values = new Float64Array(n);
  buffer.weights.set(weights);
  for (let k = 0; k < formulas.length; k++) {
    const raw = model.raw[k];
    const node = flat.leafNodes[k];
    values[node] = raw === raw ? formulas[k](raw, model.divisors[k]) : NaN; // only NaN is not itself
    if (model.present[k] === 0 && !worst) buffer.weights[node] = 0;
  }
  for (const i of flat.branches) values[i] = combineParts(flat, i, values);
  return values;
}

function combineParts(flat, i, values) {
  const parts = flat.parts[i];
  const mean = combine(parts, values, buffer.weights, buffer.shares, flat.how[i], flat.absent[i], flat.leavesOut[i]);
  // A node without any weighted part takes no part: it is neither missing nor measured.
  if (!anyWeight(parts)) buffer.weights[i] = 0;
  return flat.decimals[i] === null ? mean : rounded(mean, flat.decimals[i]);
}

function anyWeight(parts) {
  for (let k = 0; k < parts.length; k++) if (buffer.weights[parts[k]] > 0) return true;
  return false;
}

const known = (value) => (Number.isNaN(value) ? null : value);

function evaluateScore(score, { weights = nothing, thresholds = nothing }) {
  const { trees, models } = prepare(score);
  const set = trees.map((flat) => withSettings(flat, weights, thresholds));
  const evaluated = new Map();
  for (const model of models) {
    const tree = set[model.tree];
    const worst = model.leavesOut ? evaluate(tree, model, true)[0] : NaN;
    evaluated.set(model.id, { tree, model, values: evaluate(tree, model, false), worst: known(worst) });
  }
  return evaluated;
}

/** The share of each node in the whole score. */
function sharesOfWhole(tree, model) {
  buffer.shares.fill(0);
  evaluate(tree, model, false);
  const { keys, parts } = tree.flat;
  const whole = buffer.shares.slice(0, keys.length);
  whole[0] = 1;
  for (let i = 0; i < keys.length; i++) for (const part of parts[i]) whole[part] *= whole[i];
  return new Map(keys.map((key, i) => [key, whole[i]]));
}

/** The share of each node in a score of one model under settings, by path key. */
export function sharesIn(score, id, { weights = nothing, thresholds = nothing } = {}) {
  const { trees, models } = prepare(score);
  const model = models.find((candidate) => candidate.id === id);
  return model ? sharesOfWhole(withSettings(trees[model.tree], weights, thresholds), model) : new Map();
}

/**
 * The scores of a scheme of `leaderboard.json` under settings: `weights` are factors by path key, `thresholds` numbers
 * by key of task, metric and number.
 *
 * scores: Map of model to Map of score to number; null if there is none.
 * worst(model, score): the score if leaves that were left out counted as missing; null if none was left out.
 * node(model, score, key): one number of a score; nodes(model, score): all of them, a Map by path key.
 * shares(model, score): the share of each in the whole, a Map by path key.
 */
export function evaluateScheme(scheme, settings = {}) {
  const byScore = new Map(scheme.scores.map((score) => [score.key, evaluateScore(score, settings)]));
  const scores = new Map();
  for (const score of scheme.scores) {
    for (const [id, { values }] of byScore.get(score.key)) {
      if (!scores.has(id)) scores.set(id, new Map());
      scores.get(id).set(score.key, known(values[0]) ?? score.nothing ?? null);
    }
  }
  const evaluated = (model, score) => byScore.get(score)?.get(model);
  return {
    scores,
    worst: (model, score) => evaluated(model, score)?.worst ?? null,
    node(model, score, key) {
      const entry = evaluated(model, score);
      const i = entry?.tree.flat.index.get(key);
      return i === undefined ? null : known(entry.values[i]);
    },
    nodes(model, score) {
      const entry = evaluated(model, score);
      return new Map(entry?.tree.flat.keys.map((key, i) => [key, known(entry.values[i])]));
    },
    shares(model, score) {
      const entry = evaluated(model, score);
      return entry ? sharesOfWhole(entry.tree, entry.model) : new Map();
    },
  };
}
