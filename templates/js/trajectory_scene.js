// Atoms, bonds and cell of a frame, turned, as lines and circles from back to front.

const BOND_REACH = 1.2; // a bond is at most so many times as long as both radii together
const LEAST_BOND = 0.3; // Å
const EDGES = [[0, 1], [0, 2], [0, 4], [1, 3], [1, 5], [2, 3], [2, 6], [3, 7], [4, 5], [4, 6], [5, 7], [6, 7]];

/** The points of a flat list of lengths, in Å. */
export function pointsOf(lengths, perAngstrom) {
  const points = [];
  for (let i = 0; i < lengths.length; i += 3) {
    points.push([lengths[i] / perAngstrom, lengths[i + 1] / perAngstrom, lengths[i + 2] / perAngstrom]);
  }
  return points;
}

/** Pairs of atoms that are near enough for a bond, in this frame. Only atoms in neighbouring boxes are compared. */
export function bondsOf(points, radii) {
  const side = Math.max(2 * BOND_REACH * Math.max(...new Set(radii)), LEAST_BOND);
  const boxes = new Map();
  const bonds = [];
  for (const [i, point] of points.entries()) {
    const [x, y, z] = point.map((length) => Math.floor(length / side));
    for (let n = 0; n < 27; n++) {
      const near = boxes.get(`${x - 1 + (n % 3)},${y - 1 + (Math.floor(n / 3) % 3)},${z - 1 + Math.floor(n / 9)}`);
      for (const j of near ?? []) {
        const distance = Math.hypot(...point.map((length, k) => length - points[j][k]));
        if (distance > LEAST_BOND && distance < BOND_REACH * (radii[i] + radii[j])) bonds.push([j, i]);
      }
    }
    const own = `${x},${y},${z}`;
    if (!boxes.has(own)) boxes.set(own, []);
    boxes.get(own).push(i);
  }
  return bonds;
}

/** The eight corners of a cell; none if the structure has no cell. */
export function cornersOf(vectors) {
  if (vectors.flat().every((length) => length === 0)) return [];
  return Array.from({ length: 8 }, (_, n) => [0, 1, 2].map((k) => vectors.reduce((sum, v, i) => sum + ((n >> i) & 1) * v[k], 0)));
}

/** Centre and radius [Å] of the sphere that is in view. */
export function extent(points) {
  const [low, high] = [Math.min, Math.max].map((end) => [0, 1, 2].map((k) => points.reduce((a, p) => end(a, p[k]), points[0][k])));
  const centre = low.map((length, k) => (length + high[k]) / 2);
  return { centre, radius: points.reduce((a, p) => Math.max(a, Math.hypot(...p.map((length, k) => length - centre[k]))), 1) + 1 };
}

/** A view turned by angles [rad] about the upright axis of the page and then its horizontal one: x, y and depth. */
export function turned(points, centre, { across, down }) {
  const [ca, sa, cd, sd] = [Math.cos(across), Math.sin(across), Math.cos(down), Math.sin(down)];
  return points.map((point) => {
    const [x, y, z] = point.map((length, k) => length - centre[k]);
    const depth = z * ca - x * sa;
    return [x * ca + z * sa, y * cd - depth * sd, y * sd + depth * cd];
  });
}

/** The point of the line between two atoms where it leaves a sphere of radius `r` around the first one. */
function surface(from, to, r) {
  const share = Math.min(r / Math.hypot(...from.map((length, k) => to[k] - length)), 0.5);
  return from.map((length, k) => length + share * (to[k] - length));
}

/** What is drawn, from back to front: edges of the cell, bonds, and atoms as spheres of these radii. */
export function partsOf(atoms, bonds, corners, radii) {
  const line = (kind, from, to) => ({ kind, from, to, depth: (from[2] + to[2]) / 2 });
  return [
    ...(corners.length ? EDGES.map(([i, j]) => line("edge", corners[i], corners[j])) : []),
    ...bonds.map(([i, j]) => line("bond", surface(atoms[i], atoms[j], radii[i]), surface(atoms[j], atoms[i], radii[j]))),
    ...atoms.map((at, atom) => ({ kind: "atom", atom, at, depth: at[2] })),
  ].sort((a, b) => a.depth - b.depth);
}
