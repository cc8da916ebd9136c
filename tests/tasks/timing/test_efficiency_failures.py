"""Failing, claiming too little memory, omitting stress and faking batches gain nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule

from tasks.metrics.measurement import Measurement
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, FrameError, Predictions, Properties
from tasks.timing.efficiency import EfficiencyParameters
from tasks.timing.efficiency_metrics import FAILURE_COST
from tests.tasks.made_up import make_dataset
from tests.tasks.timing.timed_models import KIND, Records, measure, observe, rechecked, small, value

pytestmark = pytest.mark.usefixtures("short_looks")
TIMES = ("time_mean", "time_median", "time_p95", "time_cold", "batched_time")
OUT_OF_MEMORY = FrameError(Cause.OUT_OF_MEMORY, "Costly", "no more")
ERROR = FrameError(Cause.ERROR, "Costly", "on purpose")


class Costly(Records):
    """A model whose time depends on element and size of each frame, and that fails at some frames."""

    def __init__(
        self,
        cost: Callable[[int, int, bool], float],
        fails: Callable[[int, int, int], FrameError | None] = lambda call, number, atoms: None,
        hides_stress: bool = False,
    ) -> None:
        super().__init__()
        self._cost, self._fails, self._hides_stress = cost, fails, hides_stress

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        each = [(int(frames.numbers[frames.atom_slice(i)][0]), int(n)) for i, n in enumerate(frames.n_atoms)]
        call, asked_for_stress = len(self.calls), "stress" in properties and not self._hides_stress
        self.clock.now += sum(self._cost(*size, asked_for_stress) for size in each)
        answer = super().compute(frames, properties)
        stress = answer.stress
        if stress is not None and self._hides_stress:
            stress = np.full_like(stress, np.nan)
        errors = {i: error for i, size in enumerate(each) if (error := self._fails(call, *size)) is not None}
        return Predictions.checked(frames, answer.energy, answer.forces, stress, {**answer.errors, **errors})


def charged(model: Records, parameters: EfficiencyParameters) -> tuple[dict[str, float], Measurement]:
    """The penalised value of each time, after a consistency check."""
    _, measured = rechecked(model, model, parameters)
    charges = {name: measured.metrics[name].charged for name in TIMES}
    return {name: charge for name, charge in charges.items() if charge is not None}, measured


def assert_none_gained(honest: dict[str, float], other: dict[str, float]) -> None:
    assert len(honest) == len(other) == len(TIMES)
    for name in TIMES:
        assert other[name] >= honest[name] * (1 - 1e-9), name


def claims_no_memory(most: int, elements: tuple[int, ...]) -> Callable[[int, int, int], FrameError | None]:
    return lambda call, number, atoms: OUT_OF_MEMORY if atoms > most and number in elements else None


@pytest.mark.parametrize(("power", "most"), [(0.0, 8), (1.0, 4), (2.0, 4), (2.0, 24)])
def test_claiming_too_little_memory_gains_nothing_up_to_quadratic_cost(power: float, most: int) -> None:
    """Nor if the claim is about only one of two elements, which costs a hundred times as much."""

    def cost(number: int, atoms: int, stress: bool) -> float:
        return 1e-4 * float(atoms**power) * (100 if number == 13 else 1)

    parameters = small(n_batches=2)
    honest, _ = charged(Costly(cost), parameters)
    for elements in ((13, 29), (13,), (29,)):
        other, measured = charged(Costly(cost, claims_no_memory(most, elements)), parameters)
        assert_none_gained(honest, other)
        assert measured.items.failures() == {}
        assert value(measured, "n_reduced") == 3 * len(elements)


def test_a_smaller_frame_is_charged_as_quadratic_cost_would_make_it_and_its_value_is_as_measured() -> None:
    """10 µs times the square of 8 atoms, and 1 ms of the clock: 205 µs/atom; four times that for the 32 planned."""
    parameters = small(n_batches=1)
    model = Costly(lambda z, n, s: 1e-5 * n * n, claims_no_memory(8, (13, 29)))
    _, measured = rechecked(model, model, parameters)
    mean, batched = measured.metrics["time_mean"], measured.metrics["batched_time"]
    assert [mean.value, mean.charged] == pytest.approx([205.0, 820.0])
    # Two frames of 8 atoms of which each took the place of one of 32: 64 atoms were planned.
    assert [batched.value, batched.charged] == pytest.approx([2280 / 16, 4 * 2280 / 16])
    assert measured.items.columns["planned_atoms"].tolist() == [32.0] * 6
    assert "planned atoms over those they had" in measured.notes["sizes"]


def test_a_slow_call_is_not_measured_again_by_claiming_to_be_out_of_memory() -> None:
    """Call 5, of the third frame, takes a second; claimed or not, that second is the third frame's."""
    model = Records(takes=lambda call, atoms: 1.0 if call == 5 else 0.001)
    parameters = small(n_frames=4)
    honest = observe(model, parameters).arrays["seconds"]
    slow = iter(range(1000))
    claims = Costly(
        lambda z, n, s: 1.0 if next(slow) == 5 else 0.001, lambda call, z, n: OUT_OF_MEMORY if call == 5 else None
    )
    seen = observe(claims, parameters)
    assert honest[2] == pytest.approx(1.001)
    assert seen.arrays["seconds"][2] == pytest.approx(1.001 + 0.002)
    assert seen.arrays["failure"].tolist() == [0] * 4
    assert seen.arrays["reduced"].tolist() == [0, 0, 1, 0]


def test_stress_that_is_offered_and_left_out_fails_the_frame() -> None:
    parameters = small(n_batches=1)

    def cost(number: int, atoms: int, stress: bool) -> float:
        return 1e-4 * atoms * (2 if stress else 1)

    honest, _ = charged(Costly(cost), parameters)
    hiding, measured = charged(Costly(cost, hides_stress=True), parameters)
    assert_none_gained(honest, hiding)
    assert measured.items.failures() == {Cause.UNSUPPORTED: 6}
    assert measured.metrics["time_mean"].value is None
    assert "stress" not in measured.notes


def test_of_molecules_no_stress_is_asked_for() -> None:
    data, parameters = make_dataset(Frames.from_atoms([molecule("C2H6")]), None), small(n_batches=1)
    model = Records()
    _, measured = rechecked(model, model, parameters, data)
    assert measured.items.failures() == {}
    assert measured.notes["stress"] == "not asked for: no structure is periodic"
    assert value(measured, "batched_time") > 0


def test_failing_the_first_call_does_not_hide_what_it_costs() -> None:
    parameters = small(n_batches=1)
    for fails_at in ((), (0,)):
        model = Records(fails_at=fails_at, takes=lambda call, atoms: 5.0 if call == 0 else 0.01)
        cold = measure(observe(model, parameters), parameters).metrics["time_cold"]
        assert cold.charged is not None
        assert cold.charged >= 5.001e6 / 32 * (1 - 1e-9)


@pytest.mark.parametrize("number", [13, 29])
@pytest.mark.parametrize("singly", [True, False])
def test_leaving_out_the_slow_element_does_not_make_batches_fast(number: int, singly: bool) -> None:
    """Failed singly alone the batches hold it still, and cost the same; failed there, too, they are charged W."""

    def cost(element: int, atoms: int, stress: bool) -> float:
        return 1e-4 * atoms * (10 if element == 13 else 1)

    def fails(call: int, element: int, atoms: int) -> FrameError | None:
        in_batch = len(model.calls[-1][0]) > 1
        return ERROR if element == number and not (singly and in_batch) else None

    parameters = small(n_frames=8, n_batches=2)
    honest, _ = charged(Costly(cost), parameters)
    model = Costly(cost, fails)
    other, measured = charged(model, parameters)
    assert_none_gained(honest, other)
    assert measured.metrics["time_mean"].n_failed >= 4
    if not singly:
        assert (measured.metrics["batched_time"].value, other["batched_time"]) == (None, FAILURE_COST)


def alike(first: Atoms, second: Atoms) -> bool:
    """Whether the distances between all atoms and their nearest images are the same, in any order."""
    here, there = (np.sort(atoms.get_all_distances(mic=True), axis=None) for atoms in (first, second))
    return here.shape == there.shape and np.allclose(here, there, atol=1e-9)


class RubbishInBatches(Records):
    """Answers single frames correctly; in batches one property is 10 eV, eV/Å or eV/Å³ too large.

    Args:
        most: atoms of frames that it answers correctly also in batches.
    """

    def __init__(self, wrong: str, most: int = 4) -> None:
        super().__init__()
        self.wrong, self.most = wrong, most

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        answer = super().compute(frames, properties)
        if len(frames) == 1 or frames.n_atoms.max() <= self.most:
            return answer
        return replace(answer, **{self.wrong: getattr(answer, self.wrong) + 10.0})


@pytest.mark.parametrize("wrong", ["energy", "forces", "stress"])
def test_rubbish_in_batches_is_caught_and_only_batches_do_not_count(wrong: str) -> None:
    parameters = small(n_batches=2)
    _, measured = rechecked(RubbishInBatches(wrong), RubbishInBatches(wrong), parameters)
    batched = measured.metrics["batched_time"]
    assert (batched.value, batched.n_failed, batched.charged) == (None, 2, FAILURE_COST)
    assert value(measured, "n_batched_inconsistent") == 3
    assert "so no time of batches counts" in measured.notes["batches asked again"]
    assert value(measured, "n_inconsistent") == 0
    assert value(measured, "time_mean") > 0
    assert measured.items.failures() == {}


@pytest.mark.parametrize("wrong", ["energy", "forces"])
def test_rubbish_in_batches_of_small_frames_is_no_answer_to_what_was_timed(wrong: str) -> None:
    """Labelled frames are sent in batches, too."""
    parameters = small()
    _, measured = rechecked(Records(), RubbishInBatches(wrong, most=0), parameters)
    assert measured.items.failures() == {Cause.INCONSISTENT: 3}
    assert measured.metrics["time_mean"].charged == FAILURE_COST


def test_what_batches_answered_is_asked_again_singly_and_turned() -> None:
    data = make_dataset(Frames.from_atoms([bulk("Cu", cubic=True), molecule("C2H6"), bulk("Al", cubic=True)]), None)
    parameters, timed = small(n_batches=4), Records(max_atoms_per_batch=120)
    fresh = Records()
    again, measured = rechecked(timed, fresh, parameters, data)
    kept = again.arrays["batch_kept"]
    assert (len(kept), len(np.unique(kept[:, 0]))) == (3, 3)  # of three batches one frame each
    assert value(measured, "n_batched_inconsistent") == 0
    assert value(measured, "batched_time") > 0
    batches = [frames for frames, _ in timed.calls if len(frames) > 1]
    asked = [frames.atoms(0) for frames, _ in fresh.calls if len(frames) == 1]
    for index, member in kept:
        was = batches[index + 1].atoms(member)
        (now,) = [atoms for atoms in asked if alike(atoms, was)]
        assert np.abs(now.positions - was.positions).max() > 0.1
    for name in ("energy", "forces", "stress"):
        np.testing.assert_allclose(again.arrays[f"alone_{name}"], again.arrays[f"batched_{name}"], atol=1e-8)
    late = KIND.recheck(again, data.structures, parameters, fresh, fresh.watch(deadline=0.0))
    undecided = measure(late, parameters, data).metrics
    assert (undecided["batched_time"].value, undecided["batched_time"].charged) == (None, FAILURE_COST)
    assert undecided["n_batched_inconsistent"].n_failed == 3
