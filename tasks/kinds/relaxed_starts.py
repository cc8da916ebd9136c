"""Starts of relaxations, drawn from the secret of the store, so that a start does not tell where the relaxation ends.

Atoms: each coordinate of a free atom moves by a uniform number within ±`rattle`.

Cells, of what may relax of them: the structure is multiplied by exp(S), with atoms at the same fractional coordinates.
S is c 1 + D. c has a random sign and is uniform between half of `strain` and `strain`, so that no guess within half of
`strain` around the start is better than the start, which is what a known offset of the stored structures could be used
for. Half of all c are positive. D has no trace, and components within about a third of `strain`. S keeps the space
group of the stored structure: a model that makes cells symmetric gains nothing. Structures of the same elements have
the same S, since the mean over several draws (a crystal with and without a vacancy, or at several pressures) would come
closer to the stored structure.

A model without chemistry that finds the space group within a loose tolerance can still put rattled atoms back on the
sites of a high symmetry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.datasets.dataset import Structures
from tasks.kind import Observation
from tasks.kinds.relaxed_geometries import fixed_atoms
from tasks.observing.question_order import generator_for
from tasks.simulation.relaxation import SYMPREC
from tasks.simulation.symmetry import symmetry
from tasks.structures.frames import Bool, Float, Frames


class StartDraw(NamedTuple):
    """What of the starts is drawn.

    Args:
        rattle: largest displacement in each direction [Å].
        strain: largest common strain of a cell.
        cells: (n,) the structures whose cell is strained.
        components: the strains that are drawn, in the order xx, yy, zz, yz, xz, xy.
        shape: whether the shape of the cell changes, too.
    """

    rattle: float
    strain: float
    cells: Bool
    components: tuple[bool, ...] = (True,) * 6
    shape: bool = True


def drawn_starts(structures: Structures, draw: StartDraw, observe_version: int, secret: bytes) -> Frames:
    """The structures as their relaxations begin: the same for every model in one store."""

    def generator(purpose: str) -> np.random.Generator:
        return generator_for(structures.frames_sha256, observe_version, secret, purpose)

    frames = structures.frames
    if draw.strain:
        frames = _strained(frames, draw, generator("strain"))
    if draw.rattle:
        random = generator("rattle").uniform(-draw.rattle, draw.rattle, frames.positions.shape)
        frames = frames.moved(frames.positions + np.where(fixed_atoms(structures)[:, None], 0.0, random))
    return frames


def _strained(frames: Frames, draw: StartDraw, rng: np.random.Generator) -> Frames:
    from scipy.linalg import expm  # long to import

    elements = [" ".join(map(str, np.unique(frames.numbers[frames.atom_slice(i)]))) for i in range(len(frames))]
    group = np.unique(elements, return_inverse=True)[1]
    n = int(group.max()) + 1
    signs = rng.permutation(np.arange(n) % 2 * 2 - 1) * rng.choice([-1, 1])  # of an odd number, either has one more
    common = draw.strain * signs * rng.uniform(0.5, 1.0, n)
    deviation = 0.25 * draw.strain * rng.uniform(-1.0, 1.0, (n, 6))
    deviation[:, :3] -= deviation[:, :3].mean(axis=1, keepdims=True)
    cell, positions = frames.cell.copy(), frames.positions.copy()
    for index in np.flatnonzero(draw.cells):
        strain = common[group[index]] * np.eye(3)
        if draw.shape:
            strain = strain + _symmetric_part(_tensor(deviation[group[index]]), frames, int(index))
        stretch = expm(strain * _tensor(np.array(draw.components, np.float64)))
        cell[index] = cell[index] @ stretch
        positions[frames.atom_slice(int(index))] = positions[frames.atom_slice(int(index))] @ stretch
    return frames.moved(positions, cell)


def _tensor(components: Float) -> Float:
    """(3, 3) from xx, yy, zz, yz, xz, xy."""
    return np.asarray(components[np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2]])])


def _symmetric_part(strain: Float, frames: Frames, index: int) -> Float:
    """The mean of a strain over the rotations of the space group of a structure."""
    found = symmetry(frames.atoms(index), SYMPREC)
    if found is None:
        return strain
    basis = frames.cell[index].T
    rotations = basis @ found.rotations @ np.linalg.inv(basis)
    return np.asarray((rotations @ strain @ rotations.transpose(0, 2, 1)).mean(axis=0))


def start_arrays(start: Frames) -> Mapping[str, NDArray[np.generic]]:
    """The arrays of an observation with drawn starts: start_positions (N, 3) and start_cell (n, 3, 3) [Å]."""
    return {"start_positions": start.positions, "start_cell": start.cell}


def read_starts(observation: Observation, frames: Frames) -> Frames:
    """The drawn starts of `frames` that are stored.

    Raises:
        ValueError: the observation does not fit `frames`.
    """
    positions = observation.array("start_positions", frames.positions.shape)
    return frames.moved(positions, observation.array("start_cell", frames.cell.shape))
