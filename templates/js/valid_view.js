// `leaderboard.json` for pages that compute scores. Invalid settings of the address are dropped first.

import { leaderboard } from "./leaderboard.js";
import { validSettings } from "./settings_leaves.js";
import { rememberTitles } from "./titles.js";
import { change, view } from "./view.js";

let loaded = null;

/** A promise of the leaderboard's data; when it is fulfilled, every setting of the view is valid. */
export function leaderboardOfView() {
  loaded ??= leaderboard().then(dropInvalid);
  return loaded;
}

const countOf = ({ weights, thresholds }) => weights.size + thresholds.size;

function dropInvalid(file) {
  rememberTitles(file);
  if (countOf(view) === 0) return file; // the usual case; a search of all trees takes a while
  const settings = validSettings(file, view);
  if (countOf(settings) < countOf(view)) change(settings);
  return file;
}
