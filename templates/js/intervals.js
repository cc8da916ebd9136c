// Intervals: [the lower end, the upper end, how many parts could not be resampled].

/** The ends; with an asterisk if the interval is too narrow, since parts could not be resampled. */
export const spanText = ([low, high, held], textOf) => `${textOf(low)}\u00a0– ${textOf(high)}${held ? " *" : ""}`;

/** False if it has no width since parts could not be resampled: it does not show how certain a value is. */
export const wasResampled = ([low, high, held]) => low < high || !held;

/** The interval of a score of one model in leaderboard.json; null if it is unknown. */
export function scoreInterval({ interval, not_resampled: held = 0 } = {}) {
  return interval ? [...interval, held] : null;
}
