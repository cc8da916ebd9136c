// A walk over the tree of a score as `leaderboard.json` has it.

import { pathKey } from "./paths.js";

/** The nodes from the top down, each with its path key; `key` is that of the top. */
export function* nodesOf(node, key) {
  yield { node, key };
  for (const part of node.parts ?? []) yield* nodesOf(part, `${key}/${pathKey([part.name])}`);
}

/** Those at the ends of its branches. */
export function* leavesOf(tree, key) {
  for (const at of nodesOf(tree, key)) if (at.node.leaf) yield at;
}
