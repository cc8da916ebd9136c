// The weighted mean of a node's parts: scoring.tree.combine, to the order in which numpy adds up.

/** The sum of the first n numbers from `from`, in numpy's order, so that equal models stay equal. */
function sum(numbers, from, n) {
  if (n < 8) {
    let total = 0;
    for (let i = from; i < from + n; i++) total += numbers[i];
    return total;
  }
  if (n > 128) {
    const half = (n >> 1) - ((n >> 1) % 8);
    return sum(numbers, from, half) + sum(numbers, from + half, n - half);
  }
  const r = numbers.slice(from, from + 8);
  let i = 8;
  for (; i + 8 <= n; i += 8) for (let k = 0; k < 8; k++) r[k] += numbers[from + i + k];
  let total = r[0] + r[1] + (r[2] + r[3]) + (r[4] + r[5] + (r[6] + r[7]));
  for (; i < n; i++) total += numbers[from + i];
  return total;
}

/** To so many decimals as numpy.round: half to even, of the number scaled. */
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

let terms = new Float64Array(64); // used again for each node

/**
 * The mean of `values` at the indices `parts`, NaN where nothing has both a weight and a value. `absent` is what a part
 * without a value counts; where `leavesOut`, it is left out instead. Writes the share of each part into `shares`.
 */
export function combine(parts, values, weights, shares, how, absent, leavesOut) {
  const n = parts.length;
  if (terms.length < n) terms = new Float64Array(n);
  let measured = false;
  for (let k = 0; k < n; k++) {
    const there = !Number.isNaN(values[parts[k]]);
    if (there && weights[parts[k]] > 0) measured = true;
    terms[k] = there || !leavesOut ? weights[parts[k]] : 0;
  }
  const total = sum(terms, 0, n);
  const term = into[how];
  let low = Infinity;
  let high = -Infinity;
  for (let k = 0; k < n; k++) {
    const value = Number.isNaN(values[parts[k]]) ? absent : values[parts[k]];
    const share = terms[k] > 0 ? terms[k] / total : 0;
    if (terms[k] > 0) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    shares[parts[k]] = share;
    terms[k] = share > 0 ? share * term(value) : 0; // 0 × ∞ is NaN: what has no share must not speak
  }
  if (!measured) return NaN;
  // Rounding must not lift a mean out of the range of what it is the mean of.
  return Math.min(Math.max(back[how](sum(terms, 0, n)), low), high);
}
