"""Timing: the questions, the metrics, and slow, failing or memory-hungry models."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase.build import molecule
from ase.calculators.calculator import all_changes
from ase.calculators.emt import EMT

from tasks.datasets.dataset import load_dataset
from tasks.kind import HostTooNoisy, Watch
from tasks.simulation.supercells import repeats, replicated, smaller_repeats
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause
from tasks.timing import timing
from tasks.timing.efficiency import EfficiencyParameters
from tasks.timing.efficiency_metrics import FAILURE_COST, time_metrics
from tasks.timing.timing import HostNoise
from tests.tasks.timing.timed_models import KIND, Records, cells, measure, observe, pairs, small, value

pytestmark = pytest.mark.usefixtures("short_looks")


# The questions.


def test_the_defaults_are_a_thousand_frames_of_800_to_1000_atoms() -> None:
    stated = EfficiencyParameters()
    assert (stated.n_frames, stated.smallest, stated.max_atoms) == (1000, 800, 1000)
    assert (stated.n_warm_up, stated.n_rechecked) == (100, 50)
    with pytest.raises(ValueError, match="min_atoms"):
        EfficiencyParameters(min_atoms=200, max_atoms=100)


def test_every_frame_is_new_and_follows_one_of_its_shape() -> None:
    model, parameters = Records(), small()
    seen = observe(model, parameters)
    assert len(model.calls) == 12
    assert all(len(frames) == 1 and properties == ("energy", "forces", "stress") for frames, properties in model.calls)
    for first, second in pairs(model.calls):
        np.testing.assert_array_equal(first[0].numbers, second[0].numbers)
        np.testing.assert_array_equal(first[0].cell, second[0].cell)
    assert len({frames.sha256() for frames, _ in model.calls}) == 12
    assert {int(f.numbers[0]) for f, _ in model.calls[:4]} == {13, 29}  # all structures in turn
    assert (seen.arrays["n_atoms"] == 32).all()
    again = Records()
    observe(again, parameters)
    assert [f.sha256() for f, _ in again.calls] == [f.sha256() for f, _ in model.calls]


def test_without_stress_energy_and_forces_are_timed_and_it_says_so() -> None:
    model, parameters = Records(offers=("energy", "forces")), small()
    measured = measure(observe(model, parameters), parameters)
    assert {properties for _, properties in model.calls} == {("energy", "forces")}
    assert "not offered" in measured.notes["stress"]
    assert value(measured, "n_with_stress") == 0
    parameters = small(n_frames=2)
    assert value(measure(observe(Records(), parameters), parameters), "n_with_stress") == 2


def test_without_forces_nothing_is_timed() -> None:
    model, parameters = Records(offers=("energy",)), small()
    assert observe(model, parameters).arrays["failure"].tolist() == [Cause.UNSUPPORTED] * 6
    assert not model.calls


def test_the_estimate_counts_what_is_asked() -> None:
    model, parameters = Records(max_atoms_per_batch=20_000), small(n_frames=10)
    seen = observe(model, parameters)
    KIND.recheck(seen, cells().structures, parameters, model, model.watch())
    work = KIND.work(cells().structures, parameters)
    assert work.frames == sum(len(frames) for frames, _ in model.calls)
    # The parts that are asked about are smaller than the whole that the estimate takes them for.
    assert 0.8 * work.atoms < sum(len(frames.numbers) for frames, _ in model.calls) <= work.atoms


# Sizes.


class HasLittleMemory(EMT):
    """EMT that raises an allocator's error beyond a number of atoms."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.tried: list[int] = []

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        self.tried.append(len(atoms))
        if len(atoms) > self.most:
            raise MemoryError("no more")
        super().calculate(atoms, properties, system_changes)


@pytest.mark.parametrize("most", [4, 60, 71, 72, 107, 500])
def test_what_does_not_fit_is_timed_at_the_largest_size_that_does(most: int) -> None:
    data, parameters = cells(), small(max_atoms=256, n_frames=4)
    calculator = HasLittleMemory(most)
    seen = observe(Records(calculator), parameters, data)
    compact = smaller_repeats(np.eye(3), (True, True, True), (4, 4, 4))
    assert {8, 12, 18, 27} <= {int(np.prod(counts)) for counts in compact}
    sizes = [4 * int(np.prod(counts)) for counts in compact] + [256]
    largest = max(size for size in sizes if size <= most)
    assert seen.arrays["n_atoms"].tolist() == [largest] * 4
    assert seen.arrays["failure"].tolist() == [0] * 4
    # One search for each of the two structures, not for each of the four frames.
    assert len(calculator.tried) <= 8 + 2 * (1 + len(sizes).bit_length())
    measured = measure(seen, parameters, data)
    assert value(measured, "n_reduced") == (0 if largest == 256 else 4)
    assert value(measured, "atoms_max") == value(measured, "atoms_mean") == largest
    assert ("sizes" in measured.notes) == (largest < 256)


def test_what_fits_in_no_size_has_failed_for_want_of_memory() -> None:
    parameters = small(max_atoms=256, n_frames=4)
    seen = observe(Records(HasLittleMemory(3)), parameters)
    assert seen.arrays["failure"].tolist() == [Cause.OUT_OF_MEMORY] * 4
    assert np.isnan(seen.arrays["seconds"]).all()
    assert measure(seen, parameters).metrics["time_cold"].value is None


def test_molecules_are_not_replicated() -> None:
    charged = molecule("OH")
    charged.info |= {"charge": -1, "spin": 1}
    frames = Frames.from_atoms([charged])
    assert repeats(frames.cell[0], (False, False, False), 2, 80, 100) == (1, 1, 1)
    assert replicated(frames, 0, (1, 1, 1)).sha256() == frames.sha256()


def test_quickstart_cells_stay_within_128_atoms(quickstart: Path) -> None:
    data = load_dataset(quickstart / "efficiency@1")
    parameters = EfficiencyParameters(n_frames=len(data.frames), max_atoms=128, n_batches=0, max_noise=1e3)
    assert set(observe(Records(), parameters, data).arrays["n_atoms"].tolist()) == {108}


# The metrics.


def test_times_are_those_of_the_clock() -> None:
    """Calls of 9 ms and 31 ms in turn, on a clock that adds 1 ms: of 32 atoms, the later is timed."""
    model, parameters = Records(takes=lambda call, atoms: 0.030 if call % 2 else 0.008), small(n_frames=20)
    seen = observe(model, parameters, watch=model.watch(echo=lambda nbytes: 50e-6))
    measured = measure(seen, parameters)
    for name in ("time_mean", "time_median", "time_p95"):
        assert value(measured, name) == pytest.approx(31_000 / 32)
        assert measured.metrics[name].charged == pytest.approx(31_000 / 32)
    assert value(measured, "time_cold") == pytest.approx(9_000 / 32)
    assert value(measured, "time_spread") == pytest.approx(0.0, abs=1e-9)
    assert value(measured, "wire_cost") == pytest.approx(50.0)
    assert measured.metrics["wire_cost"].unit == "µs"
    assert measured.items.columns["warm_up"].tolist() == [1, 1] + [0] * 18
    assert value(measured, "reference_noise") == pytest.approx(1.0)


def test_statistics_by_hand() -> None:
    time = np.array([500.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    warm_up = np.arange(6) < 1
    metrics = time_metrics(time, warm_up)
    assert [metrics[name].value for name in ("time_mean", "time_median")] == [3.0, 3.0]
    assert metrics["time_p95"].value == pytest.approx(4.8)
    assert metrics["time_spread"].value == pytest.approx((4.0 - 2.0) / 3.0)
    for failed in range(6):  # the law: leaving out even the slowest frame, or one of the warm-up, never pays
        worse = time_metrics(np.where(np.arange(6) == failed, np.nan, time), warm_up)
        for name in ("time_mean", "time_median", "time_p95"):
            before, after = metrics[name].charged, worse[name].charged
            assert before is not None
            assert after is not None
            assert after >= before
        assert worse["time_mean"].n_failed == 1
    assert time_metrics(time * np.nan, warm_up)["time_mean"].charged == FAILURE_COST
    assert time_metrics(time * np.nan, warm_up)["time_mean"].value is None


def test_a_failed_frame_is_counted() -> None:
    parameters = small(n_frames=5)
    seen = observe(Records(fails_at=(5,)), parameters)
    assert seen.arrays["failure"].tolist() == [0, 0, Cause.ERROR, 0, 0]
    mean = measure(seen, parameters).metrics["time_mean"]
    assert (mean.n_items, mean.n_failed) == (5, 1)
    assert mean.charged is not None
    assert mean.charged > FAILURE_COST / 4
    assert "wire_cost" not in measure(seen, parameters).metrics


def test_what_is_not_reached_is_over_time() -> None:
    """Two calls of one second per frame, in 5 s."""
    model, parameters = Records(takes=lambda call, atoms: 1.0), small(n_frames=5)
    seen = observe(model, parameters, watch=model.watch(5.5))
    assert seen.arrays["failure"].tolist() == [0, 0] + [Cause.OVER_TIME] * 3
    assert len(model.calls) == 4
    assert np.isnan(seen.arrays["seconds"][2:]).all()


def test_batches_cost_less_an_atom_where_a_call_costs_something() -> None:
    """10 ms a call and 1 ms an atom: 42 ms for 32 atoms, 74 ms for two of them at once; 1 ms each of the clock."""
    model = Records(max_atoms_per_batch=70, takes=lambda call, atoms: 0.010 + 0.001 * atoms)
    parameters = small(n_batches=3)
    measured = measure(observe(model, parameters), parameters)
    assert value(measured, "time_mean") == pytest.approx(43_000 / 32)
    assert value(measured, "batched_time") == pytest.approx(75_000 / 64)
    assert value(measured, "batched_time") < value(measured, "time_mean")
    batches = [frames for frames, _ in model.calls if len(frames) > 1]
    assert [len(frames) for frames in batches] == [2] * 4  # the first is not timed
    assert len({frames.sha256() for frames in batches}) == 4
    assert measured.metrics["batched_time"].n_items == 3
    # No time for four batches: they are reported as not measured, and penalised.
    hurried = Records(max_atoms_per_batch=70, takes=lambda call, atoms: 0.010 + 0.001 * atoms)
    seen = observe(hurried, parameters, watch=hurried.watch(1.2))
    none = measure(seen, parameters).metrics["batched_time"]
    assert (none.value, none.n_failed, none.charged) == (None, 3, FAILURE_COST)
    assert seen.arrays["failure"].tolist() == [0] * 6


# The host.


def test_a_noisy_host_is_told_before_anything_is_published() -> None:
    """A clock that runs at a third of its pace from some moment on: the model is not to be blamed, nor believed."""
    model, parameters = Records(takes=lambda call, atoms: 0.01), small()
    steady = model.clock

    def uneven() -> float:
        now = steady()
        return now if len(model.calls) < 7 else 3.0 * now

    with pytest.raises(HostTooNoisy, match=r"3\.00 times as long as it can .* max_noise = 1\.2\): end other programs"):
        KIND.observe(cells().structures, parameters, model, Watch(uneven))
    assert 7 <= len(model.calls) < 12  # it was found between, not after


@pytest.mark.parametrize(("share", "is_noisy"), [(0.1, False), (0.5, True)])
def test_a_host_that_is_shared_from_beginning_to_end_is_noisy(
    share: float, is_noisy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many of the calls are interrupted for 4 ms, in each look alike; one in ten is no more than a kernel does."""
    monkeypatch.setattr(timing, "N_REFERENCE", 20)
    looks = itertools.count(1)
    now = [0.0]

    def clock() -> float:
        ends = next(looks) % 2 == 0
        now[0] += 5e-3 if ends and (next(calls) * share) % 1.0 < share - 1e-9 else 1e-3
        return now[0]

    calls = itertools.count()
    host = HostNoise(clock, 1.2)
    if is_noisy:
        with pytest.raises(HostTooNoisy, match=r"5\.00 times as long as it can \(5 ms, not 1;"):
            host.look()
    else:
        host.look()
        host.look()
        np.testing.assert_allclose(host.looks, 1e-3)
