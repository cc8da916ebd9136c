"""Labelled frames: the numbers are those of plain numpy, failing never helps, and 25,000 frames take a second."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase.build import bulk, molecule
from ase.calculators.emt import EMT
from ase.io import read
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.datasets.card import Card, LabelSet
from tasks.datasets.dataset import Dataset, load_dataset
from tasks.kind import Observation
from tasks.kinds.labelled_frames import (
    Errors,
    LabelledFrames,
    LabelledFramesParameters,
    averages,
)
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import InProcessCalculator
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Labels
from tests.tasks.imported_frames import import_frames
from tests.tasks.made_up import make_dataset

KIND, NOTHING = LabelledFrames(), LabelledFramesParameters()


def measure(dataset: Dataset, **arrays: Any) -> Measurement:
    return KIND.measure(Observation(arrays), dataset, NOTHING, None)


@pytest.mark.data
def test_emt_on_mlearn_copper_equals_plain_numpy(reference_data: Path, run: Any) -> None:
    path = reference_data / "mlearn" / "Cu_test.extxyz"
    label_sets = {"PBE": LabelSet(theory="PBE", dispersion=False)}
    card = Card(
        name="mlearn-cu", version="1", title="mlearn Cu", domain="Inorganic Materials", periodic=True,
        label_sets=label_sets, default_label_set="PBE", public_since="2020",
    )  # fmt: skip
    measured = run(KIND, import_frames(path, card), InProcessCalculator(EMT()))

    energies, forces, virials = [], [], []
    for atoms in read(path, ":"):
        label = atoms.calc.results
        copy = atoms.copy()
        copy.calc = EMT()
        n, volume = len(atoms), atoms.get_volume()
        energies.append((copy.get_potential_energy() - label["energy"], n))
        forces.append(copy.get_forces() - label["forces"])
        difference = copy.get_stress(voigt=False) - Voigt(label["stress"])
        virials.append(-volume * difference / n)
    difference, n = np.array(energies).T
    # One element: the shift per atom is the projection of the difference on the number of atoms.
    error = (difference - n * (n @ difference) / (n @ n)) / n
    force, virial = np.concatenate(forces).ravel(), np.array(virials).ravel()
    expected = {
        "energy_rmse_per_atom": np.sqrt((error**2).mean()),
        "energy_mae_per_atom": np.abs(error).mean(),
        "force_rmse": np.sqrt((force**2).mean()),
        "force_mae": np.abs(force).mean(),
        "virial_rmse_per_atom": np.sqrt((virial**2).mean()),
        "virial_mae_per_atom": np.abs(virial).mean(),
    }
    assert measured.metrics.keys() == expected.keys()
    for name, value in expected.items():
        assert measured.metrics[name].value == pytest.approx(value, abs=1e-10)
        assert measured.metrics[name].n_failed == 0


def Voigt(stress: Any) -> Any:
    """The 3 × 3 matrix of a stress in Voigt order, written out."""
    xx, yy, zz, yz, xz, xy = stress
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def random_dataset(rng: np.random.Generator, n: int = 12) -> Dataset:
    n_atoms = rng.integers(1, 5, n)
    total = int(n_atoms.sum())
    frames = Frames.from_arrays(
        {
            "n_atoms": n_atoms,
            "numbers": rng.choice([1, 6, 8], total),
            "positions": rng.normal(size=(total, 3)),
            "cell": np.tile(np.eye(3) * 5.0, (n, 1, 1)),
            "pbc": np.ones((n, 3), bool),
        }
    )
    labels = Labels(rng.normal(size=n), rng.normal(size=(total, 3)), rng.normal(size=(n, 6)) * 0.1)
    return make_dataset(frames, labels)


def test_the_shift_takes_out_any_zero_of_energy() -> None:
    dataset = random_dataset(np.random.default_rng(0))
    labels, frames = dataset.labels(), dataset.frames
    zero = {1: -13.0, 6: 7.0, 8: 100.0}
    offset = np.add.reduceat(np.array([zero[int(z)] for z in frames.numbers]), frames.offsets[:-1])
    ok = np.zeros(len(frames), np.int8)
    measured = measure(dataset, energy=labels.energy + offset, forces=labels.forces, stress=labels.stress, failure=ok)
    for metric in measured.metrics.values():
        assert metric.value == pytest.approx(0.0, abs=1e-10)
        assert metric.charged == pytest.approx(0.0, abs=1e-10)


def test_the_composition_only_model_is_its_own_baseline() -> None:
    dataset = random_dataset(np.random.default_rng(1))
    n, total = len(dataset.frames), len(dataset.frames.numbers)
    zero = {"energy": np.zeros(n), "forces": np.zeros((total, 3)), "stress": np.zeros((n, 6))}
    for metric in measure(dataset, **zero, failure=np.zeros(n, np.int8)).metrics.values():
        assert metric.value == pytest.approx(metric.baseline)
        assert metric.failure_cost == pytest.approx(10 * metric.baseline)


def test_a_missing_stress_fails_the_virial_alone() -> None:
    dataset = random_dataset(np.random.default_rng(2))
    n = len(dataset.frames)
    labels = dataset.labels()
    measured = measure(dataset, energy=labels.energy, forces=labels.forces, failure=np.zeros(n, np.int8))
    virial = measured.metrics["virial_rmse_per_atom"]
    assert (virial.value, virial.n_failed, virial.n_items) == (None, n, n)
    assert virial.charged == pytest.approx(virial.failure_cost)
    assert measured.metrics["force_rmse"].n_failed == 0
    assert not measured.items.failures()


def test_failed_frames_are_counted_and_charged() -> None:
    dataset = random_dataset(np.random.default_rng(3))
    labels, n = dataset.labels(), len(dataset.frames)
    failure = np.zeros(n, np.int8)
    failure[4] = Cause.NON_FINITE
    energy, forces, stress = labels.energy.copy(), labels.forces.copy(), labels.stress.copy()
    energy[4], stress[4], forces[dataset.frames.atom_slice(4)] = np.nan, np.nan, np.nan
    measured = measure(dataset, energy=energy, forces=forces, stress=stress, failure=failure)
    metric = measured.metrics["energy_mae_per_atom"]
    assert metric.n_failed == 1
    assert metric.value == pytest.approx(0.0, abs=1e-10)
    assert metric.charged == pytest.approx(metric.failure_cost / n)
    assert measured.items.failures() == {Cause.NON_FINITE: 1}


def test_an_outlier_moves_no_other_frame_of_the_penalised_errors() -> None:
    """A thousand frames, one of them 1,000 eV/atom off: raising there must not be better than to answer."""
    frames = Frames.from_atoms([bulk("Cu") if k % 3 else bulk("Al").repeat((2, 1, 1)) for k in range(1000)])
    rng = np.random.default_rng(4)
    dataset = make_dataset(frames, Labels(energy=frames.n_atoms * rng.normal(0.0, 0.1, 1000)))
    energy, failure = dataset.labels().energy + frames.n_atoms * rng.normal(0.0, 0.01, 1000), np.zeros(1000, np.int8)
    energy[7] += 1000.0
    honest = measure(dataset, energy=energy, failure=failure)
    raised = measure(dataset, energy=np.where(np.arange(1000) == 7, np.nan, energy), failure=failure + _at(7, 1000))
    for name in ("energy_rmse_per_atom", "energy_mae_per_atom"):
        charged = honest.metrics[name].charged
        assert charged is not None
        assert charged <= raised.metrics[name].charged * (1 + 1e-12)
        assert charged == pytest.approx(raised.metrics[name].charged, rel=1e-2)
        # The plain value is that of the least-squares fit, as LAMBench has it.
        assert honest.metrics[name].value > 0.5
    metrics = {name: honest.metrics[name] for name in ("energy_rmse_per_atom", "energy_mae_per_atom")}
    for part in KIND.contributions(honest.items, metrics):
        value = part.scale * (part.sums.sum() / part.counts.sum()) ** part.power
        assert value == pytest.approx(metrics[part.metric].charged, rel=1e-12)


def _at(index: int, n: int) -> Any:
    return np.where(np.arange(n) == index, np.int8(Cause.ERROR), np.int8(0))


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.floats(1e-3, 1e6), dropped=st.sets(st.integers(0, 9), min_size=1))
def test_with_the_shift_held_answering_nan_never_improves_the_charge(
    seed: int, scale: float, dropped: set[int]
) -> None:
    rng = np.random.default_rng(seed)
    count = rng.integers(0, 4, 10) * 3.0
    count[0] = 3.0
    absolute = scale * rng.lognormal(0.0, 3.0, 10) * count
    square = scale**2 * rng.lognormal(0.0, 3.0, 10) * count
    lost = np.isin(np.arange(10), list(dropped)) & (count > 0)
    full = Errors(count, absolute, square)
    less = Errors(count, np.where(lost, np.nan, absolute), np.where(lost, np.nan, square))
    for whole, failed in zip(averages("energy", full), averages("energy", less), strict=True):
        before, after = whole.metric(1.0).charged, failed.metric(1.0).charged
        assert before is not None
        assert after is not None
        assert after >= before * (1 - 1e-12)


def test_a_baseline_of_zero_is_refused_and_one_on_the_card_counts() -> None:
    frames = random_dataset(np.random.default_rng(4)).frames.take([0, 1])
    labels = Labels(energy=np.zeros(2))
    answer = {"energy": np.array([0.1, 0.3]), "failure": np.zeros(2, np.int8)}
    with pytest.raises(ValueError, match=r"energy_rmse_per_atom: .*\[baselines\] in card.toml"):
        measure(make_dataset(frames, labels), **answer)
    stated = {"PBE": {"energy_rmse_per_atom": 0.5, "energy_mae_per_atom": 0.25}}
    metrics = measure(make_dataset(frames, labels, baselines=stated), **answer).metrics
    assert metrics["energy_rmse_per_atom"].baseline == 0.5
    assert metrics["energy_mae_per_atom"].failure_cost == 2.5


def test_an_observation_of_something_else_is_refused() -> None:
    dataset = random_dataset(np.random.default_rng(5))
    with pytest.raises(ValueError, match="energy is float64"):
        measure(dataset, energy=np.zeros(3), failure=np.zeros(len(dataset.frames), np.int8))


@pytest.mark.alone
def test_metrics_of_25000_frames_take_a_second_and_300_mib() -> None:
    rng = np.random.default_rng(0)
    n, per_frame = 25_000, 50
    total = n * per_frame
    frames = Frames.from_arrays(
        {
            "n_atoms": np.full(n, per_frame),
            "numbers": rng.choice(np.arange(1, 90), total),
            "positions": rng.normal(size=(total, 3)),
            "cell": np.tile(np.eye(3) * 10.0, (n, 1, 1)),
            "pbc": np.ones((n, 3), bool),
        }
    )
    labels = Labels(rng.normal(size=n), rng.normal(size=(total, 3)), rng.normal(size=(n, 6)))
    dataset = make_dataset(frames, labels)
    arrays = {
        "energy": labels.energy + 0.1,
        "forces": labels.forces + 0.1,
        "stress": labels.stress + 0.1,
        "failure": np.zeros(n, np.int8),
    }
    took = []
    for _ in range(5):  # the machine may be busy
        begin, thread_begin = time.perf_counter(), time.thread_time()
        measured = measure(dataset, **arrays)
        took.append(min(time.perf_counter() - begin, time.thread_time() - thread_begin))
    assert measured.metrics["force_mae"].value == pytest.approx(0.1)
    tracemalloc.start()
    measure(dataset, **arrays)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300 * 2**20
    assert min(took) < 1.0


def test_quickstart_frames_know_their_own_reference(quickstart: Path) -> None:
    dataset = load_dataset(quickstart / "wien2k-frames@2")
    labels, frames = dataset.labels(), dataset.frames
    answer = {"energy": labels.energy, "stress": labels.stress, "failure": np.zeros(len(frames), np.int8)}
    metrics = measure(dataset, **answer).metrics
    assert set(metrics) == {
        "energy_rmse_per_atom", "energy_mae_per_atom", "virial_rmse_per_atom", "virial_mae_per_atom",
    }  # fmt: skip
    assert all(m.charged == pytest.approx(0.0, abs=1e-9) for m in metrics.values())


def test_errors_are_broken_down_by_element_and_group() -> None:
    """Water and copper: the parts are those of a plain loop over atoms and frames."""
    rng = np.random.default_rng(3)
    water, copper = molecule("H2O"), bulk("Cu", cubic=True)
    frames = Frames.from_atoms([water] * 6 + [copper] * 6)
    total = len(frames.numbers)
    labels = Labels(energy=rng.normal(size=12), forces=rng.normal(size=(total, 3)))
    made = make_dataset(frames, labels)
    table = made.table.model_copy(update={"group": ("molecule",) * 6 + ("crystal",) * 6})
    dataset = Dataset(made.card, frames, table, made.label_arrays)
    energy, forces = rng.normal(size=12), rng.normal(size=(total, 3))
    failure = np.zeros(12, np.int8)
    failure[1], energy[1] = Cause.ERROR, np.nan
    forces[frames.atom_slice(1)] = np.nan
    measured = measure(dataset, energy=energy, forces=forces, failure=failure)

    parts = {(p.by, p.name, p.metric): p for p in measured.parts}
    for element, z in (("H", 1), ("O", 8), ("Cu", 29)):
        atoms = (frames.numbers == z) & np.isfinite(forces[:, 0])
        expected = np.sqrt(((forces - labels.forces)[atoms] ** 2).mean())
        part = parts["element", element, "force_rmse"]
        assert part.value == pytest.approx(expected, rel=1e-12)
        assert (part.n_items, part.n_failed) == ((6, 0) if element == "Cu" else (6, 1))
    squares = measured.items.columns["energy_sq"]
    for group, rows in (("molecule", [0, 2, 3, 4, 5]), ("crystal", range(6, 12))):
        part = parts["group", group, "energy_rmse_per_atom"]
        assert part.value == pytest.approx(np.sqrt(squares[list(rows)].mean()), rel=1e-12)
    assert (
        parts["element", "O", "energy_rmse_per_atom"].value == parts["group", "molecule", "energy_rmse_per_atom"].value
    )


def slopes(forces: list[float], failed: tuple[int, ...] = ()) -> Any:
    """The metric of two groups of two atoms each, whose reference forces are 1, 2 and 1, −1 eV/Å along x."""
    frames = Frames.from_atoms([bulk("Cu") for _ in range(4)])
    reference = np.zeros((4, 3))
    reference[:, 0] = 1.0, 2.0, 1.0, -1.0
    dataset = make_dataset(frames, Labels(None, reference, None))
    table = dataset.table.model_copy(update={"group": ("soft", "soft", "hard", "hard")})
    dataset = replace(dataset, table=table)
    answer, failure = np.zeros((4, 3)), np.zeros(4, np.int8)
    answer[:, 0] = forces
    answer[list(failed)], failure[list(failed)] = np.nan, Cause.ERROR
    observation = Observation({"energy": np.where(failure, np.nan, 0.0), "forces": answer, "failure": failure})
    parameters = LabelledFramesParameters(force_slope=True)
    return KIND.measure(observation, dataset, parameters, None).metrics["force_slope_error"]


def test_the_slope_of_forces_by_hand() -> None:
    # (0.5 · 1 + 2 · 2) / 5 = 0.9 and (1.2 + 0.8) / 2 = 1.
    assert slopes([0.5, 2.0, 1.2, -0.8]).value == pytest.approx((0.1 + 0.0) / 2)
    failed = slopes([0.5, 2.0, 1.2, -0.8], (0,))
    assert (failed.value, failed.n_failed, failed.charged) == (pytest.approx(0.0), 1, pytest.approx(5.0))


@given(st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=4), st.sets(st.integers(0, 3), min_size=1))
def test_failing_never_helps_the_slope(forces: list[float], failed: set[int]) -> None:
    assert slopes(forces, tuple(failed)).charged >= slopes(forces).charged
