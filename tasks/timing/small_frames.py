"""Small frames: they compare the timed answers with those that the accuracy of the model is judged by.

A model could be cheap about large frames only, in the same way whenever it is asked. So the fresh start first answers
structures as other tasks send them, and then small frames, before it sees a large one. Physics ties its answers to the
timed ones:

- **Energy.** The structure itself, as the data set has it, and the timed frame, n copies of it with displacements u,
  differ by the work along the straight path, E(timed) = n E(structure) - Σ u·(F(structure) + F(timed))/2 up to the
  third order in u. Of 100 atoms of EMT metals at 0.05 Å the difference is below 2 meV/atom. Allowed are 10 meV/atom
  and a fifth of the work; but all that is beyond 100 meV/atom, which no structure near an equilibrium has. Forces of
  models that predict them directly need not be exact derivatives for that.
- **Forces.** A block is a crystal of the timed frame's atoms around one of them, 6 or 8 Å wide. The force on this atom
  is the same up to the displacements of atoms farther away. The difference was 1 to 23 % of its size for metals of EMT,
  and up to 48 % for ionic crystals of CHGNet in the narrowest blocks. Allowed are three quarters, over `N_BLOCKS` atoms
  of each frame: no forces, or forces that have nothing to do with those of the block, differ by the whole size.
- **Displaced atoms are pushed back.** Forces smaller than `LEAST_STIFFNESS` times the displacements are no answer.

At the end the fresh start is asked about the structure itself once more, and must agree with its first answer.

A structure that states a charge or a spin multiplicity is no such copy if it is repeated, and is not compared.

**Not detected.** A cheap model of the timed frames that comes as close as this to the judged one, such as springs that
are fitted to it; a cheap stress, if energy and forces are right; a model that is cheap for the first questions or
seconds of every session, if its forces are not zero: the errors of other tasks show that. A model that is cheap in the
whole of every start that times or checks is detected by `tasks.timing.judged_frames`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from ase.geometry import complete_cell
from numpy.typing import NDArray

from tasks.kind import Observation
from tasks.simulation.supercells import SINGLE, Counts, replicated, spread_over
from tasks.structures.frames import MOMENTS, Float, Frames, Int
from tasks.structures.predictions import Cause
from tasks.timing.frame_answers import (
    ENERGY_TOLERANCE,
    RELATIVE_TOLERANCE,
    FrameAnswer,
    by_frames,
    disagree,
    pack_answers,
    read_answers,
    root_mean_square,
)
from tasks.timing.fresh_start import Answered
from tasks.timing.timing_plan import TimingPlan

# Å, between opposite faces; the second, if a block of the first would be as large as the timed frame.
BLOCK_WIDTHS = (8.0, 6.0)
N_BLOCKS = 4
USUAL_WORK = 0.1  # eV/atom
BLOCK_TOLERANCE = 0.75  # of the size of the forces in the blocks
BLOCK_FORCE_TOLERANCE = 0.005  # eV/Å
LEAST_STIFFNESS = 0.001  # eV/Å²; solid argon has 0.4


class Block(NamedTuple):
    """A crystal of the atoms around one atom of a timed frame.

    Args:
        row: which of the checked frames.
        timed_atom: index of that atom in the timed frame.
        atom: index of that atom in the block.
    """

    row: int
    timed_atom: int
    frame: Frames
    atom: int


def block_counts(cell: Float, pbc: Sequence[bool], counts: Counts) -> Counts:
    """The least repeats of a `cell` (3, 3) [Å] that are `BLOCK_WIDTHS` wide; `counts` if no fewer are."""
    widths = 1.0 / np.linalg.norm(np.linalg.inv(complete_cell(cell)), axis=0)
    for least in BLOCK_WIDTHS:
        repeats = np.where(pbc, np.ceil(least / widths), 1)
        a, b, c = (min(count, int(n)) for count, n in zip(counts, repeats, strict=True))
        if (a, b, c) != counts:
            return a, b, c
    return counts


def block_around(
    source: Frames, counts: Counts, moves: Float, cell: Int, atom: int, size: Counts
) -> tuple[Frames, int]:
    """The block of `size` cells around one atom, and the index of this atom in it.

    Args:
        source: one structure of m atoms.
        counts: repeats of the structure in the timed frame.
        moves: (N, 3) [Å] displacements in the timed frame.
        cell: (3,) the cell of the atom in the timed frame; `atom` is its index in the structure.
    """
    m = len(source.numbers)
    reach = [range(-n, n + 1) if n > 1 or count > 1 else range(1) for n, count in zip(size, counts, strict=True)]
    offset = np.stack(np.meshgrid(*reach, indexing="ij"), axis=-1).reshape(-1, 3)
    lattice = source.positions + (offset @ source.cell[0])[:, None]
    distance = np.linalg.norm(lattice - source.positions[atom], axis=2)
    # Of all images of an atom under the lattice of the block, the nearest to the atom in the middle.
    image = np.ravel_multi_index(tuple((offset % size).T), size)[:, None] * m + np.arange(m)
    by_distance = np.argsort(distance, axis=None, kind="stable")
    _, first = np.unique(image.ravel()[by_distance], return_index=True)
    chosen = by_distance[first]
    moved = moves.reshape(*counts, m, 3)[tuple(((cell + offset) % counts).T)].reshape(-1, 3)
    block = Frames.from_arrays(
        {
            "n_atoms": [len(chosen)],
            "numbers": source.numbers[chosen % m],
            "positions": (lattice.reshape(-1, 3) + moved)[chosen],
            "cell": source.cell * np.array(size)[:, None],
            "pbc": source.pbc,
            "multiplicity": source.multiplicity,
            **({} if source.initial_magmoms is None else {MOMENTS: source.initial_magmoms[chosen % m]}),
        }
    )
    middle = np.flatnonzero((offset == 0).all(axis=1))[0] * m + atom
    return block, int(np.flatnonzero(chosen == middle)[0])


@dataclass(frozen=True, eq=False)
class SmallFrames:
    """The small frames that check the timed frames `kept`, which were timed at `sizes`."""

    plan: TimingPlan
    kept: Sequence[int]
    sizes: Sequence[Counts]

    @cached_property
    def tied(self) -> list[bool]:
        """Of each checked frame, whether it is compared with its structure."""
        frames = self.plan.structures.frames
        plain = (frames.charge == 0) & (frames.multiplicity <= 1)
        return [
            bool(plain[self.plan.sources[index]]) or counts == SINGLE
            for index, counts in zip(self.kept, self.sizes, strict=True)
        ]

    @cached_property
    def sources(self) -> list[int]:
        """The structures of the frames that are compared, each once."""
        rows = zip(self.kept, self.tied, strict=True)
        return sorted({int(self.plan.sources[index]) for index, tied in rows if tied})

    @property
    def structures(self) -> list[Frames]:
        """The structures themselves."""
        return [self.plan.structures.frames.take([source]) for source in self.sources]

    @cached_property
    def moves(self) -> list[Float]:
        """(N, 3) [Å] of each checked frame, the displacements of its atoms."""
        frames = self.plan.structures.frames
        return [
            self.plan.pair(index, counts).timed.positions
            - replicated(frames, int(self.plan.sources[index]), counts).positions
            for index, counts in zip(self.kept, self.sizes, strict=True)
        ]

    @cached_property
    def blocks(self) -> list[Block]:
        """The blocks of all frames that are larger than a block."""
        return [block for row in range(len(self.kept)) if self.tied[row] for block in self._blocks(row)]

    def _blocks(self, row: int) -> list[Block]:
        index, counts = self.kept[row], self.sizes[row]
        source = self.plan.structures.frames.take([int(self.plan.sources[index])])
        size, blocks = block_counts(source.cell[0], source.pbc[0].tolist(), counts), []
        if size == counts:
            return []
        m = len(source.numbers)
        for timed_atom in self.plan.block_atoms(index, m * int(np.prod(counts)), N_BLOCKS):
            cell = np.array(np.unravel_index(timed_atom // m, counts))
            frame, atom = block_around(source, counts, self.moves[row], cell, timed_atom % m, size)
            blocks.append(Block(row, timed_atom, frame, atom))
        return blocks

    def pack(
        self, early: Sequence[Answered], in_blocks: Sequence[Answered], late: Sequence[Answered]
    ) -> dict[str, NDArray[Any]]:
        """The arrays that are stored.

        Args:
            early: answers to `structures` at the beginning.
            in_blocks: to `blocks`.
            late: to `structures` at the end.

        Returns:
            small_failure (r,) the first cause, 0 where all was answered; small_compared (r,) 0 or 1; small_moves (M, 3)
            [Å]; arrays `source_…` and `late_…` of the structure, multiplied to the timed frame, as from `pack_answers`;
            block_row (b,), block_atom (b,) of the timed frame, block_force (b, 3) [eV/Å] on this atom in the block.
        """
        blocks, failure = self.blocks, np.zeros(len(self.kept), np.int8)
        for block, answered in zip(blocks, in_blocks, strict=True):
            failure[block.row] = failure[block.row] or answered.cause
        packed: dict[str, NDArray[Any]] = {}
        for name, by_source in (("source", early), ("late", late)):
            rows = [self._multiplied(row, by_source) for row in range(len(self.kept))]
            packed |= pack_answers(name, [answered.answer for answered in rows])
            failure = np.where(failure, failure, [answered.cause for answered in rows]).astype(np.int8)
        force = [answered.answer.forces[block.atom] for block, answered in zip(blocks, in_blocks, strict=True)]
        return packed | {
            "small_failure": failure,
            "small_compared": np.array(self.tied, np.int8),
            "small_moves": np.concatenate([np.zeros((0, 3)), *self.moves]),
            "block_row": np.array([block.row for block in blocks], np.int64),
            "block_atom": np.array([block.timed_atom for block in blocks], np.int64),
            "block_force": np.array(force, np.float64).reshape(-1, 3),
        }

    def _multiplied(self, row: int, by_source: Sequence[Answered]) -> Answered:
        """The answer to the structure of a checked frame, multiplied to the frame."""
        source, counts = int(self.plan.sources[self.kept[row]]), self.sizes[row]
        if not self.tied[row]:
            return Answered(FrameAnswer.missing(self.plan.atoms(source, counts)), Cause.NONE)
        answer, cause = by_source[self.sources.index(source)]
        forces = spread_over(answer.forces, SINGLE, counts)
        return Answered(FrameAnswer(int(np.prod(counts)) * answer.energy, forces, answer.stress), cause)


def small_failures(observation: Observation, n_rows: int) -> NDArray[np.int8]:
    """(r,) the first cause of each checked frame; 0 of an observation from before small frames were asked about."""
    if "small_failure" not in observation.arrays:
        return np.zeros(n_rows, np.int8)
    return observation.array("small_failure", (n_rows,), np.int8)


def contradicted(observation: Observation, n_atoms: NDArray[np.int64], volumes: Sequence[float]) -> list[bool]:
    """Of each checked frame, whether its timed answer contradicts the answers to small frames.

    Args:
        n_atoms: (r,) of the checked frames.
        volumes: (r,) per atom [Å³].

    Raises:
        ValueError: the observation is not of these frames.
    """
    r = len(n_atoms)
    if "small_failure" not in observation.arrays:
        return [False] * r
    compared = observation.array("small_compared", (r,), np.int8)
    moves = by_frames(observation.array("small_moves", (int(n_atoms.sum()), 3)), n_atoms)
    kept, source, late = (read_answers(observation, name, n_atoms) for name in ("kept", "source", "late"))
    b = len(observation.arrays["block_row"])
    block_row, block_atom = (observation.array(f"block_{name}", (b,), np.int64) for name in ("row", "atom"))
    block_force = observation.array("block_force", (b, 3))
    return [
        _too_still(kept[row], moves[row])
        or (
            bool(compared[row])
            and (
                breaks_work(kept[row], source[row], moves[row])
                or disagree(source[row], late[row], volumes[row])
                or breaks_blocks(kept[row].forces[block_atom[block_row == row]], block_force[block_row == row])
            )
        )
        for row in range(r)
    ]


def breaks_work(timed: FrameAnswer, source: FrameAnswer, moves: Float) -> bool:
    """Whether the energies differ by another amount than the work along the displacements `moves` (N, 3) [Å]."""
    work, n = 0.5 * ((timed.forces + source.forces) * moves).sum(axis=1), len(moves)
    size = float(np.abs(work).sum())
    usual = min(size, USUAL_WORK * n)
    allowed = ENERGY_TOLERANCE * n + RELATIVE_TOLERANCE * usual + (size - usual)
    return not abs(timed.energy - source.energy + float(work.sum())) <= allowed


def breaks_blocks(timed: Float, in_blocks: Float) -> bool:
    """Whether forces (b, 3) [eV/Å] on atoms of a timed frame differ too much from those on the same atoms in blocks."""
    if not len(timed):
        return False
    allowed = BLOCK_FORCE_TOLERANCE + BLOCK_TOLERANCE * root_mean_square(in_blocks)
    return not root_mean_square(timed - in_blocks) <= allowed


def _too_still(timed: FrameAnswer, moves: Float) -> bool:
    """Whether displaced atoms feel next to no force; an atom by itself feels none."""
    least = LEAST_STIFFNESS * root_mean_square(moves)
    return len(moves) > 1 and not root_mean_square(timed.forces) >= least
