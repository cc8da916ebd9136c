// Which numbers the ranking shows: those that the judge published, or, under a reader's own settings, those that are
// reckoned here by the same rules.

import { evaluateScheme } from "./evaluate.js";
import { rankModels } from "./ranks.js";
import { LAMBENCH } from "./scores.js";
import { settableLeaves } from "./settings_leaves.js";

/** The scheme of a view in its variant; the first of the file where it has none such. */
export function schemeOf(file, view) {
  const variants = file.schemes.filter((scheme) => scheme.variant === view.variant);
  return variants.find((scheme) => scheme.key === view.scheme) ?? variants[0] ?? file.schemes[0];
}

/** Whether a reader's weights or thresholds say anything of a score: else it stays as it was published. */
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
 * What a view comes to.
 *
 * own: under settings of the reader. asMade: all is as the page was made, with its intervals.
 * score(id, key), worst(id, key): the latter, if what was left out counted as missing; null where nothing was.
 * node(id, key, path): one number within a score. ranks: Map of model to rank or null.
 */
export function reckon(file, view) {
  const scheme = schemeOf(file, view);
  const touched = scheme.scores.filter((score) => isTouched(score, view));
  const reckoned = new Set(touched.map((score) => score.key));
  const own = touched.length > 0;
  let whole = null;
  const evaluate = () => (whole ??= evaluateScheme(scheme, view)); // of what scores are made of, all
  const mine = evaluateScheme({ ...scheme, scores: touched }, view);
  const scores = published(scheme);
  for (const [id, found] of mine.scores) for (const [key, value] of found) scores.get(id).set(key, value);
  const stored = new Map(scheme.scores.map((score) => [score.key, score.models]));
  const asMade = !own && scheme === schemeOf(file, { scheme: LAMBENCH, variant: "corrected" });
  return {
    scheme,
    own,
    asMade,
    score: (id, key) => scores.get(id)?.get(key) ?? null,
    worst: (id, key) => (reckoned.has(key) ? mine.worst(id, key) : (stored.get(key)?.[id]?.at_worst ?? null)),
    node: (id, key, path) => (reckoned.has(key) ? mine : evaluate()).node(id, key, path),
    ranks: asMade ? new Map(file.models.map(({ id, rank }) => [id, rank])) : rankModels(file, scheme, scores),
  };
}
