// `leaderboard.json` for pages that compute scores; settings of the address that make no sense are dropped first.

import { leaderboard } from "./leaderboard.js";
import { sound } from "./settings_leaves.js";
import { change, view } from "./view.js";

let mended = null;

/** A promise of the leaderboard's data; once it is there, every setting of the view makes sense in it. */
export function leaderboardOfView() {
  mended ??= leaderboard().then(mend);
  return mended;
}

const countOf = ({ weights, thresholds }) => weights.size + thresholds.size;

function mend(file) {
  if (countOf(view) === 0) return file; // most often, and to look through all trees takes a while
  const settings = sound(file, view);
  if (countOf(settings) < countOf(view)) change(settings);
  return file;
}
