"""Strategies that look for a better score than honest answers: none gets past the better of honesty and the baseline.

On sets that the judge builds itself, and on reference data where there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tasks.datasets.card import Card, LabelSet
from tasks.datasets.dataset import Dataset, load_dataset
from tasks.importing.reactions import import_reactions
from tasks.kind import Kind, Observation
from tasks.kinds.energy_differences import EnergyDifferences, EnergyDifferencesParameters
from tasks.kinds.equation_of_state import EquationOfStateKind, EquationOfStateParameters
from tasks.kinds.labelled_frames import LabelledFrames, LabelledFramesParameters
from tasks.structures.frames import Bool, Float
from tasks.structures.predictions import Cause
from tests.tasks.imported_frames import import_frames

ENERGIES = ("BH28", "BH46", "WCPT26", "S66", "A24", "DARC", "RSE43", "G21EA", "TAUT15")


class Answer(NamedTuple):
    """Energies (n,), forces (N, 3) and stress (n, 6) of a model; `hard` (n,) orders the frames, the hardest first."""

    energy: Float
    forces: Float | None
    stress: Float | None
    frame_of_atom: Float
    hard: Float
    n_atoms: Float

    def failed(self, frames: Bool) -> Answer:
        """The same with NaN for those frames (n,)."""
        energy = np.where(frames, np.nan, self.energy)
        atoms = frames[self.frame_of_atom.astype(int)][:, None]
        forces = None if self.forces is None else np.where(atoms, np.nan, self.forces)
        stress = None if self.stress is None else np.where(frames[:, None], np.nan, self.stress)
        return self._replace(energy=energy, forces=forces, stress=stress)

    def hardest(self, share: float) -> Bool:
        """(n,) the share of frames that is hardest."""
        frames = np.zeros(len(self.energy), np.bool_)
        frames[self.hard[: max(1, int(share * len(frames)))].astype(int)] = True
        return frames

    def trivial(self, frames: Bool) -> Answer:
        """The same with zero for those frames."""
        failed = self.failed(frames)
        return failed._replace(**{name: np.nan_to_num(a) for name, a in failed._asdict().items() if a is not None})

    @property
    def observation(self) -> Observation:
        arrays = {"energy": self.energy, "forces": self.forces, "stress": self.stress}
        failure = np.where(np.isfinite(self.energy), 0, Cause.NON_FINITE).astype(np.int8)
        return Observation({**{name: a for name, a in arrays.items() if a is not None}, "failure": failure})


def one_outlier(a: Answer) -> Answer:
    energy = a.energy.copy()
    energy[int(a.hard[-1])] += 1e4
    return a._replace(energy=energy)


STRATEGIES: Mapping[str, Callable[[Answer], Answer]] = {
    "raises on the hardest 5 %": lambda a: a.failed(a.hardest(0.05)),
    "raises on the hardest 20 %": lambda a: a.failed(a.hardest(0.20)),
    "raises on the hardest 49 %": lambda a: a.failed(a.hardest(0.49)),
    "answers a constant": lambda a: a.trivial(a.hardest(1.0))._replace(energy=np.full(len(a.energy), -1.0)),
    "answers the mean": lambda a: a._replace(energy=np.full(len(a.energy), a.energy.mean())),
    "is trivial on the hardest": lambda a: a.trivial(a.hardest(0.2)),
    "answers NaN": lambda a: a.failed(a.hardest(1.0)),
    "has no stress": lambda a: a._replace(stress=None),
    "has one outlier": one_outlier,
    "is an ideal gas": lambda a: a.trivial(a.hardest(1.0)),
    "shifts by composition": lambda a: a._replace(energy=a.energy + 3.0 * a.n_atoms),
    "flips the stress": lambda a: a._replace(stress=None if a.stress is None else -a.stress),
}


ORACLE = "is trivial on the hardest"


def check(kind: Kind, dataset: Dataset, parameters: Any, honest: Answer, oracle: bool = True) -> None:
    """No strategy has a lower penalised error than honest answers, or than the baseline where that is lower.

    Args:
        oracle: whether the trivial answer is worse than the model's on each frame. Else a model that knows where it is
            wrong answers better by it: that is no failure.
    """
    label_set = dataset.card.default_label_set
    metrics = kind.measure(honest.observation, dataset, parameters, label_set).metrics
    for name, strategy in STRATEGIES.items():
        if name == ORACLE and not oracle:
            continue
        gamed = kind.measure(strategy(honest).observation, dataset, parameters, label_set).metrics
        for metric, record in metrics.items():
            if record.charged is None or record.baseline is None:
                continue
            least = min(record.charged, record.baseline)
            after = gamed[metric].charged
            assert after is not None
            assert after >= least * (1 - 1e-9), (dataset.card.name, name, metric, after, record)


def honest_frames(dataset: Dataset, share: float) -> Answer:
    """A model with a share of the composition-only model's errors, a few of them ten times as large."""
    labels, frames = dataset.labels(), dataset.frames
    assert labels.energy is not None
    rng, n = np.random.default_rng(0), len(frames)
    heavy = share * np.where(rng.random(n) < 0.02, 10.0, 1.0)
    spread = np.std(labels.energy / frames.n_atoms)
    off = heavy * spread * rng.normal(size=n)
    forces = None if labels.forces is None else labels.forces * (1 + heavy[frames.frame_index][:, None])
    stress = None if labels.stress is None else labels.stress * (1 + heavy[:, None])
    hard = np.argsort(-np.abs(off)).astype(float)
    index = frames.frame_index.astype(float)
    return Answer(labels.energy + frames.n_atoms * off, forces, stress, index, hard, frames.n_atoms.astype(float))


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("name", ["wien2k-frames@1"])
def test_frames_that_the_judge_builds(quickstart: Path, name: str, share: float) -> None:
    dataset = load_dataset(quickstart / name)
    check(LabelledFrames(), dataset, LabelledFramesParameters(), honest_frames(dataset, share), share <= 0.1)


@pytest.mark.data
@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("element", ["Cu", "Si"])
def test_mlearn(reference_data: Path, element: str, share: float) -> None:
    card = Card(
        name=f"mlearn-{element.lower()}", version="1", title="mlearn", domain="Inorganic Materials", periodic=True,
        label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)}, default_label_set="PBE",
    )  # fmt: skip
    dataset = import_frames(reference_data / "mlearn" / f"{element}_test.extxyz", card)
    check(LabelledFrames(), dataset, LabelledFramesParameters(), honest_frames(dataset, share), share <= 0.1)


def honest_differences(dataset: Dataset, share: float) -> Answer:
    """A model whose sums have a share of the mean size of the references as their error, some of them more."""
    rows, n, label_set = dataset.table.differences, len(dataset.frames), dataset.label_set(None)
    matrix = np.zeros((len(rows), n))
    for i, row in enumerate(rows):
        for term in row.terms:
            matrix[i, term.structure] += term.coefficient
    reference = np.array([row.reference[label_set] for row in rows])
    rng = np.random.default_rng(0)
    error = share * np.abs(reference).mean() * rng.standard_t(3, len(rows))
    energy = np.linalg.lstsq(matrix, reference + error, rcond=None)[0]
    hard = np.argsort(-(np.abs(matrix) * np.abs(error)[:, None]).max(axis=0)).astype(float)
    return Answer(energy, None, None, np.zeros(0), hard, dataset.frames.n_atoms.astype(float))


@pytest.mark.parametrize("name", ["s22@1", "dbh24@1"])
def test_differences_that_the_judge_builds(quickstart: Path, name: str) -> None:
    dataset = load_dataset(quickstart / name)
    check(EnergyDifferences(), dataset, EnergyDifferencesParameters(), honest_differences(dataset, 0.05))


@pytest.mark.data
@pytest.mark.parametrize("name", ENERGIES)
def test_gscdb(reference_data: Path, name: str) -> None:
    card = Card(
        name=name.lower(), version="1", title=name, domain="Molecules", periodic=False,
        label_sets={"CCSD(T)": LabelSet(theory="CCSD(T)", dispersion=True)}, default_label_set="CCSD(T)",
    )  # fmt: skip
    dataset = import_reactions(reference_data / "gscdb" / name, card)
    check(EnergyDifferences(), dataset, EnergyDifferencesParameters(), honest_differences(dataset, 0.05))


def test_flat_equations_of_state(quickstart: Path) -> None:
    """A constant, with or without the rounding of single precision, is no better than no answer."""
    dataset = load_dataset(quickstart / "wien2k-eos@1")
    n, kind, parameters = len(dataset.frames), EquationOfStateKind(), EquationOfStateParameters()
    for energy in (np.full(n, -1.0), -1.0 + 6e-8 * np.random.default_rng(0).integers(-1, 2, n)):
        flat = Observation({"energy": energy, "failure": np.zeros(n, np.int8)})
        for metric in kind.measure(flat, dataset, parameters, dataset.card.default_label_set).metrics.values():
            assert metric.charged == pytest.approx(metric.failure_cost)
