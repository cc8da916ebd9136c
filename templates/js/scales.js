// From the value of a metric to its scored value: the formulas of scoring.tree.Scale, by their names.
// docs/leaderboard-json.md has them in words. Math.min and Math.max return NaN for NaN, as numpy's minimum and maximum.

const between = (value, low, high) => Math.min(Math.max(value, low), high);
const capped = (t) => (t > 0 ? Math.min(t, 1) : 0); // NaN gives 0

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
    const excess = Math.max(Math.log10((Math.abs(value) * timeUnit) / tolerance), 0);
    if (excess === Infinity) return worst;
    return clipped ? Math.min(excess, worst) : excess;
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

/** A number of the file, where infinity is the text "Infinity". */
export const read = (number) => (number === "Infinity" ? Infinity : number);

/** The numbers of a leaf of the file, by name. */
export function numbersOf(leaf) {
  return Object.fromEntries(Object.entries(leaf.numbers ?? {}).map(([name, number]) => [name, read(number)]));
}

/** The function from a value, and the divisor of a model, to the scored value. */
export function formula(scale, numbers) {
  return scales[scale](numbers);
}
