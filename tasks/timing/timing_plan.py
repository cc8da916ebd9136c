"""What a timing asks: which structures, at which sizes, moved how. All of it follows from parameters and structures.

So a frame that was timed is made again, to be asked again, from its number and its size alone. The hash of the
structures is part of every seed: who does not have them cannot tell which frames will be asked about again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from tasks.datasets.dataset import Structures
from tasks.kind import Parameters
from tasks.simulation.supercells import Counts, displacements, part_of, rattled, repeats, replicated, spread_over
from tasks.structures.frames import Float, Frames, Int

# Where `min_atoms` is not stated: this share of `max_atoms`.
SMALLEST_SHARE = 0.8
FEWEST_RECHECKED = 3
# So many frames of the timed batches are asked about again by themselves.
CHECKED_IN_BATCHES = 3


class EfficiencyParameters(Parameters):
    """What is timed. The defaults are LAMBench's, of release 1.0.

    Args:
        n_frames: timed frames, made of the dataset's structures in turn.
        min_atoms, max_atoms: a periodic structure is replicated to a size between these, if there is one; a
            `min_atoms` of None is four fifths of `max_atoms`.
        rattle: standard deviation of the displacements [Å].
        warm_up_fraction: of the timed frames, left out of the statistics at the beginning; one at least.
        n_batches: of which batched throughput is made; 0: it is not measured.
        max_noise: how much longer than it can the reference calculator may take (`timing`) before the host is
            too noisy. 1.2 is for a host that does nothing else, where 1.05 is usual: it leaves room for a clock rate
            that rises and falls. A shared machine may need 5 or more, and its times are worth that much less.
        recheck_fraction: of the timed frames, asked again of a fresh start; three at least.
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
        """Timed frames that do not count."""
        return max(1, round(self.warm_up_fraction * self.n_frames))

    @property
    def n_rechecked(self) -> int:
        """Timed frames that are asked about again."""
        return min(self.n_frames, max(FEWEST_RECHECKED, round(self.recheck_fraction * self.n_frames)))


class _For(IntEnum):
    """What a random number is drawn for: each use has a stream of its own."""

    ORDER = 0
    TIMED = 1
    PROBE = 2
    BATCH = 3
    CHOICE = 4
    AGAIN = 5
    CHECKED = 6
    ALONE = 7


class Pair(NamedTuple):
    """A frame that is timed, and one of its shape before it that is not."""

    untimed: Frames
    timed: Frames


class Turned(NamedTuple):
    """One frame that is turned by a rotation (3, 3), x → x Rᵀ."""

    frame: Frames
    rotation: Float


class Again(NamedTuple):
    """What is asked about to check a timed frame.

    Args:
        frame: as it was timed.
        whole: of its shape, but made of equal parts.
        part: one of these.
        part_counts: how often the structure is repeated in it.
        rotation: (3, 3) by which all three are turned before they are asked about: x → x Rᵀ.
    """

    frame: Frames
    whole: Frames
    part: Frames
    part_counts: Counts
    rotation: Float


@dataclass(frozen=True, eq=False)
class Plan:
    """The frames of a timing of `structures`."""

    structures: Structures
    parameters: EfficiencyParameters

    @cached_property
    def sources(self) -> Int:
        """(n_frames,) the structure that each frame is made of: all in turn, in a random order."""
        order = self._rng(_For.ORDER).permutation(len(self.structures.frames))
        return np.resize(order, self.parameters.n_frames).astype(np.int64)

    def counts(self, source: int) -> Counts:
        """How often a structure is repeated, where memory does not forbid it."""
        frames, p = self.structures.frames, self.parameters
        return repeats(
            frames.cell[source], frames.pbc[source].tolist(), int(frames.n_atoms[source]), p.smallest, p.max_atoms
        )

    @cached_property
    def planned_atoms(self) -> dict[int, int]:
        """By structure that is timed, the atoms of a frame of it, where memory does not forbid it."""
        return {s: self.atoms(s, self.counts(s)) for s in np.unique(self.sources).tolist()}

    def atoms(self, source: int, counts: Counts) -> int:
        """How many atoms a structure has that is repeated so often."""
        return int(self.structures.frames.n_atoms[source]) * int(np.prod(counts))

    def pair(self, index: int, counts: Counts) -> Pair:
        """Frame `index` at that size."""
        rng = self._rng(_For.TIMED, index)
        cell = replicated(self.structures.frames, int(self.sources[index]), counts)
        return Pair(*(rattled(cell, self.parameters.rattle, rng) for _ in range(2)))

    def probe(self, index: int, counts: Counts) -> Frames:
        """A frame by which it is found out whether frame `index` fits at that size."""
        cell = replicated(self.structures.frames, int(self.sources[index]), counts)
        return rattled(cell, self.parameters.rattle, self._rng(_For.PROBE, index, *counts))

    def batch(self, index: int, members: list[tuple[int, Counts]]) -> Frames:
        """Batch `index`: a fresh frame of each of `members`, which are structures and their sizes."""
        rng = self._rng(_For.BATCH, index)
        cells = [replicated(self.structures.frames, source, counts) for source, counts in members]
        return rattled(Frames.concatenate(cells), self.parameters.rattle, rng)

    def checked(self, n_members: int) -> list[tuple[int, int]]:
        """(batch, member) of the frames in timed batches that are asked about again, spread over the batches."""
        rng, n = self._rng(_For.CHECKED), self.parameters.n_batches
        batches = rng.permutation(n)[:CHECKED_IN_BATCHES].tolist()
        members = [rng.permutation(n_members) for _ in batches]
        turns = min(CHECKED_IN_BATCHES, n * n_members)
        return [(batches[k % n], int(members[k % n][k // n])) for k in range(turns)]

    def alone(self, index: int, members: list[tuple[int, Counts]], member: int) -> Turned:
        """That member of batch `index`, turned."""
        rotation = _random_rotation(self._rng(_For.ALONE, index, member))
        frame = self.batch(index, members).take([member])
        return Turned(frame.moved(frame.positions @ rotation.T, frame.cell @ rotation.T), rotation)

    def preference(self) -> Int:
        """(n_frames,) all frames, those to be asked about again before others."""
        return self._rng(_For.CHOICE).permutation(self.parameters.n_frames).astype(np.int64)

    def again(self, index: int, counts: Counts) -> Again:
        """What is asked about to check frame `index`, which was timed at that size."""
        frames, source, rng = self.structures.frames, int(self.sources[index]), self._rng(_For.AGAIN, index)
        part_counts = part_of(counts)
        part, whole = (replicated(frames, source, c) for c in (part_counts, counts))
        moves = displacements(len(part.numbers), self.parameters.rattle, rng)
        rotation = _random_rotation(rng)
        frame = self.pair(index, counts).timed
        whole = whole.moved(whole.positions + spread_over(moves, part_counts, counts))
        part = part.moved(part.positions + moves)
        frame, whole, part = (f.moved(f.positions @ rotation.T, f.cell @ rotation.T) for f in (frame, whole, part))
        return Again(frame, whole, part, part_counts, rotation)

    def _rng(self, purpose: _For, *which: int) -> np.random.Generator:
        secret = int(self.structures.frames_sha256[:15], 16)
        return np.random.default_rng([self.parameters.seed, secret, purpose, *which])


def _random_rotation(rng: np.random.Generator) -> Float:
    """(3, 3) uniform over all rotations: a normal deviate in four dimensions is a quaternion of no preferred direction.

    K. Shoemake, Graphics Gems III, 124 (1992).
    """
    quaternion = rng.standard_normal(4)
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
