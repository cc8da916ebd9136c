// The numbers in the leaves of a score that a reader can set: their labels and their valid values.

/** The numbers of each scale; `unit` gives the unit for a leaf. */
export const fields = {
  "relative error": [
    { name: "baseline", label: "counts 1 at", about: "the error that counts 1", unit: (leaf) => leaf.unit ?? "" },
    { name: "cap", label: "at most", about: "the largest count of an error", unit: () => "" },
    { name: "floor", label: "at least", about: "the smallest count of an error", unit: () => "" },
  ],
  "between thresholds": [
    { name: "good", label: "1 at", about: "good: this value or a better one counts 1", unit: (leaf) => leaf.unit ?? "" },
    { name: "bad", label: "0 at", about: "bad: this value or a worse one counts 0", unit: (leaf) => leaf.unit ?? "" },
  ],
  decades: [
    { name: "tolerance", label: "0 up to", about: "tolerance: the drift that counts 0", unit: perTime },
    { name: "worst", label: "failed counts", about: "the count of a failed run", unit: () => "powers of ten" },
  ],
  speed: [{ name: "reference", label: "1 at", about: "the time that scores 1", unit: (leaf) => leaf.unit ?? "" }],
};

function perTime(leaf) {
  const time = leaf.numbers.time_unit_ps;
  return time === 1 ? "eV/atom/ps" : `eV/atom per ${Number(time.toPrecision(4))} ps`;
}

const either = (wants, sentence) => (wants ? "" : sentence);

/** The message for a wrong value, given the other `numbers` of its scale; empty if it is valid. NaN is wrong. */
export function wrong(scale, name, value, numbers) {
  if (!(Math.abs(value) < Infinity)) return "A number.";
  const { cap, floor, good, bad } = numbers;
  switch (name) {
    case "cap":
      return either(value > 0 && value >= floor, floor > 0 ? `A number not below ${floor}.` : "A number above 0.");
    case "floor":
      return either(value >= 0 && value <= cap, cap < Infinity ? `A number from 0 to ${cap}.` : "A number not below 0.");
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

export const MOST = 1000; // a larger factor changes nothing

/** The message for a wrong factor of a weight; empty if it is valid. */
export function wrongFactor(factor) {
  return either(factor >= 0 && factor <= MOST, `A number from 0 to ${MOST}.`);
}
