"""The plan of a timing: which structures, at which sizes, with which displacements.

The plan follows from parameters, structures and the secret of the store, so a timed frame can be made again from its
index and its size. Without the secret nobody can know the displacements or which frames are checked, also if the
structures are public.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from tasks.datasets.dataset import Structures
from tasks.kind import Parameters
from tasks.simulation.supercells import Counts, displacements, rattled, repeats, replicated, spread_over
from tasks.structures.frames import Frames, Int

# Of `max_atoms`: the smallest size, if `min_atoms` is not stated.
SMALLEST_SHARE = 0.8
FEWEST_RECHECKED = 3
# Frames of the timed batches in the consistency check.
CHECKED_IN_BATCHES = 3


class EfficiencyParameters(Parameters):
    """What is timed.

    The number and sizes of the frames, the size of the displacements and the warm-up are LAMBench's
    (metrics/results/README.md at commit 040985f, inference_efficiency.py at commit 2c34ac1).

    Args:
        n_frames: timed frames, made from the structures of the data set in turn.
        min_atoms, max_atoms: a periodic structure is replicated to a size between these, if there is one; a
            `min_atoms` of None is four fifths of `max_atoms`.
        rattle: standard deviation of the displacements [Å].
        warm_up_fraction: of the timed frames, left out of the statistics at the beginning; at least one frame.
        n_batches: timed batches; 0: batches are not timed.
        max_noise: the largest noise of the host (`tasks.timing.timing`). 1.2 is for a host that does nothing else,
            where 1.05 is usual: it leaves room for a changing clock rate. A shared machine may need 5 or more, and its
            times are worth that much less.
        recheck_fraction: of the timed frames, in the consistency check; at least three frames.
    """

    n_frames: PositiveInt = 1000
    min_atoms: PositiveInt | None = None
    max_atoms: PositiveInt = 1000
    rattle: PositiveFloat = 0.05
    seed: NonNegativeInt = 0
    warm_up_fraction: float = Field(0.1, ge=0, lt=1)
    n_batches: NonNegativeInt = 3
    max_noise: float = Field(1.2, gt=1, allow_inf_nan=False)
    recheck_fraction: float = Field(0.05, ge=0, le=1)

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.smallest > self.max_atoms:
            raise ValueError(f"min_atoms: {self.smallest} is more than max_atoms, {self.max_atoms}")
        return self

    @property
    def smallest(self) -> int:
        """`min_atoms`, as stated or implied."""
        return self.min_atoms or max(1, round(SMALLEST_SHARE * self.max_atoms))

    @property
    def n_warm_up(self) -> int:
        """Timed frames of the warm-up, which do not count."""
        return max(1, round(self.warm_up_fraction * self.n_frames))

    @property
    def n_rechecked(self) -> int:
        """Timed frames in the consistency check."""
        return min(self.n_frames, max(FEWEST_RECHECKED, round(self.recheck_fraction * self.n_frames)))


class RandomStream(IntEnum):
    """The uses of random numbers: each has its own stream."""

    ORDER = 0
    TIMED = 1
    PROBE = 2
    BATCH = 3
    CHOICE = 4
    AGAIN = 5
    CHECKED = 6
    FRESH = 7
    BLOCKS = 8
    JUDGED = 9


class FramePair(NamedTuple):
    """A frame that is timed, and one of the same shape before it that is not."""

    untimed: Frames
    timed: Frames


class ConsistencyQuestion(NamedTuple):
    """The three frames that check a timed frame.

    Args:
        frame: as it was timed.
        whole: of the same shape, but made of equal parts.
        part: one of these.
        part_counts: repeats of the structure in the part.
    """

    frame: Frames
    whole: Frames
    part: Frames
    part_counts: Counts


@dataclass(frozen=True, eq=False)
class TimingPlan:
    """The frames of a timing of `structures`.

    Args:
        secret: of the store (`tasks.kind.Watch`); empty: the plan follows from the other two.
    """

    structures: Structures
    parameters: EfficiencyParameters
    secret: bytes = field(default=b"", repr=False)

    @cached_property
    def sources(self) -> Int:
        """(n_frames,) the structure of each frame: all structures in turn, in a random order."""
        order = self._rng(RandomStream.ORDER).permutation(len(self.structures.frames))
        return np.resize(order, self.parameters.n_frames).astype(np.int64)

    def counts(self, source: int) -> Counts:
        """The planned repeats of a structure, if it fits into memory."""
        frames, p = self.structures.frames, self.parameters
        return repeats(
            frames.cell[source], frames.pbc[source].tolist(), int(frames.n_atoms[source]), p.smallest, p.max_atoms
        )

    @cached_property
    def planned_atoms(self) -> dict[int, int]:
        """By timed structure, the atoms of a frame at the planned size."""
        return {s: self.atoms(s, self.counts(s)) for s in np.unique(self.sources).tolist()}

    def atoms(self, source: int, counts: Counts) -> int:
        """The atoms of a structure with these repeats."""
        return int(self.structures.frames.n_atoms[source]) * int(np.prod(counts))

    def pair(self, index: int, counts: Counts) -> FramePair:
        """Frame `index` at that size."""
        rng = self._rng(RandomStream.TIMED, index)
        cell = replicated(self.structures.frames, int(self.sources[index]), counts)
        return FramePair(*(rattled(cell, self.parameters.rattle, rng) for _ in range(2)))

    def probe(self, index: int, counts: Counts) -> Frames:
        """A frame that shows whether frame `index` fits into memory at that size."""
        cell = replicated(self.structures.frames, int(self.sources[index]), counts)
        return rattled(cell, self.parameters.rattle, self._rng(RandomStream.PROBE, index, *counts))

    def batch(self, index: int, members: list[tuple[int, Counts]]) -> Frames:
        """Batch `index`: a new frame of each of `members`, which are structures and their repeats."""
        rng = self._rng(RandomStream.BATCH, index)
        cells = [replicated(self.structures.frames, source, counts) for source, counts in members]
        return rattled(Frames.concatenate(cells), self.parameters.rattle, rng)

    def checked(self, n_members: int) -> list[tuple[int, int]]:
        """(batch, member) of the frames in timed batches that are checked, spread over the batches."""
        rng, n = self._rng(RandomStream.CHECKED), self.parameters.n_batches
        batches = rng.permutation(n)[:CHECKED_IN_BATCHES].tolist()
        members = [rng.permutation(n_members) for _ in batches]
        turns = min(CHECKED_IN_BATCHES, n * n_members)
        return [(batches[k % n], int(members[k % n][k // n])) for k in range(turns)]

    def preference(self) -> Int:
        """(n_frames,) all frames, in the order in which they are chosen for the consistency check."""
        return self._rng(RandomStream.CHOICE).permutation(self.parameters.n_frames).astype(np.int64)

    def consistency_question(self, index: int, counts: Counts, part_counts: Counts) -> ConsistencyQuestion:
        """The frames that check frame `index`, which was timed at that size."""
        frames, source, rng = self.structures.frames, int(self.sources[index]), self._rng(RandomStream.AGAIN, index)
        part, whole = (replicated(frames, source, c) for c in (part_counts, counts))
        moves = displacements(len(part.numbers), self.parameters.rattle, rng)
        whole = whole.moved(whole.positions + spread_over(moves, part_counts, counts))
        part = part.moved(part.positions + moves)
        return ConsistencyQuestion(self.pair(index, counts).timed, whole, part, part_counts)

    def fresh_start(self) -> np.random.Generator:
        """The generator of the order and the transformations of the consistency check."""
        return self._rng(RandomStream.FRESH)

    def judged_choice(self) -> np.random.Generator:
        """The generator of the choice of frames from tasks with labels."""
        return self._rng(RandomStream.JUDGED)

    def block_atoms(self, index: int, n_atoms: int, n: int) -> list[int]:
        """`n` different atoms of frame `index`, which has `n_atoms`; all, if there are no more."""
        return [int(atom) for atom in self._rng(RandomStream.BLOCKS, index).permutation(n_atoms)[:n]]

    def _rng(self, purpose: RandomStream, *which: int) -> np.random.Generator:
        structures = int(self.structures.frames_sha256[:15], 16)
        secret = [int.from_bytes(self.secret, "little")] if self.secret else []
        return np.random.default_rng([self.parameters.seed, structures, purpose, *which, *secret])
