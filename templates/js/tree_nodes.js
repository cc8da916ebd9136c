// The nodes of a score tree of `leaderboard.json`.

import { pathKey } from "./paths.js";

/** The nodes from the top down, each with its path key; `key` is the key of the top. */
export function* nodesOf(node, key) {
  yield { node, key };
  for (const part of node.parts ?? []) yield* nodesOf(part, `${key}/${pathKey([part.name])}`);
}

/** The leaves. */
export function* leavesOf(tree, key) {
  for (const entry of nodesOf(tree, key)) if (entry.node.leaf) yield entry;
}
