// How good a value is, as judge/view/goodness.py: the length of its bar and the tint of its cell.

const N_TINTS = 8;

/** 0 for the worst to 1 for the best; null without a value. `full`: the worst value if lower is better, else the best. */
export function goodness(value, full, lower) {
  if (value === null || Number.isNaN(value)) return null;
  const share = Math.min(Math.max(value / full, 0), 1);
  return lower ? 1 - share : share;
}

/** The class of a cell with this goodness; empty if it has no tint. */
export function tint(good) {
  const step = good === null ? 0 : Math.floor(N_TINTS * good + 0.5);
  return step ? `t${step}` : "";
}

/**
 * The goodness of raw values without a fixed scale, by value: the best has 1, a value twice as far from 0 has 1/2.
 * Signs do not count.
 */
export function beside(values, lower) {
  const sizes = values.filter((value) => value !== null && !Number.isNaN(value)).map(Math.abs);
  const best = sizes.length ? (lower ? Math.min(...sizes) : Math.max(...sizes)) : 0;
  return (value) => {
    if (value === null || Number.isNaN(value)) return null;
    const size = Math.abs(value);
    if (size === best) return 1;
    return lower ? best / size : size / best;
  };
}
