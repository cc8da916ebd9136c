// Who stands where: scoring.ranking.ranking, in the browser. Equal scores share a rank, the next is skipped (1, 1, 3).

/** Whether there are outcomes, and all of them are OK. */
export const allOk = (outcomes) => outcomes.length > 0 && outcomes.every((outcome) => outcome.verdict === "OK");

/** By what a model is ordered: less is better, and what is missing is infinite. */
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

/** Map of model to rank: of those that take part and have a score; null for every other. */
export function rankWhere(file, scheme, valueOf, takesPart) {
  const ranks = new Map(file.models.map((model) => [model.id, null]));
  const entries = file.models
    .filter((model) => !model.reference && takesPart(model))
    .filter((model) => scheme.ranked_by.some((key) => (valueOf(model.id, key) ?? null) !== null))
    .map((model) => ({ id: model.id, own: costs(scheme, (key) => valueOf(model.id, key)) }))
    .sort((a, b) => compare(a.own, b.own));
  for (const [i, entry] of entries.entries()) {
    const equal = i > 0 && compare(entries[i - 1].own, entry.own) === 0;
    ranks.set(entry.id, equal ? ranks.get(entries[i - 1].id) : i + 1);
  }
  return ranks;
}

/**
 * Map of model to rank, null where it has none: a reference row, a model without any score that is ranked by, and,
 * where a scheme ranks those alone that are complete, one with a task that did not come to OK.
 */
export function rankModels(file, scheme, scores) {
  const valueOf = (id, key) => scores.get(id)?.get(key);
  return rankWhere(file, scheme, valueOf, (model) => !scheme.complete_only || allOk(model.outcomes));
}
