"""What the scores of one submission by another scheme are reckoned from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scoring import Node
from scoring.clusters import ClusterSums


@dataclass(frozen=True)
class SchemeTrees:
    """The trees of one submission by the name of the score, in both variants.

    Args:
        stats: by cluster, metrics of these trees that results do not have themselves.
    """

    corrected: Mapping[str, Node] = field(default_factory=dict)
    as_published: Mapping[str, Node] = field(default_factory=dict)
    stats: tuple[ClusterSums, ...] = ()

    def joined(self, more: SchemeTrees) -> SchemeTrees:
        """These and `more`."""
        return SchemeTrees(
            {**self.corrected, **more.corrected},
            {**self.as_published, **more.as_published},
            (*self.stats, *more.stats),
        )
