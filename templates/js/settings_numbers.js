// The numbers at the ends of a score that a reader may set: what they are called, and which values make sense.

/** Of each scale, its numbers as a sentence has them: `unit` makes the unit of the leaf's own. */
export const fields = {
  "relative error": [
    { name: "baseline", label: "counts 1 at", about: "an error of so much counts 1", unit: (leaf) => leaf.unit ?? "" },
    { name: "cap", label: "at most", about: "no error counts more", unit: () => "" },
    { name: "floor", label: "at least", about: "no error counts less", unit: () => "" },
  ],
  "between thresholds": [
    { name: "good", label: "1 at", about: "good: so much, or better, counts 1", unit: (leaf) => leaf.unit ?? "" },
    { name: "bad", label: "0 at", about: "bad: so much, or worse, counts 0", unit: (leaf) => leaf.unit ?? "" },
  ],
  decades: [
    { name: "tolerance", label: "0 up to", about: "tolerance: drift that counts as none", unit: perTime },
    { name: "worst", label: "failed counts", about: "what a failed run counts", unit: () => "decades" },
  ],
  speed: [{ name: "reference", label: "1 at", about: "the time that scores 1", unit: (leaf) => leaf.unit ?? "" }],
};

function perTime(leaf) {
  const time = leaf.numbers.time_unit_ps;
  return time === 1 ? "eV/atom/ps" : `eV/atom per ${Number(time.toPrecision(4))} ps`;
}

const either = (wants, sentence) => (wants ? "" : sentence);

/** What a value is to be beside the other `numbers` of its scale; empty where it is that. Written so that NaN loses. */
export function wrong(scale, name, value, numbers) {
  if (!(Math.abs(value) < Infinity)) return "A number.";
  const { cap, floor, good, bad } = numbers;
  switch (name) {
    case "cap":
      return either(value > 0 && value >= floor, floor > 0 ? `A number, and not below ${floor}.` : "A number above 0.");
    case "floor":
      return either(value >= 0 && value <= cap, cap < Infinity ? `A number from 0 to ${cap}.` : "A number from 0 up.");
    case "good":
    case "bad": {
      const other = name === "good" ? bad : good;
      if (numbers.normaliser === "logarithmic" && !(value > 0)) return "A number above 0.";
      return either(value !== other, `A number other than ${other}.`);
    }
    default:
      return either(value > 0, "A number above 0.");
  }
}

export const MOST = 1000; // a factor beyond it would say no more

/** What a factor of a weight wants to be; empty where it is one. */
export function wrongFactor(factor) {
  return either(factor >= 0 && factor <= MOST, `A number from 0 to ${MOST}.`);
}
