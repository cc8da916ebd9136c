"""Strategies that look for a better score than honest answers: none gets past the better of honesty and the baseline.

On sets that the judge builds itself, and on reference data where there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tasks.datasets.card import Card, DatasetError, LabelSet
from tasks.datasets.dataset import Dataset, load_dataset
from tasks.importing.deepmd import read_deepmd
from tasks.importing.labelled_import import labelled_dataset
from tasks.importing.reactions import import_reactions
from tasks.kind import Kind, Observation
from tasks.kinds.energy_differences import EnergyDifferences, EnergyDifferencesParameters
from tasks.kinds.equation_of_state import EquationOfStateKind, EquationOfStateParameters
from tasks.kinds.labelled_frames import LabelledFrames, LabelledFramesParameters
from tasks.structures.composition import composition, composition_energy
from tasks.structures.frames import Bool, Float
from tasks.structures.predictions import Cause
from tests.tasks.imported_frames import import_frames

ENERGIES = (
    "A24", "ACONF", "AHB21", "BH28", "BH46", "BHROT27", "BSR36", "CHB6", "DARC", "G21EA", "HB49", "IL16", "MCONF",
    "RSE43", "S66", "SCONF", "TAUT15", "UPU23", "WCPT26", "X40",
)  # fmt: skip
WITH_BARE_PROTONS = ("G21IP", "PA26")  # they have no energy, so their sums do not balance
QUALITIES = (0.01, 0.03, 0.1, 0.3, 0.5, 1.0)  # share of the trivial model's errors


class Answer(NamedTuple):
    """Energies (n,), forces (N, 3) and stress (n, 6) of a model.

    `hard` (n,) orders the frames, the hardest first; on those in `helped` (n,) the trivial answer is better.
    """

    energy: Float
    forces: Float | None
    stress: Float | None
    frame_of_atom: Float
    hard: Float
    n_atoms: Float
    helped: Bool

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
    "is trivial on the hardest": lambda a: a.trivial(a.hardest(0.2) & ~a.helped),
    "answers NaN": lambda a: a.failed(a.hardest(1.0)),
    "has no stress": lambda a: a._replace(stress=None),
    "has one outlier": one_outlier,
    "is an ideal gas": lambda a: a.trivial(a.hardest(1.0)),
    "shifts by composition": lambda a: a._replace(energy=a.energy + 3.0 * a.n_atoms),
    "flips the stress": lambda a: a._replace(stress=None if a.stress is None else -a.stress),
}


def check(kind: Kind, dataset: Dataset, parameters: Any, honest: Answer) -> None:
    """No strategy has a lower penalised error than honest answers, or than the baseline where that is lower.

    A model that gives the trivial answer where it knows its own to be worse answers better by it: that is no failure.
    """
    label_set = dataset.card.default_label_set
    metrics = kind.measure(honest.observation, dataset, parameters, label_set).metrics
    for name, strategy in STRATEGIES.items():
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
    counts = composition(frames)
    trivial = labels.energy - composition_energy(counts, labels.energy, np.ones(n, np.bool_))
    helped = (heavy > 1) | (np.abs(off) > np.abs(trivial) / frames.n_atoms)
    n_atoms = frames.n_atoms.astype(float)
    return Answer(labels.energy + frames.n_atoms * off, forces, stress, index, hard, n_atoms, helped)


@pytest.mark.parametrize("share", QUALITIES)
@pytest.mark.parametrize("name", ["wien2k-frames@2"])
def test_frames_that_the_judge_builds(quickstart: Path, name: str, share: float) -> None:
    dataset = load_dataset(quickstart / name)
    check(LabelledFrames(), dataset, LabelledFramesParameters(), honest_frames(dataset, share))


@pytest.mark.data
@pytest.mark.parametrize("share", QUALITIES)
@pytest.mark.parametrize("element", ["Cu", "Si"])
def test_mlearn(reference_data: Path, element: str, share: float) -> None:
    card = Card(
        name=f"mlearn-{element.lower()}", version="1", title="mlearn", domain="Inorganic Materials", periodic=True,
        label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)}, default_label_set="PBE",
    )  # fmt: skip
    dataset = import_frames(reference_data / "mlearn" / f"{element}_test.extxyz", card)
    check(LabelledFrames(), dataset, LabelledFramesParameters(), honest_frames(dataset, share))


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
    # Zero for a part of a sum comes nearer to the reference by chance, if the error is about as large.
    n_atoms, helped = dataset.frames.n_atoms.astype(float), np.full(n, share > 0.05)
    return Answer(energy, None, None, np.zeros(0), hard, n_atoms, helped)


@pytest.mark.parametrize("name", ["s22@1", "dbh24@1"])
def test_differences_that_the_judge_builds(quickstart: Path, name: str) -> None:
    dataset = load_dataset(quickstart / name)
    check(EnergyDifferences(), dataset, EnergyDifferencesParameters(), honest_differences(dataset, 0.05))


def differences_card(name: str) -> Card:
    return Card(
        name=name.lower(), version="1", title=name, domain="Molecules", periodic=name == "X23",
        label_sets={"CCSD(T)": LabelSet(theory="CCSD(T)", dispersion=True)}, default_label_set="CCSD(T)",
    )  # fmt: skip


@pytest.mark.data
@pytest.mark.parametrize("share", [0.05, 0.3, 0.5])
@pytest.mark.parametrize("name", ENERGIES)
def test_gscdb(reference_data: Path, name: str, share: float) -> None:
    """For models clearly better than the trivial one; a constant may come closer to barriers than zero does."""
    dataset = import_reactions(reference_data / "gscdb" / name, differences_card(name))
    check(EnergyDifferences(), dataset, EnergyDifferencesParameters(), honest_differences(dataset, share))


@pytest.mark.data
@pytest.mark.parametrize("share", [0.05, 0.3, 0.5])
def test_lattice_energies_of_x23(reference_data: Path, share: float) -> None:
    dataset = import_reactions(reference_data / "x23", differences_card("X23"))
    check(EnergyDifferences(), dataset, EnergyDifferencesParameters(), honest_differences(dataset, share))


@pytest.mark.data
@pytest.mark.parametrize("name", WITH_BARE_PROTONS)
def test_sums_that_lose_a_proton_are_refused(reference_data: Path, name: str) -> None:
    with pytest.raises(DatasetError, match=r"the sum has -1 H atoms, not 0: .*\"unbalanced\": true"):
        import_reactions(reference_data / "gscdb" / name, differences_card(name))


@pytest.mark.data
@pytest.mark.parametrize("share", QUALITIES)
def test_water(reference_data: Path, share: float) -> None:
    card = Card(
        name="water", version="1", title="water", domain="Molecules", periodic=True,
        label_sets={"PBE0": LabelSet(theory="PBE0", dispersion=False)}, default_label_set="PBE0",
    )  # fmt: skip
    folder = reference_data / "deepmd_water"
    dataset = labelled_dataset(card, folder, read_deepmd(folder / "data_0"))
    check(LabelledFrames(), dataset, LabelledFramesParameters(), honest_frames(dataset, share))


def test_flat_equations_of_state(quickstart: Path) -> None:
    """A constant, with or without the rounding of single precision, is no better than no answer."""
    dataset = load_dataset(quickstart / "wien2k-eos@1")
    n, kind, parameters = len(dataset.frames), EquationOfStateKind(), EquationOfStateParameters()
    for energy in (np.full(n, -1.0), -1.0 + 6e-8 * np.random.default_rng(0).integers(-1, 2, n)):
        flat = Observation({"energy": energy, "failure": np.zeros(n, np.int8)})
        for metric in kind.measure(flat, dataset, parameters, dataset.card.default_label_set).metrics.values():
            assert metric.charged == pytest.approx(metric.failure_cost)
