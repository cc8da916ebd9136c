// The ranking of a choice, as scoring/choice.py computes it; that file states the formulas.

const Z = 1.959963984540054; // of a normal distribution, two-sided 95 %

/** A choice of texts in three Sets; an empty one means any. */
export const choiceOf = ({ elements = [], classes = [], needs = [] }) => ({
  elements: new Set(elements),
  classes: new Set(classes),
  needs: new Set(needs),
});

const within = (names, chosen) => !chosen.size || names.every((name) => chosen.has(name));
const sum = (values) => values.reduce((total, value) => total + value, 0);

const fits = (group, choice) => within(group.elements, choice.elements) && within(group.classes, choice.classes);

/** The columns of a task that a choice rests on. */
export function columnsOfChoice(task, choice) {
  return task.columns.filter(
    (column) =>
      (!choice.needs.size || column.needs.some((need) => choice.needs.has(need))) &&
      column.references.some(({ groups }) => groups.some((group) => fits(group, choice))),
  );
}

/** The number of clusters of correlated items that a choice rests on. */
export function independentItems(tasks, choice) {
  const clusters = ({ groups }) => sum(groups.filter((group) => fits(group, choice)).map((group) => group.n_clusters));
  return sum(
    tasks.map((task) => {
      const counts = columnsOfChoice(task, choice).map(({ references }) => Math.max(...references.map(clusters)));
      return counts.length ? Math.min(...counts) : 0;
    }),
  );
}

/** The error of a model in a column; 1 if it has none. */
function errorOf(column, model, choice) {
  const sums = Object.hasOwn(column.models, model) ? column.models[model] : null;
  const { groups, factor, floor } = sums ? column.references[sums.reference] : { groups: [] };
  const chosen = [...groups.keys()].filter((g) => fits(groups[g], choice));
  if (!chosen.length) return { value: 1, deviation: 0, n: 0, failed: 0, measured: false };
  const s = sum(chosen.map((g) => sums.errors[g]));
  const d = sum(chosen.map((g) => groups[g].trivial));
  const counts = { n: sum(chosen.map((g) => groups[g].n_items)), failed: sum(chosen.map((g) => sums.failed[g])), measured: true };
  if (!(d > 0)) return { value: s > 0 ? 1 : floor, deviation: 0, ...counts };
  const ratio = s / d;
  const error = factor * (column.root ? Math.sqrt(ratio) : ratio);
  const n = sum(chosen.map((g) => groups[g].n_clusters));
  let deviation = null;
  if (!(floor < error && error < 1)) deviation = 0;
  else if (n > 1) {
    let residual = 0;
    for (const g of chosen) {
      const shift = (groups[g].trivial > 0 ? sums.errors[g] / groups[g].trivial : ratio) - ratio;
      residual += sums.spreads[g] + 2 * shift * sums.slopes[g] + shift * shift * groups[g].trivial_squares;
    }
    const spread = Math.sqrt((Math.max(residual, 0) * n) / (n - 1)) / d;
    deviation = ((error * spread) / ratio) * (column.root ? 0.5 : 1);
  }
  return { value: Math.max(Math.min(error, 1), floor), deviation, ...counts };
}

function scored(model, chosen, choice) {
  let [score, variance, known, nTasks, nItems, nFailed] = [0, 0, true, 0, 0, 0];
  for (const columns of chosen) {
    const errors = columns.map((column) => errorOf(column, model, choice));
    score += sum(errors.map(({ value }) => value)) / errors.length;
    const deviations = errors.map(({ deviation }) => deviation).filter((deviation) => deviation !== null);
    known &&= deviations.length === errors.length;
    variance += (sum(deviations) / errors.length) ** 2;
    nTasks += errors.some(({ measured }) => measured);
    const largest = errors.reduce((one, other) => (other.n > one.n ? other : one));
    nItems += largest.n;
    nFailed += largest.failed;
  }
  score /= Math.max(chosen.length, 1);
  const deviation = known && chosen.length ? Math.sqrt(variance) / chosen.length : null;
  const low = deviation === null ? null : Math.max(score - Z * deviation, 0);
  const high = deviation === null ? null : Math.min(score + Z * deviation, 1);
  return { model, score, deviation, low, high, tied: null, n_tasks: nTasks, n_items: nItems, n_failed: nFailed };
}

function withTie(model, first) {
  if (model.deviation === null || first.deviation === null) return model;
  const half = Z * Math.sqrt(model.deviation * model.deviation + first.deviation * first.deviation);
  return { ...model, tied: model.score - first.score <= half };
}

/** The models with errors in a task of the choice, best first; equal scores are ordered by the id of the model. */
export function rankingOfChoice(tasks, models, choice) {
  const chosen = tasks.map((task) => columnsOfChoice(task, choice)).filter((columns) => columns.length);
  const placed = models.map((model) => scored(model, chosen, choice)).filter((model) => model.n_tasks);
  placed.sort((a, b) => a.score - b.score || (a.model < b.model ? -1 : Number(a.model > b.model)));
  return placed.map((model) => withTie(model, placed[0]));
}
