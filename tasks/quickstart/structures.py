"""The quickstart datasets of structures alone, for dynamics and for timing."""

from __future__ import annotations

from ase import Atoms
from ase.build import add_adsorbate, bulk, fcc100, molecule

from tasks.datasets.dataset import Dataset
from tasks.quickstart.dataset import Named, dataset_of, stated_card

# Metal, adsorbate, its height above the surface [Å], and site.
ADSORBATES = (("Cu", "CO", 1.9, "ontop"), ("Ni", "N", 1.1, "hollow"), ("Pt", "O", 1.1, "hollow"))


def build_crystals() -> Dataset:
    """Three crystals for dynamics."""
    ordered = bulk("Ni", cubic=True, a=3.57)
    ordered.symbols[0] = "Al"  # L1₂: the corner is Al, the faces are Ni
    entries = [
        Named("Cu", "fcc", bulk("Cu", cubic=True).repeat(2)),
        Named("Al", "fcc", bulk("Al", cubic=True).repeat(2)),
        Named("Ni3Al", "L12", ordered.repeat(2)),
    ]
    return dataset_of(stated_card("nve-crystals"), entries)


def build_molecules() -> Dataset:
    """Three molecules for dynamics, at the geometries of the G2 set."""
    entries = [Named(name, "molecule", molecule(name)) for name in ("H2O", "CH3CH2OH", "C6H6")]
    for entry in entries:
        entry.atoms.set_initial_magnetic_moments(None)
        entry.atoms.info["spin"] = 1
    return dataset_of(stated_card("nve-molecules"), entries)


def build_slabs() -> Dataset:
    """Three slabs with an adsorbate, for dynamics."""
    entries = []
    for metal, adsorbate, height, site in ADSORBATES:
        slab = fcc100(metal, (3, 3, 2), vacuum=6.0, periodic=True)
        # CO stands on its carbon.
        atoms = Atoms("CO", [(0, 0, 0), (0, 0, 1.15)]) if adsorbate == "CO" else adsorbate
        add_adsorbate(slab, atoms, height, site)
        slab.info.clear()
        slab.center(vacuum=6.0, axis=2)
        entries.append(Named(f"{adsorbate}/{metal}(100)", "slab", slab))
    return dataset_of(stated_card("nve-slabs"), entries)


def build_efficiency() -> Dataset:
    """Cells that are replicated for timing."""
    entries = [Named(element, "fcc", bulk(element, cubic=True)) for element in ("Al", "Cu", "Ni", "Pt")]
    return dataset_of(stated_card("efficiency"), entries)
