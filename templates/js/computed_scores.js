// The scores and ranks of a view: the published ones or, for a reader's own settings, new ones by the same rules.

import { evaluateScheme } from "./evaluate.js";
import { rankModels } from "./ranks.js";
import { LAMBENCH } from "./scores.js";
import { settableLeaves } from "./settings_leaves.js";

/** The scheme of a view in its variant, or the first scheme of the file. */
export function schemeOf(file, view) {
  const variants = file.schemes.filter((scheme) => scheme.variant === view.variant);
  return variants.find((scheme) => scheme.key === view.scheme) ?? variants[0] ?? file.schemes[0];
}

/** Whether a reader's weights or thresholds change a score. */
function isTouched(score, { weights, thresholds }) {
  const top = `${score.key}/`;
  if ([...weights].some(([key, factor]) => factor !== 1 && key.startsWith(top))) return true;
  return thresholds.size > 0 && [...thresholds.keys()].some((key) => settableLeaves(score).spread.has(key));
}

function published(scheme) {
  const scores = new Map();
  for (const { key, models } of scheme.scores) {
    for (const [id, { score }] of Object.entries(models)) {
      if (!scores.has(id)) scores.set(id, new Map());
      scores.get(id).set(key, score ?? null);
    }
  }
  return scores;
}

/**
 * The scores and ranks of a view.
 *
 * isRecomputed: whether the reader's settings change a score. isPublished: whether the view is that of the published page.
 * score(id, key): a score. worst(id, key): the score if items that were left out count as missing; null if there are none.
 * node(id, key, path): one number within a score. ranks: Map of model to rank or null.
 */
export function computeScores(file, view) {
  const scheme = schemeOf(file, view);
  const touched = scheme.scores.filter((score) => isTouched(score, view));
  const recomputed = new Set(touched.map((score) => score.key));
  const isRecomputed = touched.length > 0;
  let whole = null;
  const evaluate = () => (whole ??= evaluateScheme(scheme, view)); // all numbers within scores
  const mine = evaluateScheme({ ...scheme, scores: touched }, view);
  const scores = published(scheme);
  for (const [id, values] of mine.scores) for (const [key, value] of values) scores.get(id).set(key, value);
  const stored = new Map(scheme.scores.map((score) => [score.key, score.models]));
  const isPublished = !isRecomputed && scheme === schemeOf(file, { scheme: LAMBENCH, variant: "corrected" });
  return {
    scheme,
    isRecomputed,
    isPublished,
    score: (id, key) => scores.get(id)?.get(key) ?? null,
    worst: (id, key) => (recomputed.has(key) ? mine.worst(id, key) : (stored.get(key)?.[id]?.at_worst ?? null)),
    node: (id, key, path) => (recomputed.has(key) ? mine : evaluate()).node(id, key, path),
    ranks: isPublished ? new Map(file.models.map(({ id, rank }) => [id, rank])) : rankModels(file, scheme, scores),
  };
}
