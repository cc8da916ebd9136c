"""Checks of simulated systems against the structures and the card of their data set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tasks.datasets.card import Card, DatasetError
from tasks.datasets.pair_analyses import FirstPeakAnalysis, RadialDistributionAnalysis, RadialDistributionRmseAnalysis
from tasks.datasets.simulated_systems import AnyAnalysis, DensityAnalysis, SimulatedSystem
from tasks.structures.frames import Frames


def check_systems(where: str, systems: Sequence[SimulatedSystem], card: Card, frames: Frames) -> None:
    """Checks structures, atoms, references and distances of `systems`.

    Raises:
        DatasetError: one line, which begins with `where`.
    """
    first: dict[int, str] = {}
    for row, system in enumerate(systems):
        place = f"{where}.{row} ({system.id})"
        if system.structure >= len(frames):
            raise DatasetError(f"{place}: structure {system.structure} is not one of {len(frames)}")
        if frames.n_atoms[system.structure] < 2:
            raise DatasetError(f"{place}: structure {system.structure} has one atom: take a larger cell")
        if system.structure in first:
            raise DatasetError(f"{place}: structure: is that of {first[system.structure]}: join their analyses")
        first[system.structure] = system.id
        for analysis in system.analyses:
            _check_analysis(f"{place}: {analysis.name or analysis.measure}", analysis, system, card, frames)
    if systems and len(systems) < len(frames):
        left_out = next(i for i in range(len(frames)) if i not in first)
        raise DatasetError(f"{where}: structure {left_out} is of no system: leave it out")


def _check_analysis(where: str, analysis: AnyAnalysis, system: SimulatedSystem, card: Card, frames: Frames) -> None:
    n_atoms = int(frames.n_atoms[system.structure])
    outside = [atom for atom in analysis.atoms_used if atom >= n_atoms]
    if outside:
        raise DatasetError(f"{where}: there is no atom {outside[0]}: the structure has atoms 0 to {n_atoms - 1}")
    if analysis.references is not None and analysis.references.keys() != card.label_sets.keys():
        stated = ", ".join(sorted(analysis.references)) or "none"
        known = ", ".join(sorted(card.label_sets)) or "none"
        raise DatasetError(f"{where}: reference: has {stated}, but the card's label sets are {known}")
    of_pairs = RadialDistributionAnalysis | RadialDistributionRmseAnalysis | FirstPeakAnalysis
    if isinstance(analysis, of_pairs | DensityAnalysis) and not frames.periodic[system.structure]:
        raise DatasetError(f"{where}: the structure must be periodic in all three directions")
    if isinstance(analysis, of_pairs):
        vectors = frames.cell[system.structure]
        half = float(np.linalg.norm(vectors, axis=1).min()) / 2
        if analysis.r_max > half * (1 + 1e-9):
            field = "r_max" if isinstance(analysis, RadialDistributionAnalysis) else "up_to"
            raise DatasetError(
                f"{where}: {field}: {analysis.r_max:g} Å is more than half of the box ({half:.3f} Å): make it smaller"
            )
