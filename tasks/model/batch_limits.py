"""How large a batch may be, learned from batches that ran out of memory.

This file is packed beside the guest: the standard library, numpy and ASE only, Python 3.9.
"""

from __future__ import annotations

from typing import FrozenSet, List, Sequence, Tuple

NO_LIMIT = 1 << 40


class BatchLimits:
    """The smallest number of atoms with which a batch ran out of memory.

    A structure that runs out of memory alone explains the failures of all batches that it was in: they do not count.
    """

    def __init__(self, too_large: int) -> None:
        self._before = too_large
        self._failed: List[Tuple[int, FrozenSet[int]]] = []

    @property
    def too_large(self) -> int:
        """Atoms: no batch of so many is tried again."""
        return min([self._before] + [size for size, _ in self._failed])

    def ran_out(self, group: List[int], size: int) -> None:
        """The structures `group`, of `size` atoms in all, did not fit into memory."""
        if len(group) > 1:
            self._failed.append((size, frozenset(group)))
        else:
            self._failed = [(other, members) for other, members in self._failed if group[0] not in members]


def halves(group: List[int], spans: Sequence[Tuple[int, int]]) -> List[List[int]]:
    """A group of two structures or more in two parts of about as many atoms: the later one, and the one to try first.

    Args:
        spans: first atom and end of each structure.
    """
    sizes = [spans[index][1] - spans[index][0] for index in group]
    half, first, cut = sum(sizes) / 2, sizes[0], 1
    while cut < len(group) - 1 and first + sizes[cut] <= half:
        first += sizes[cut]
        cut += 1
    return [group[cut:], group[:cut]]
