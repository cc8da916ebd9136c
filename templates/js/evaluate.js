// Scores of all models under a reader's weights and thresholds: scoring/evaluation.py, in the browser. No DOM.
// Models that are asked the same share a tree: its arrays are made once, and each model has its own numbers in them.

import { combine, rounded } from "./combine.js";
import { flatten, withSettings } from "./flat_tree.js";
import { read } from "./scales.js";

const nothing = new Map();
const prepared = new WeakMap(); // by score of the file

/** What a model has at the leaves of its tree: NaN where it has nothing. */
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

/** Room that is used again for each model: weights that count, and the share of each node in the one above. */
const room = { weights: new Float64Array(0), shares: new Float64Array(0) };

/** The values of all nodes of a model's tree; `worst`: what was left out counts as absent. Shares are in the room. */
function evaluate({ flat, weights, formulas }, model, worst) {
  const n = flat.nodes.length;
  if (room.weights.length < n) Object.assign(room, { weights: new Float64Array(n), shares: new Float64Array(n) });
  const values = new Float64Array(n);
  room.weights.set(weights);
  for (let k = 0; k < formulas.length; k++) {
    const raw = model.raw[k];
    const node = flat.leafNodes[k];
    values[node] = raw === raw ? formulas[k](raw, model.divisors[k]) : NaN; // only NaN is not itself
    if (model.present[k] === 0 && !worst) room.weights[node] = 0;
  }
  for (const i of flat.branches) values[i] = combineParts(flat, i, values);
  return values;
}

function combineParts(flat, i, values) {
  const parts = flat.parts[i];
  const mean = combine(parts, values, room.weights, room.shares, flat.how[i], flat.absent[i], flat.leavesOut[i]);
  // Where no part has a weight there is nothing of the node: it is neither missing nor measured.
  if (!anyWeight(parts)) room.weights[i] = 0;
  return flat.decimals[i] === null ? mean : rounded(mean, flat.decimals[i]);
}

function anyWeight(parts) {
  for (let k = 0; k < parts.length; k++) if (room.weights[parts[k]] > 0) return true;
  return false;
}

const known = (value) => (Number.isNaN(value) ? null : value);

function evaluateScore(score, { weights = nothing, thresholds = nothing }) {
  const { trees, models } = prepare(score);
  const set = trees.map((flat) => withSettings(flat, weights, thresholds));
  const found = new Map();
  for (const model of models) {
    const own = set[model.tree];
    const worst = model.leavesOut ? evaluate(own, model, true)[0] : NaN;
    found.set(model.id, { set: own, model, values: evaluate(own, model, false), worst: known(worst) });
  }
  return found;
}

/** The share of each node in the whole score. */
function sharesOfWhole(set, model) {
  room.shares.fill(0);
  evaluate(set, model, false);
  const { keys, parts } = set.flat;
  const whole = room.shares.slice(0, keys.length);
  whole[0] = 1;
  for (let i = 0; i < keys.length; i++) for (const part of parts[i]) whole[part] *= whole[i];
  return new Map(keys.map((key, i) => [key, whole[i]]));
}

/** The share of each node in a score of one model under settings, by path key. */
export function sharesIn(score, id, { weights = nothing, thresholds = nothing } = {}) {
  const { trees, models } = prepare(score);
  const model = models.find((one) => one.id === id);
  return model ? sharesOfWhole(withSettings(trees[model.tree], weights, thresholds), model) : new Map();
}

/**
 * The scores of a scheme of `leaderboard.json` under settings: `weights` are factors by path key, `thresholds` numbers
 * by key of task, metric and number.
 *
 * scores: Map of model to Map of score to number, null where there is none.
 * worst(model, score): the score, if what was left out counted as missing; null where nothing was left out.
 * node(model, score, key): one number of a score; nodes(model, score): all of them, a Map by path key.
 * shares(model, score): the share of each in the whole, a Map by path key.
 */
export function evaluateScheme(scheme, settings = {}) {
  const found = new Map(scheme.scores.map((score) => [score.key, evaluateScore(score, settings)]));
  const scores = new Map();
  for (const score of scheme.scores) {
    for (const [id, { values }] of found.get(score.key)) {
      if (!scores.has(id)) scores.set(id, new Map());
      scores.get(id).set(score.key, known(values[0]) ?? score.nothing ?? null);
    }
  }
  const of = (model, score) => found.get(score)?.get(model);
  return {
    scores,
    worst: (model, score) => of(model, score)?.worst ?? null,
    node(model, score, key) {
      const own = of(model, score);
      const i = own?.set.flat.index.get(key);
      return i === undefined ? null : known(own.values[i]);
    },
    nodes(model, score) {
      const own = of(model, score);
      return new Map(own?.set.flat.keys.map((key, i) => [key, known(own.values[i])]));
    },
    shares(model, score) {
      const own = of(model, score);
      return own ? sharesOfWhole(own.set, own.model) : new Map();
    },
  };
}
