"""The quickstart dataset of diatomics: Morse curves with the measured constants of two molecules.

D_e is D₀ + ω_e/2 − ω_e x_e/4. All constants: K. P. Huber and G. Herzberg, Constants of Diatomic Molecules (1979).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from ase import Atoms
from ase.data import atomic_masses, atomic_numbers
from ase.units import _amu, _c, _e, invcm

from tasks.datasets.dataset import Dataset
from tasks.datasets.diatomic_pairs import Diatomic, DiatomicReference
from tasks.quickstart.dataset import Named, dataset_of, stated_card
from tasks.simulation.diatomics import pair_window
from tasks.structures.frames import Float

MEASURED = "experiment"
N_DISTANCES, FIRST = 40, 0.8  # the first in covalent radii


class MeasuredPair(NamedTuple):
    """Constants of a molecule of two equal atoms.

    Args:
        bond: r_e [Å].
        dissociation: D₀ [eV].
        wavenumber, anharmonicity: ω_e and ω_e x_e [cm⁻¹].
    """

    symbol: str
    bond: float
    dissociation: float
    wavenumber: float
    anharmonicity: float

    def morse(self, r: Float) -> tuple[Float, Float]:
        """Energy [eV], zero far apart, and force [eV/Å] at distances r (n,) [Å]."""
        depth = self.dissociation + (self.wavenumber / 2.0 - self.anharmonicity / 4.0) * invcm
        reduced = atomic_masses[atomic_numbers[self.symbol]] / 2.0 * _amu  # kg
        stiffness = reduced * (2.0 * np.pi * 100.0 * _c * self.wavenumber) ** 2 / _e * 1e-20  # eV/Å²
        width = np.sqrt(stiffness / (2.0 * depth))
        decay = np.exp(-width * (r - self.bond))
        return depth * ((1.0 - decay) ** 2 - 1.0), -2.0 * depth * width * (1.0 - decay) * decay


PAIRS = (
    MeasuredPair("H", 0.74144, 4.47813, 4401.213, 121.336),
    MeasuredPair("N", 1.097685, 9.7594, 2358.57, 14.324),
)


def build_pairs() -> Dataset:
    """H2 and N2 at geometric distances, from high on the wall to where nothing is felt."""
    structures: list[Named] = []
    rows = []
    for pair in PAIRS:
        start, name = len(structures), f"{pair.symbol}2"
        r = np.geomspace(*pair_window([atomic_numbers[pair.symbol]] * 2, FIRST), N_DISTANCES)
        for i, distance in enumerate(r):
            atoms = Atoms(name, [(0.0, 0.0, 0.0), (distance, 0.0, 0.0)])
            atoms.info["spin"] = 1
            structures.append(Named(f"{name} {i}", "", atoms, name))
        energy, force = (tuple(values.tolist()) for values in pair.morse(r))
        reference = DiatomicReference(distances=tuple(r.tolist()), energies=energy, forces=force)
        indices = tuple(range(start, len(structures)))
        rows.append(Diatomic(id=name, structures=indices, reference={MEASURED: reference}))
    return dataset_of(stated_card("pairs"), structures, pairs=rows)
