// Ranks as scoring.ranking.ranking computes them. Equal scores share a rank, and the next rank is skipped (1, 1, 3).

/** Whether there are outcomes, and all of them are OK. */
export const allOk = (outcomes) => outcomes.length > 0 && outcomes.every((outcome) => outcome.verdict === "OK");

/** The values that order a model: lower is better, and a missing score is infinite. */
function costs(scheme, valueOf) {
  return scheme.ranked_by.map((key) => {
    const value = valueOf(key) ?? null;
    const lower = scheme.scores.find((score) => score.key === key)?.lower_is_better;
    return value === null ? Infinity : lower ? value : -value;
  });
}

function compare(a, b) {
  const i = a.findIndex((cost, k) => cost !== b[k]);
  return i < 0 ? 0 : a[i] < b[i] ? -1 : 1;
}

/** Map of model to rank; null for a reference, a model that does not take part, and a model without a score. */
export function rankWhere(file, scheme, valueOf, takesPart) {
  const ranks = new Map(file.models.map((model) => [model.id, null]));
  const entries = file.models
    .filter((model) => !model.reference && takesPart(model))
    .filter((model) => scheme.ranked_by.some((key) => (valueOf(model.id, key) ?? null) !== null))
    .map((model) => ({ id: model.id, costs: costs(scheme, (key) => valueOf(model.id, key)) }))
    .sort((a, b) => compare(a.costs, b.costs));
  for (const [i, entry] of entries.entries()) {
    const equal = i > 0 && compare(entries[i - 1].costs, entry.costs) === 0;
    ranks.set(entry.id, equal ? ranks.get(entries[i - 1].id) : i + 1);
  }
  return ranks;
}

/** Map of model to rank, as `rankWhere`; some schemes give no rank to a model with a failed task. */
export function rankModels(file, scheme, scores) {
  const valueOf = (id, key) => scores.get(id)?.get(key);
  return rankWhere(file, scheme, valueOf, (model) => !scheme.complete_only || allOk(model.outcomes));
}
