// How much of a score, or of a part of it, was measured.

import { pathKey } from "./paths.js";

/** The coverage in words; empty if all was measured. */
export function coverageText({ covered = 0, total = 0 } = {}, noun) {
  return covered === total ? "" : `${covered} of ${total} ${total === 1 ? noun : `${noun}s`}`;
}

/** The nodes without parts, each with the name of its unit: the highest unit above it, or itself. */
function* endsOf(node, key, above = "") {
  const unit = above || node.unit || "";
  if (!node.parts?.length) yield { node, key, unit };
  for (const part of node.parts ?? []) yield* endsOf(part, `${key}/${pathKey([part.name])}`, unit);
}

/**
 * The number of units at and below a node with a value, and of all units: {covered, total}, as scoring.term counts them.
 * A leaf without a unit is a unit itself. `valueOf` takes a path key; `key` is the path key of the node.
 */
export function coverage(top, key, valueOf) {
  const [covered, total] = [new Set(), new Set()];
  for (const { node, key: path, unit } of endsOf(top, key)) {
    const name = unit || (node.leaf && pathKey([node.leaf.task, node.leaf.metric]));
    if (!name) continue;
    total.add(name);
    if (node.leaf && valueOf(path) !== null) covered.add(name);
  }
  return { covered: covered.size, total: total.size };
}
