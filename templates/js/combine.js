// The weighted mean of a node's parts, added in the order of scoring.evaluation.weighted_mean.

/** The number with so many decimals, as numpy.round: scaled, then rounded half to even. */
export function rounded(value, decimals) {
  const scaled = value * 10 ** decimals;
  const low = Math.floor(scaled);
  const rest = scaled - low;
  if (!Number.isFinite(scaled)) return scaled;
  return (rest > 0.5 || (rest === 0.5 && low % 2 !== 0) ? low + 1 : low) / 10 ** decimals;
}

const MEAN = (value) => value;
const into = { mean: MEAN, "logarithmic mean": Math.log, "harmonic mean": (value) => 1 / value };
const back = { mean: MEAN, "logarithmic mean": Math.exp, "harmonic mean": (value) => 1 / value };

/**
 * The mean of `values` at the indices `parts`, NaN if no part has both a weight and a value. A part without a value counts
 * `absent`; if `leavesOut`, it is left out instead. Writes the share of each part into `shares`.
 */
export function combine(parts, values, weights, shares, how, absent, leavesOut) {
  let measured = false;
  let total = 0;
  for (const part of parts) {
    const missing = Number.isNaN(values[part]);
    if (!missing && weights[part] > 0) measured = true;
    shares[part] = missing && leavesOut ? 0 : weights[part];
    total += shares[part];
  }
  let sum = 0;
  let low = Infinity;
  let high = -Infinity;
  for (const part of parts) {
    if (!(shares[part] > 0)) continue; // 0 × ∞ is NaN, so a part without a share is skipped
    const value = Number.isNaN(values[part]) ? absent : values[part];
    low = Math.min(low, value);
    high = Math.max(high, value);
    shares[part] /= total;
    sum += shares[part] * into[how](value);
  }
  // Rounding must not lift a mean out of the range of its values.
  return measured ? Math.min(Math.max(back[how](sum), low), high) : NaN;
}
