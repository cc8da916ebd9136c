"""A Monte Carlo barostat: changes of the volume at constant pressure, in which molecules stay rigid.

The volume V changes by a number that is uniform in ± a limit. The cell keeps its shape, and each molecule moves with
its centroid. A change is accepted with the probability min(1, exp(−ΔW/kT)), ΔW = ΔE + PΔV − N kT ln(V′/V), where N is
the number of molecules (K.-H. Chow and D. M. Ferguson, Comput. Phys. Commun. 91, 283 (1995),
doi:10.1016/0010-4655(95)00059-O; J. Åqvist et al., Chem. Phys. Lett. 384, 288 (2004)).

The limit adapts to the share of accepted changes. An adapting limit disturbs the distribution of volumes, so it is
frozen after the equilibration, unless a published protocol adapts it throughout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from ase.units import bar, kB
from numpy.typing import NDArray

from tasks.structures.frames import Bool, Float, Frames, Int

FIRST_SHARE, LARGEST_SHARE = 0.01, 0.3  # of the volume
ADAPT_EVERY = 10  # changes
OFTEN, SELDOM, FACTOR = 0.75, 0.25, 1.1
STATE = ("limit", "tried", "accepted")


class VolumeChange(NamedTuple):
    """A change of each volume.

    Args:
        positions: (N, 3) [Å] after it.
        cells: (n, 3, 3) [Å] after it.
        volumes: (n,) [Å³] before it.
        change: (n,) [Å³].
    """

    positions: Float
    cells: Float
    volumes: Float
    change: Float


class MonteCarloBarostat:
    """The barostat of n periodic structures with N atoms in all.

    Args:
        pressure_bar: 1.01325 is one atmosphere.
        molecules: (N,) for each atom a number of its molecule, which atoms of one structure share; None: each atom is
            a molecule of its own, as in crystals.
        state: of an interrupted run.

    Attributes:
        pressure_bar: may change between steps.
        adapts: whether the limit adapts; set it to False after the equilibration.

    Raises:
        ValueError: a structure is not periodic in all directions, or a molecule lies in two structures.
    """

    def __init__(
        self,
        frames: Frames,
        pressure_bar: float,
        molecules: Int | None = None,
        state: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        if not frames.periodic.all():
            raise ValueError(
                f"barostat: structure {np.flatnonzero(~frames.periodic)[0]} has no volume: make it periodic in all "
                "three directions, or run it at constant volume"
            )
        self._structure = frames.frame_index
        numbers = np.arange(len(self._structure)) if molecules is None else molecules
        self._molecule, self._n_molecules = _numbered(numbers, self._structure, len(frames))
        self._n_atoms = np.bincount(self._molecule)
        self.pressure_bar = pressure_bar
        n = len(frames)
        self.limit = FIRST_SHARE * frames.volumes
        self.tried, self.accepted = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.adapts = True
        for name in STATE if state is not None else ():
            setattr(self, name, np.array(state[name]))  # type: ignore[index]

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays that another barostat needs to continue this one."""
        return {name: getattr(self, name) for name in STATE}

    def propose(self, cells: Float, positions: Float, draws: Sequence[np.random.Generator], alive: Int) -> VolumeChange:
        """A change of the volumes of the k structures `alive`, drawn from `draws` (k,); the others stay."""
        volumes = np.abs(np.linalg.det(cells))
        change = np.zeros(len(cells))
        change[alive] = [draw.uniform(-1.0, 1.0) for draw in draws] * self.limit[alive]
        ratio = 1 + change / volumes
        scale = np.cbrt(np.where(ratio > 0, ratio, 1.0))  # no volume is negative: such a change is not accepted
        centroids = np.stack(
            [np.bincount(self._molecule, weights=axis) / self._n_atoms for axis in positions.T], axis=1
        )
        moved = positions + ((scale[self._structure] - 1)[:, None]) * centroids[self._molecule]
        return VolumeChange(moved, cells * scale[:, None, None], volumes, change)

    def decide(
        self,
        trial: VolumeChange,
        rise: Float,
        temperature_k: float | Float,
        draws: Sequence[np.random.Generator],
        alive: Int,
    ) -> Bool:
        """(k,) whether the change of each structure `alive` is accepted; the limits adapt.

        Args:
            rise: (k,) of the potential energy [eV]; infinite: not accepted.
            temperature_k: one, or (k,).
            draws: (k,) those of `propose`.
        """
        kt, change = kB * temperature_k, trial.change[alive]
        ratio = np.maximum(1 + change / trial.volumes[alive], 0.0)
        with np.errstate(divide="ignore"):
            crowding = self._n_molecules[alive] * kt * np.log(ratio)
        exponent = (rise + self.pressure_bar * bar * change - crowding) / kt
        accepted = np.array([draw.random() for draw in draws]) < np.exp(-np.maximum(exponent, 0.0))
        if self.adapts:
            self._adapt(trial, accepted, alive)
        return np.asarray(accepted)

    def _adapt(self, trial: VolumeChange, accepted: Bool, alive: Int) -> None:
        self.tried[alive] += 1
        self.accepted[alive] += accepted
        full = self.tried >= ADAPT_EVERY
        share = self.accepted / np.maximum(self.tried, 1)
        self.limit[full & (share > OFTEN)] *= FACTOR
        self.limit[full & (share < SELDOM)] /= FACTOR
        np.minimum(self.limit, LARGEST_SHARE * trial.volumes, out=self.limit)
        self.tried[full] = self.accepted[full] = 0


def _numbered(molecules: Int, structure: Int, n: int) -> tuple[Int, Int]:
    """(N,) molecules numbered from 0, and (n,) how many each structure has."""
    if molecules.shape != structure.shape:
        raise ValueError(f"molecules: {molecules.size} numbers for {structure.size} atoms: give one for each atom")
    _, first, numbered = np.unique(molecules, return_index=True, return_inverse=True)
    if (split := np.flatnonzero(structure[first][numbered] != structure)).size:
        raise ValueError(f"molecules: molecule {molecules[split[0]]} lies in two structures: number them through")
    return numbered, np.bincount(structure[first], minlength=n)
