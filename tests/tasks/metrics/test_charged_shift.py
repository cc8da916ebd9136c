"""The shift of the penalised error: exact for one constant, and answering is never worse than failing."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.metrics.charged_shift import candidates, clipped_sum, penalised_errors
from tasks.structures.composition import composition_energy
from tasks.structures.frames import Float, Int


class Answers(NamedTuple):
    """Counts of elements (n, k), predicted minus reference (n,) [eV], the failure cost, and the frames that are off."""

    counts: Float
    difference: Float
    failure_cost: float
    outliers: Int

    def cost(self, power: int, *failed: Int) -> float:
        """The penalised sum, with the frames that failed."""
        difference = self.difference.copy()
        difference[np.concatenate(failed) if failed else []] = np.nan
        answered, n_atoms = np.isfinite(difference), self.counts.sum(axis=1)
        plain = (difference - composition_energy(self.counts, difference, answered)) / n_atoms
        limits = self.failure_cost, power
        errors = penalised_errors(self.counts, difference / n_atoms, clipped_sum(plain, *limits), *limits)
        errors = plain if errors is None else errors
        return clipped_sum(errors[answered], *limits) + (~answered).sum() * self.failure_cost**power


def answers(rng: np.random.Generator, n_elements: int, n: int, n_outliers: int, noise: float) -> Answers:
    """A model with random errors, and outliers from 1 to 10⁶ eV/atom; sizes of 1 to some hundred atoms.

    Args:
        noise: of the errors per atom, in failure costs.
    """
    counts = rng.integers(0, 4, (n, n_elements)) * rng.choice([1, 1, 1, 30], n)[:, None].astype(np.float64)
    if rng.random() < 0.5:
        counts *= rng.random((n, n_elements)) < min(1.0, 3 / n_elements)
    counts[~counts.any(axis=1), rng.integers(n_elements)] = 1.0
    n_atoms, cost = counts.sum(axis=1), 10 ** rng.uniform(-1, 1)
    outliers = rng.permutation(n)[: min(n_outliers, n - 1)]
    difference = counts @ rng.normal(0, 1000, n_elements) + n_atoms * rng.normal(0, noise * cost, n)
    difference[outliers] += n_atoms[outliers] * rng.choice([-1, 1], len(outliers)) * 10 ** rng.uniform(0, 6)
    return Answers(counts, difference, cost, outliers)


def failures(case: Answers, rng: np.random.Generator) -> list[Int]:
    """Sets of frames at which a model may fail: its outliers, the hardest, all with an element, the largest, or any."""
    n, n_atoms = len(case.difference), case.counts.sum(axis=1)
    shift = composition_energy(case.counts, case.difference, np.ones(n, np.bool_))
    hardest = np.argsort(-np.abs(case.difference - shift) / n_atoms)
    shares = [hardest[: max(1, int(share * n))] for share in (1e-9, 0.05, 0.2, 0.49)]
    with_element, largest = np.flatnonzero(case.counts[:, 0]), np.argsort(-n_atoms)[: n // 8 + 1]
    return [case.outliers, case.outliers[:1], *shares, with_element, largest, rng.permutation(n)[: n // 10 + 1]]


def assert_failing_never_pays(case: Answers, rng: np.random.Generator) -> None:
    for power in (2, 1):
        honest = case.cost(power)
        for failed in failures(case, rng):
            assert honest <= case.cost(power, failed) * (1 + 1e-9), (power, failed)


def test_one_absurd_energy_costs_one_frame() -> None:
    """A thousand frames: without a shift of its own, the outlier would move all others."""
    rng = np.random.default_rng(0)
    difference = np.append(0.01 * rng.normal(size=999), 1000.0)
    case = Answers(np.ones((1000, 1)), difference, 1.0, np.array([999]))
    assert np.sqrt(case.cost(2) / 1000) == pytest.approx(np.sqrt((1 + 999e-4) / 1000), rel=0.05)
    assert case.cost(2) == pytest.approx(case.cost(2, np.array([999])), rel=1e-12)


def test_a_large_frame_within_the_failure_cost_does_not_move_the_small_ones() -> None:
    """Total energies weigh 100 atoms as 10⁴ frames of one: the least-squares fit is 0.82 W beside 999 exact frames."""
    counts = np.ones((1000, 1))
    counts[0] = 100.0
    difference = np.where(counts[:, 0] > 1, 90.0, 0.0)
    case = Answers(counts, difference, 1.0, np.array([0]))
    assert composition_energy(counts, difference, np.ones(1000, np.bool_))[1] == pytest.approx(0.818, abs=1e-3)
    assert case.cost(2) == pytest.approx(1.0) == case.cost(2, np.array([0]))


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("seed", range(20))
def test_for_one_constant_no_shift_of_a_fine_grid_costs_less(seed: int, power: int) -> None:
    rng = np.random.default_rng(seed)
    case = answers(rng, 1, int(rng.integers(2, 40)), int(rng.integers(0, 10)), 10 ** rng.uniform(-2, 0.5))
    per_atom = case.difference / case.counts[:, 0]
    low, high = np.percentile(per_atom, [20, 80]) + np.array([-2, 2]) * case.failure_cost
    grid = np.concatenate([np.linspace(low, high, 3000), per_atom, per_atom + 1e-9])
    errors = np.minimum(np.abs(per_atom[:, None] - grid), case.failure_cost) ** power
    least = (errors.sum(axis=0) - errors.max(axis=0)).min() + case.failure_cost**power
    assert case.cost(power) <= least * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(150))
def test_for_one_constant_failing_never_pays(seed: int) -> None:
    """Also for a model as far off as a failure, and with most frames off."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 2, 3, 10, 100, 1000]))
    case = answers(rng, 1, n, int(rng.integers(0, n + 1)), 10 ** rng.uniform(-4, 0.5))
    assert_failing_never_pays(case, rng)


@pytest.mark.parametrize("n_elements", [2, 3, 5, 10, 20])
@pytest.mark.parametrize("seed", range(6))
def test_for_several_elements_failing_never_pays(n_elements: int, seed: int) -> None:
    """Also for a model as far off as a failure, and with any share of the frames off."""
    rng = np.random.default_rng([seed, n_elements])
    n = int(rng.choice([1, 2, n_elements + 1, 2 * n_elements, 50, 200, 1000]))
    case = answers(rng, n_elements, n, int(rng.integers(0, n + 1)), 10 ** rng.uniform(-4, 0.5))
    assert_failing_never_pays(case, rng)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("n_elements", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_who_knows_the_labels_gains_by_no_failure(n_elements: int, seed: int, power: int) -> None:
    """It fails at the frame where that pays best, again and again, or at random ones."""
    rng = np.random.default_rng([seed, n_elements, power])
    n = int(rng.integers(6, 16))
    case = answers(rng, n_elements, n, int(rng.integers(0, n)), 10 ** rng.uniform(-3, 0.3))
    charge, failed = case.cost(power), np.zeros(0, np.int64)
    for _ in range(3):
        others = np.setdiff1d(np.arange(n), failed)
        charges = [case.cost(power, failed, others[i : i + 1]) for i in range(len(others))]
        assert charge <= min(charges) * (1 + 1e-9)
        charge, failed = min(charges), np.append(failed, others[np.argmin(charges)])
        some = others[rng.random(len(others)) < 0.3]
        assert case.cost(power, some) <= case.cost(power, some, failed) * (1 + 1e-9)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize(("n_elements", "n"), [(3, 20), (8, 60), (20, 400)])
def test_a_model_that_answers_more_has_every_candidate(n_elements: int, n: int, power: int) -> None:
    """To the last bit: from this, and from errors counting W at most, the law follows."""
    rng = np.random.default_rng([n_elements, n])
    case = answers(rng, n_elements, n, n // 3, 0.1)
    n_atoms = case.counts.sum(axis=1, keepdims=True)
    differences = (case.difference / n_atoms[:, 0])[None] * np.ones((3, 1))
    differences[1:, rng.permutation(n)[:1]] = np.nan
    differences[2, rng.permutation(n)[: 1 + n // 50]] = np.nan
    most, fewer, fewest = (
        {s.tobytes() for s in np.concatenate(list(candidates(case.counts, case.counts / n_atoms, d, 1.0, power)))}
        for d in differences
    )
    assert most > fewer > fewest
    assert len(fewest) > 10


@pytest.mark.parametrize("n_elements", [5, 20])
@pytest.mark.parametrize("lost", ["few", "an element", "the largest", "a stretch"])
def test_the_other_frames_of_a_model_that_fails_at_some_keep_a_good_fit(n_elements: int, lost: str) -> None:
    rng = np.random.default_rng(n_elements)
    case = answers(rng, n_elements, 600, 0, 0.05)
    failed = {
        "few": rng.permutation(600)[:6],
        "an element": np.flatnonzero(case.counts[:, 3]),
        "the largest": np.argsort(-case.counts.sum(axis=1))[:100],
        "a stretch": np.arange(310, 340),
    }[lost]
    n_answered = 600 - len(failed)
    charge = case.cost(2, failed) / case.failure_cost**2 - len(failed)
    assert charge < 1.3 * n_answered * 0.05**2


def test_a_hundred_thousand_frames_of_twenty_elements_take_seconds() -> None:
    case = answers(np.random.default_rng(3), 20, 100_000, 1000, 0.01)
    begin = time.thread_time()
    assert case.cost(2) / case.failure_cost**2 == pytest.approx(1000, rel=0.02)
    assert time.thread_time() - begin < 15


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("n_elements", [1, 4])
def test_energies_near_the_largest_number_count_as_failures(n_elements: int, power: int) -> None:
    case = answers(np.random.default_rng(1), n_elements, 60, 0, 0.01)
    differences = case.difference / case.counts.sum(axis=1)
    differences[:3] = 1e300, -1e308, 1e160
    errors = penalised_errors(case.counts, differences, np.inf, case.failure_cost, power)
    assert errors is not None
    n_charged = clipped_sum(errors, case.failure_cost, power) / case.failure_cost**power
    assert 3 <= n_charged < 3 + 60 * 0.03**power


@pytest.mark.parametrize("n_elements", [1, 4])
def test_small_errors_keep_the_least_squares_fit(n_elements: int) -> None:
    case = answers(np.random.default_rng(5), n_elements, 300, 0, 0.01)
    n_atoms = case.counts.sum(axis=1)
    shift = composition_energy(case.counts, case.difference, np.ones(300, np.bool_))
    plain = clipped_sum((case.difference - shift) / n_atoms, case.failure_cost, 2)
    assert case.cost(2) == pytest.approx(plain, rel=1e-12)
    assert plain < 300 * 2e-4 * case.failure_cost**2


@pytest.mark.parametrize("power", [1, 2])
def test_the_least_squares_fit_remains_where_no_other_is_better_by_a_frame(power: int) -> None:
    """Forty frames at ±W/2 have a charge of 10 or 20; without one, all others and W are more."""
    differences = np.tile([0.5, -0.5], 20)
    fit_charge = clipped_sum(differences, 1.0, power)
    assert fit_charge == 40 * 0.5**power
    assert penalised_errors(np.ones((40, 1)), differences, fit_charge, 1.0, power) is None


@pytest.mark.parametrize("n_elements", [89, 4])
def test_an_element_that_few_frames_have_is_fitted_beside_outliers(n_elements: int) -> None:
    rng = np.random.default_rng(6)
    case = answers(rng, n_elements, 2000, 20, 0.01)
    rare = np.zeros((2000, 1))
    rare[-2:] = 1.0
    counts = np.hstack([case.counts, rare])
    with_rare = Answers(counts, case.difference + 500.0 * rare[:, 0], case.failure_cost, case.outliers)
    n_clipped = with_rare.cost(2) / case.failure_cost**2
    assert n_clipped < 20 + 2000 * 0.01**2 * 1.5


Differences = st.one_of(
    st.floats(-3, 3), st.floats(-1e4, 1e4), st.sampled_from([0.0, 1.0, -1.0, 0.9999999, 8000.0]), st.floats(-1e-9, 1e-9)
)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_for_any_answers_raising_is_never_better(data: st.DataObject) -> None:
    """Any compositions, any answers in failure costs, any frames at which the model raises instead."""
    n_elements, n = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 12))
    composition = st.lists(st.integers(0, 4), min_size=n_elements, max_size=n_elements)
    counts = np.array(data.draw(st.lists(composition, min_size=n, max_size=n)))
    counts[~counts.any(axis=1), 0] = 1
    per_atom = np.array(data.draw(st.lists(Differences, min_size=n, max_size=n)))
    raised = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1))))
    case = Answers(counts.astype(np.float64), per_atom * counts.sum(axis=1), 1.0, raised)
    for power in (2, 1):
        honest = case.cost(power)
        assert honest <= case.cost(power, raised) * (1 + 1e-9)
        assert all(honest <= case.cost(power, raised[i : i + 1]) * (1 + 1e-9) for i in range(len(raised)))


@settings(max_examples=12, deadline=None)
@given(
    st.integers(1, 5),
    st.integers(0, 2**32 - 1),
    st.floats(0.001, 0.2),
    st.sampled_from([8000.0, -8000.0, 1e6]),
    st.floats(0.05, 5.0),
)
def test_one_absurd_energy_in_300_frames_is_worth_a_failure(
    n_elements: int, seed: int, noise: float, absurd: float, cost: float
) -> None:
    """The penalised RMSE: with a constant, and with one for each element."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 9, (300, n_elements)).astype(np.float64)
    counts[~counts.any(axis=1), rng.integers(n_elements)] = 1.0
    n_atoms = counts.sum(axis=1)
    difference = counts @ rng.normal(0, 10, n_elements) + n_atoms * rng.normal(0, noise * cost, 300)
    frame = rng.integers(300, size=1)
    difference[frame] = absurd * cost * n_atoms[frame]
    case = Answers(counts, difference, cost, frame)
    answered, raised = (np.sqrt(each / 300) for each in (case.cost(2), case.cost(2, frame)))
    assert answered == pytest.approx(raised, rel=1e-9)
    assert answered < cost * np.sqrt((1 + 300 * 2 * noise**2) / 300)
