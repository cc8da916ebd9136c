"""The site of two models and public and hidden tasks of the same structures, whose errors are known."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule

from judge.publishing.site_sources import with_stored
from judge.ranking.leaderboard import Leaderboard
from judge.ranking.load import read_board
from judge.records.items_file import items_path, pack_items
from judge.view.sources import Sources
from submissions.store.interface import Store
from tasks.datasets.card import Card, Difference, LabelSet, Summand, Table
from tasks.datasets.dataset import Dataset, load_dataset, save_dataset
from tasks.datasets.dataset_checks import FRAMES
from tasks.kind import Observation
from tasks.kinds.registry import KINDS
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Labels
from tasks.suites.suite import Suite
from tests.world.board_records import result, save, submission, task

FORCES = task("known-forces", "labelled_frames", "Molecules")
BARRIERS = task("known-barriers", "energy_differences", "Molecules")
SECRET = task("secret-forces", "labelled_frames", "Molecules")
SUITE = Suite(name="structures", version="1", title="Structures", tasks=(FORCES, BARRIERS, SECRET))
PUBLIC = frozenset({FORCES.dataset, BARRIERS.dataset})
CANARY = "CANARY-of-a-hidden-set"
N_FRAMES = 9
OFF = {
    "steady": np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]),
    "uneven": np.array([3.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, np.nan, 0.2]),
}
"""By model, how far each component of the forces [eV/Å], and the energy of each frame [eV], is off; NaN: it failed."""


class StructuresSite(NamedTuple):
    """The records of the site."""

    store: Store
    board: Leaderboard
    sources: Sources
    dataset: Dataset

    def with_all(self) -> Sources:
        """The sources with what the store has."""
        return with_stored(self.sources, self.store, self.board)


def structures() -> list[Atoms]:
    """Copper in a periodic cell, and molecules with an atom of it."""
    found = [bulk("Cu", cubic=True)]
    for number in range(1, N_FRAMES):
        atoms = molecule("CH3CH2OH")
        atoms.positions *= 1 + 0.01 * number
        found.append(atoms)
    return found


def structures_site(store: Store, data: Path) -> StructuresSite:
    """Two models in all tasks."""
    frames = Frames.from_atoms(structures())
    rng = np.random.default_rng(0)
    labels = Labels(rng.normal(0, 2, N_FRAMES), rng.normal(0, 1, (len(frames.numbers), 3)))
    for each in SUITE.tasks:
        dataset = _dataset(each.name, frames, labels, CANARY if each is SECRET else "frame")
        sha256 = load_dataset(save_dataset(dataset, data)).card.sha256[FRAMES]
        for name, off in OFF.items():
            failure = np.where(np.isnan(off), Cause.ERROR, Cause.NONE).astype(np.int8)
            of_atom = np.repeat(off, frames.n_atoms)[:, None]
            assert labels.energy is not None
            assert labels.forces is not None
            answers = {"energy": labels.energy + off, "forces": labels.forces + of_atom, "failure": failure}
            measured = KINDS[each.kind].measure(Observation(answers), dataset, each.parameters, None)
            judged = result(submission(name), each, measured.metrics, n_items=len(measured.items))
            provenance = judged.provenance.model_copy(update={"frames_sha256": sha256})
            judged = judged.model_copy(update={"provenance": provenance})
            save(store, [submission(name)], [judged])
            path = items_path(judged.submission, judged.task, judged.result_key)
            store.put(path, pack_items(measured.items))
    board = read_board(store, SUITE, pytest.fail)
    return StructuresSite(store, board, Sources(public=PUBLIC, data=data), dataset)


def _dataset(name: str, frames: Frames, labels: Labels, word: str) -> Dataset:
    card = Card(
        name=name,
        version="1",
        title=name,
        domain="Molecules",
        periodic=False,
        default_label_set="exact",
        label_sets={"exact": LabelSet(theory="exact", dispersion=False)},
    )
    names = tuple(f"{word} {number}" for number in range(N_FRAMES))
    table = Table(id=names, group=("",) * N_FRAMES, cluster=names)
    if name != BARRIERS.name:
        return Dataset(card, frames, table, {"exact": labels}, {})
    assert labels.energy is not None
    rows = tuple(
        Difference(
            id=f"barrier {number}",
            terms=(Summand(structure=number, coefficient=1.0), Summand(structure=1, coefficient=-1.0)),
            reference={"exact": float(labels.energy[number] - labels.energy[1])},
        )
        for number in range(2, N_FRAMES)
    )
    return Dataset(card, frames, table.model_copy(update={"differences": rows}), {}, {})
