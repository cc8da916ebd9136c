"""A kind of task that no package of the judge knows: the energy that it takes to stretch a crystal by 1 %.

It is one file with everything that a kind needs: what it asks, what it measures, its format and its page text. Tests
use it as it stands, and as the module of an installed package.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from ase.io import read

from tasks.datasets.card import Card, Crystal, Table
from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import (
    DatasetPart,
    ImportFormat,
    KindBaseline,
    Observation,
    Parameters,
    ScoreFamily,
    Traits,
    Watch,
    Work,
)
from tasks.kinds.crystal_kind import CrystalKind, CrystalValues
from tasks.metrics.property_errors import CrystalProperty
from tasks.model.calculator import BatchCalculator
from tasks.observing.frames_observation import observe_frames, read_frames
from tasks.structures.frames import Frames

STRETCH = CrystalProperty("stretch_mev_per_atom", "meV/atom", "Energy of a stretch by 1 %")
PAGE = """
{% from "kinds/shared.html" import penalised, normalised %}
<p>How much energy a stretch by {{ (0.01) | percent }} takes.</p>
{{ normalised(fact, fact.release.property_error) }}
{{ penalised(fact) }}
"""


def read_stretches(path: Path, card: Card) -> Dataset:
    """Crystals of an extended XYZ file, each with `stretch_mev_per_atom` in its comment line."""
    structures = read(path, ":")
    names = tuple(f"{atoms.get_chemical_formula()} {i}" for i, atoms in enumerate(structures))
    level = card.default_label_set or ""
    crystals = tuple(
        Crystal(id=name, structure=i, reference={level: {STRETCH.name: atoms.info[STRETCH.name]}})
        for i, (name, atoms) in enumerate(zip(names, structures, strict=True))
    )
    table = Table(id=names, group=("",) * len(names), cluster=names, crystals=crystals)
    return Dataset(card.model_copy(update={"periodic": True}), Frames.from_atoms(structures), table, {})


def stretched(frames: Frames) -> Frames:
    """The crystals, and after them each stretched by 1 % in all directions."""
    atoms = [frames.atoms(i) for i in range(len(frames))]
    for each in atoms:
        each.set_cell(1.01 * each.cell, scale_atoms=True)
    return Frames.concatenate([frames, Frames.from_atoms(atoms)])


class Stretch(CrystalKind):
    """The error of the energy [meV/atom] that a stretch takes."""

    name: str = "stretch"
    observe_version: int = 1
    measure_version: int = 1
    parameters: type[Parameters] = Parameters
    properties = (STRETCH,)
    traits: Traits = Traits(
        title="stretch",
        about="energy that it takes to stretch a crystal by 1 %",
        measures=DatasetPart.CRYSTALS,
        import_format=ImportFormat("stretches", read_stretches, folder=False),
        score=ScoreFamily.PROPERTY,
        metrics=(STRETCH.metric,),
        baseline=KindBaseline("Soft as nothing", "A trivial model in which a stretch takes no energy."),
        page=PAGE,
    )

    def observe(
        self, structures: Structures, parameters: Parameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        return observe_frames(stretched(structures.frames), ("energy",), model, watch)

    def work(self, structures: Structures, parameters: Parameters) -> Work:
        return Work.of(structures.frames, 2)

    def values(self, observation: Observation, dataset: Dataset, parameters: Parameters) -> CrystalValues:
        n = len(dataset.frames)
        answer = read_frames(observation, stretched(dataset.frames))
        per_atom = 1000.0 * (answer.energy[n:] - answer.energy[:n]) / dataset.frames.n_atoms
        predicted = per_atom[:, None]
        return CrystalValues(np.maximum(answer.failure[:n], answer.failure[n:]), predicted, np.zeros_like(predicted))
