// From the value of a metric to what is scored: the formulas of scoring.tree.Scale, by their names.
// docs/leaderboard-json.md has them in words. Math.min and Math.max hand NaN on, as numpy's minimum and maximum do.

const between = (value, low, high) => Math.min(Math.max(value, low), high);
const capped = (t) => (t > 0 ? Math.min(t, 1) : 0); // written so that NaN loses

const normalisers = {
  linear: ({ good, bad }) => (value) => capped((value - bad) / (good - bad)),
  logarithmic: ({ good, bad }) => {
    const [top, low] = [Math.log(good), Math.log(bad)];
    return (value) => capped((Math.log(Math.max(value, 0)) - low) / (top - low));
  },
};

function betweenThresholds(numbers) {
  const normalise = normalisers[numbers.normaliser](numbers);
  if (!numbers.finite_only) return normalise;
  return (value) => (Number.isFinite(value) ? normalise(value) : 0);
}

function decades({ tolerance, time_unit_ps: timeUnit, worst, clipped }) {
  return (value) => {
    const found = Math.max(Math.log10((Math.abs(value) * timeUnit) / tolerance), 0);
    if (found === Infinity) return worst;
    return clipped ? Math.min(found, worst) : found;
  };
}

const scales = {
  "as it is": () => (value) => value,
  share: () => (value) => between(value, 0, 1),
  "relative error": ({ baseline, cap, floor }) => (value, divisor) => between(value / baseline, floor, cap) / divisor,
  speed: ({ reference }) => (value) => reference / value,
  decades,
  "between thresholds": betweenThresholds,
};

/** The numbers of each scale that a reader may set. */
export const editable = {
  "relative error": ["baseline", "cap", "floor"],
  speed: ["reference"],
  decades: ["tolerance", "worst"],
  "between thresholds": ["good", "bad"],
};

/** A number of the file: Infinity is a word there. */
export const read = (number) => (number === "Infinity" ? Infinity : number);

/** The numbers of a leaf of the file, by name. */
export function numbersOf(leaf) {
  return Object.fromEntries(Object.entries(leaf.numbers ?? {}).map(([name, number]) => [name, read(number)]));
}

/** The function from a value, and a model's own divisor, to what is scored. */
export function formula(scale, numbers) {
  return scales[scale](numbers);
}
