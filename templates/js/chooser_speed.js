// Measured speeds of models: time of one step, and simulated time a day with a time step of 1 fs.

const NS_PER_DAY_AT_1_MS = 86.4; // 86 400 s of steps of 1 ms and 1 fs

/** The speed of a model: {ms, ns, atoms, hardware}; null if none was measured on this hardware and at this size. */
export function speedOf(speeds, model, { hardware, atoms }) {
  const fitting = speeds.find(
    (speed) =>
      speed.model === model &&
      (!hardware || speed.hardware === hardware) &&
      (!atoms || (speed.atoms[0] <= atoms && atoms <= speed.atoms[2])),
  );
  if (!fitting) return null;
  const size = atoms || fitting.atoms[1];
  const ms = (fitting.us_per_atom * size) / 1000;
  return { ms, ns: NS_PER_DAY_AT_1_MS / ms, atoms: size, hardware: fitting.hardware };
}

/** Whether a speed is enough. An unknown speed is not enough if hardware, size or speed is asked for. */
export function isFastEnough(speed, { hardware, atoms, ns, needed }) {
  if (speed === null) return !(hardware || atoms || ns || needed);
  return !ns || speed.ns >= ns;
}
