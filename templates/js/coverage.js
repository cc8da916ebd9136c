// How much of a score, or of a part of it, was measured.

import { pathKey } from "./paths.js";

/** In words, where that is not all of it. */
export function coverageText({ covered = 0, total = 0 } = {}, noun) {
  return covered === total ? "" : `${covered} of ${total} ${total === 1 ? noun : `${noun}s`}`;
}

/** What has no parts, with the unit that it belongs to: that of the highest node above it that is one. */
function* endsOf(node, key, above = "") {
  const unit = above || node.unit || "";
  if (!node.parts?.length) yield { node, key, unit };
  for (const part of node.parts ?? []) yield* endsOf(part, `${key}/${pathKey([part.name])}`, unit);
}

/**
 * How many units at and below a node have a value, of how many: {covered, total}, as scoring.term counts them. A
 * leaf that belongs to no unit is its own. `valueOf` is of a path key; `key` is that of the node.
 */
export function coverage(top, key, valueOf) {
  const [covered, total] = [new Set(), new Set()];
  for (const { node, key: path, unit } of endsOf(top, key)) {
    const own = unit || (node.leaf && pathKey([node.leaf.task, node.leaf.metric]));
    if (!own) continue;
    total.add(own);
    if (node.leaf && valueOf(path) !== null) covered.add(own);
  }
  return { covered: covered.size, total: total.size };
}
