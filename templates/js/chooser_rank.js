// The ranking of a choice, as scoring/choice.py computes it; that file and scoring/choice_errors.py state the formulas.

const Z = 1.959963984540054; // of a normal distribution, two-sided 95 %
const NEAR = 0.1; // runs cover a temperature that is within this share of it
const LEAST_BLOCKS = 30;

/** A choice of texts in three Sets, and the conditions of runs; an empty Set or null means any. */
export const choiceOf = ({ elements = [], classes = [], needs = [], temperature_k = null, length_ns = null }) => ({
  elements: new Set(elements),
  classes: new Set(classes),
  needs: new Set(needs),
  temperature: temperature_k,
  length: length_ns,
});

const within = (names, chosen) => !chosen.size || names.every((name) => chosen.has(name));
const sum = (values) => values.reduce((total, value) => total + value, 0);

const fits = (group, choice) => within(group.elements, choice.elements) && within(group.classes, choice.classes);

/** Whether a task runs at the temperature and for the time of a choice, if it states any. */
export function covers({ runs }, { temperature, length }) {
  if (temperature === null && length === null) return true;
  if (!runs || (length !== null && runs.length_ns < length)) return false;
  if (temperature === null) return true;
  const [low, high] = runs.temperatures_k ?? [Infinity, -Infinity];
  return low - NEAR * temperature <= temperature && temperature <= high + NEAR * temperature;
}

/** The columns of a task that a choice rests on. */
export function columnsOfChoice(task, choice) {
  return task.columns.filter(
    (column) =>
      covers(task, choice) &&
      (!choice.needs.size || column.needs.some((need) => choice.needs.has(need))) &&
      column.references.some(({ groups }) => groups.some((group) => fits(group, choice))),
  );
}

/** The number of independent items that a choice rests on. */
export function independentItems(tasks, choice) {
  const clusters = ({ groups, dependence }) => sum(groups.filter((group) => fits(group, choice)).map((group) => group.n_clusters)) / dependence;
  const total = sum(
    tasks.map((task) => {
      const counts = columnsOfChoice(task, choice).map(({ references }) => Math.max(...references.map(clusters)));
      return counts.length ? Math.min(...counts) : 0;
    }),
  );
  return Math.trunc(total);
}

/** The error of a model in a column; 1 if it has none. */
function errorOf(column, model, choice) {
  const sums = Object.hasOwn(column.models, model) ? column.models[model] : null;
  const reference = sums ? column.references[sums.reference] : { groups: [] };
  const { groups, factor, floor, dependence } = reference;
  const chosen = [...groups.keys()].filter((g) => fits(groups[g], choice));
  if (!chosen.length) return { value: 1, deviation: 0, n: 0, failed: 0, reference: null, influences: [] };
  const s = sum(chosen.map((g) => sums.errors[g]));
  const d = sum(chosen.map((g) => groups[g].trivial));
  const n = sum(chosen.map((g) => groups[g].n_items));
  const common = { deviation: 0, n, failed: sum(chosen.map((g) => sums.failed[g])), reference: sums.reference, influences: [] };
  if (!(d > 0)) return { ...common, value: s > 0 ? 1 : floor };
  const ratio = s / d;
  const error = factor * (column.root ? Math.sqrt(ratio) : ratio);
  if (!(floor < error && error < 1)) return { ...common, value: Math.max(Math.min(error, 1), floor) };
  const clusters = sum(chosen.map((g) => groups[g].n_clusters));
  if (clusters < 2) return { ...common, value: error, deviation: null };
  let residual = 0;
  for (const g of chosen) {
    const shift = (groups[g].trivial > 0 ? sums.errors[g] / groups[g].trivial : ratio) - ratio;
    residual += sums.spreads[g] + 2 * shift * sums.slopes[g] + shift * shift * groups[g].trivial_squares;
  }
  const slope = (error / ratio) * (column.root ? 0.5 : 1) * Math.sqrt(dependence);
  const deviation = (slope * Math.sqrt((Math.max(residual, 0) * clusters) / (clusters - 1))) / d;
  return { ...common, value: error, deviation, influences: influencesOf(sums, reference, new Set(chosen), ratio, slope / d, clusters) };
}

/** By how much each block of clusters moves the error; empty if there are too few blocks. */
function influencesOf(sums, { block_groups: groups, block_trivial: trivial }, chosen, ratio, scale, clusters) {
  const blocks = [...groups.keys()].filter((b) => chosen.has(groups[b]));
  if (blocks.length < Math.min(clusters, LEAST_BLOCKS)) return [];
  return blocks.map((b) => scale * (sums.block_errors[b] - ratio * trivial[b]));
}

/** The standard deviation of the difference of two errors in one column; null if that of one is not known. */
function differenceDeviation(one, other) {
  if (one.deviation === null || other.deviation === null) return null;
  const paired = one.influences.length && other.influences.length && one.reference === other.reference;
  if (!paired) return Math.sqrt(one.deviation * one.deviation + other.deviation * other.deviation);
  const m = one.influences.length;
  return Math.sqrt((sum(one.influences.map((each, b) => (each - other.influences[b]) ** 2)) * m) / (m - 1));
}

/** The deviation of a mean over tasks of a mean over columns; null if that of a column is not known. */
function deviationOf(tasks) {
  if (tasks.flat().includes(null)) return null;
  return Math.sqrt(sum(tasks.map((deviations) => (sum(deviations) / deviations.length) ** 2))) / tasks.length;
}

function scored(model, chosen, choice) {
  const errors = chosen.map((columns) => columns.map((column) => errorOf(column, model, choice)));
  const total = sum(errors.map((task) => sum(task.map(({ value }) => value)) / task.length));
  const measured = errors.filter((task) => task.some(({ reference }) => reference !== null)).length;
  return { model, score: total / Math.max(errors.length, 1), errors, measured };
}

function ranked({ model, score, errors, measured }, first) {
  const deviation = deviationOf(errors.map((task) => task.map((error) => error.deviation)));
  const difference = deviationOf(errors.map((task, t) => task.map((error, c) => differenceDeviation(error, first.errors[t][c]))));
  const largest = errors.map((task) => task.reduce((one, other) => (other.n > one.n ? other : one)));
  return {
    model,
    score,
    deviation,
    low: deviation === null ? null : Math.max(score - Z * deviation, 0),
    high: deviation === null ? null : Math.min(score + Z * deviation, 1),
    tied: difference === null ? null : score - first.score <= Z * difference,
    n_tasks: measured,
    n_items: sum(largest.map(({ n }) => n)),
    n_failed: sum(largest.map(({ failed }) => failed)),
  };
}

/** The models with errors in a task of the choice, best first; equal scores are ordered by the id of the model. */
export function rankingOfChoice(tasks, models, choice) {
  const chosen = tasks.map((task) => columnsOfChoice(task, choice)).filter((columns) => columns.length);
  const placed = models.map((model) => scored(model, chosen, choice)).filter(({ measured }) => measured);
  placed.sort((a, b) => a.score - b.score || (a.model < b.model ? -1 : Number(a.model > b.model)));
  return placed.map((model) => ranked(model, placed[0]));
}
