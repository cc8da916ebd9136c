"""Densities of liquids, each at its own temperature."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from ase import Atoms

from tasks.datasets.card import Card, DatasetError, Table
from tasks.datasets.dataset import Dataset
from tasks.datasets.simulated_systems import DensityAnalysis, SimulatedSystem
from tasks.importing.labelled_import import with_periodicity
from tasks.importing.ml_peg.files import atoms_of, inside
from tasks.structures.frames import Frames

# Densities of water [g/cm³] by temperature [K], which ML-PEG's program states.
WATER = {270.0: 0.9998, 290.0: 0.9991, 300.0: 0.997, 330.0: 0.9802}


class Liquids:
    """Boxes with their temperatures [K] and experimental densities [g/cm³]."""

    def __init__(self) -> None:
        self.boxes: dict[str, Atoms] = {}
        self.temperatures: list[float] = []
        self.densities: list[float] = []

    def add(self, name: str, box: Atoms, temperature: float, density: float) -> None:
        """Adds a liquid."""
        self.boxes[name] = Atoms(box.numbers, box.positions, cell=box.cell, pbc=True)
        self.temperatures.append(temperature)
        self.densities.append(density)

    def dataset(self, card: Card) -> Dataset:
        """The data set, at the card's default label set.

        Raises:
            DatasetError: there are no liquids.
        """
        if not self.boxes:
            raise DatasetError(f"{card.name}: has no liquids")
        level, names = str(card.default_label_set), tuple(self.boxes)
        systems = tuple(
            SimulatedSystem(
                id=name,
                structure=i,
                analyses=(DensityAnalysis(measure="density", reference={level: self.densities[i]}),),
            )
            for i, name in enumerate(names)
        )
        frames = Frames.from_atoms(list(self.boxes.values()))
        table = Table(id=names, group=("",) * len(names), cluster=names, systems=systems)
        return Dataset(
            with_periodicity(card, frames), frames, table, {}, {"temperature_k": np.array(self.temperatures)}
        )


def water_density(folder: Path) -> Liquids:
    """water_density: 333 molecules at each of four temperatures."""
    liquids = Liquids()
    for temperature, density in WATER.items():
        path = inside(folder, "water_density") / f"water_T_{temperature:.1f}" / "water_equilib.xyz"
        if path.is_file():
            liquids.add(f"water at {temperature:g} K", atoms_of(path), temperature, density)
    return liquids


def liquid_densities(folder: Path) -> Liquids:
    """liquid_densities: boxes that state temperature and density."""
    liquids = Liquids()
    for path in sorted(inside(folder, "equilibrated_structures_xyz").glob("*.xyz")):
        box = atoms_of(path, "extxyz")
        density = next((box.info[name] for name in ("exp_density", "density") if name in box.info), None)
        if "exp_temperature" not in box.info or density is None:
            raise DatasetError(f"{path}: exp_temperature, exp_density: one of them is missing")
        liquids.add(path.stem, box, float(box.info["exp_temperature"]), float(density))
    return liquids


READERS: Mapping[str, Callable[[Path], Liquids]] = {
    "water_density": water_density,
    "liquid_densities": liquid_densities,
}
