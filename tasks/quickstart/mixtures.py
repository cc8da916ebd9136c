"""Random mixtures of elements, which are heated and compressed to see how long a model holds out.

MLIP Arena runs such mixtures; these are drawn here, the same for every model. Two to five elements are on the sites of
a cubic lattice, each a little off its site. Nothing is known of them but that a sound model does not let them explode.
"""

from __future__ import annotations

import numpy as np
from ase import Atoms
from ase.data import chemical_symbols, covalent_radii

from tasks.datasets.dataset import Dataset
from tasks.datasets.simulated_systems import SimulatedSystem
from tasks.quickstart.dataset import Named, dataset_of, stated_card

SEED = 20261124
N_MIXTURES = 24
SIDES = (2, 3, 4)  # sites along an edge
OFF_SITE = 0.05  # Å
# From lithium to bismuth, without noble gases, technetium, promethium and polonium.
LEFT_OUT = frozenset({10, 18, 36, 43, 54, 61})
ELEMENTS = tuple(z for z in range(3, 84) if z not in LEFT_OUT)


def build_mixtures() -> Dataset:
    """24 mixtures of 8 to 64 atoms."""
    draw = np.random.default_rng(SEED)
    structures, systems = [], []
    for index in range(N_MIXTURES):
        side = SIDES[index % len(SIDES)]
        kinds = draw.choice(ELEMENTS, size=int(draw.integers(2, 6)), replace=False)
        numbers = draw.choice(kinds, size=side**3)
        # Neighbours touch as two atoms of the largest element do.
        spacing = 2.0 * float(covalent_radii[numbers].max())
        sites = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3) * spacing
        # Rounded, so that all processors have the same last digits.
        positions = np.round(sites + draw.uniform(-OFF_SITE, OFF_SITE, sites.shape), 6)
        atoms = Atoms(numbers, positions, cell=np.eye(3) * side * spacing, pbc=True)
        symbols = "".join(chemical_symbols[z] for z in sorted(set(numbers.tolist())))
        name = f"{index:02d} {symbols}"
        structures.append(Named(name, f"{side**3} atoms", atoms))
        systems.append(SimulatedSystem(id=name, group=f"{side**3} atoms", structure=index))
    return dataset_of(stated_card("mixtures"), structures, systems=systems)
