"""Timing: what is asked, what is counted, and what a slow, failing, cheating or memory-hungry model leaves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule
from ase.calculators.calculator import all_changes
from ase.calculators.emt import EMT
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks import timing
from tasks.calculator import InProcessCalculator
from tasks.dataset import Dataset, load_dataset
from tasks.efficiency import Efficiency, EfficiencyParameters
from tasks.efficiency_metrics import FAILURE_COST, time_metrics
from tasks.frames import Frames
from tasks.kind import HostTooNoisy, Observation, Rechecking, Watch
from tasks.measurement import Measurement
from tasks.predictions import Cause, FrameError, Predictions, Properties
from tasks.replicate import Counts, largest_that_fits, part_of, repeats, replicated, smaller_repeats, spread_over
from tasks.timing import Host
from tests.tasks.made_up import make_dataset

KIND = Efficiency()


@pytest.fixture(autouse=True)
def short_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clocks here are even: a look at the host need not be long."""
    monkeypatch.setattr(timing, "N_REFERENCE", 3)


class Clock:
    """A clock that advances 1 ms at each look, and by what a model takes."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1e-3
        return self.now


class Records(InProcessCalculator):
    """A model that remembers what it was asked, fails at some calls, and takes its time on `clock`."""

    def __init__(
        self,
        calculator: Any = None,
        fails_at: tuple[int, ...] = (),
        offers: Properties = ("energy", "forces", "stress"),
        max_atoms_per_batch: int = 64,
        takes: Callable[[int, int], float] = lambda call, atoms: 0.0,
    ) -> None:
        super().__init__(calculator or EMT(), max_atoms_per_batch)
        self.clock = Clock()
        self.asked: list[tuple[Frames, Properties]] = []
        self._fails_at, self._offers, self._takes = fails_at, offers, takes

    @property
    def properties(self) -> Properties:
        return self._offers

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        self.clock.now += self._takes(len(self.asked), len(frames.numbers))
        self.asked.append((frames, properties))
        answer = super().compute(frames, properties)
        if len(self.asked) - 1 in self._fails_at:
            failure = np.full(len(frames), Cause.ERROR, np.int8)
            return Predictions(answer.energy * np.nan, answer.forces, answer.stress, failure)
        return answer

    def watch(self, deadline: float = np.inf, echo: Callable[[int], float] | None = None) -> Watch:
        return Watch(self.clock, deadline, echo=echo)


def cells() -> Dataset:
    return make_dataset(Frames.from_atoms([bulk("Cu", cubic=True), bulk("Al", cubic=True)]), None)


def small(**stated: Any) -> EfficiencyParameters:
    return EfficiencyParameters(**{"n_frames": 6, "max_atoms": 40, "n_batches": 0, **stated})


def observe(
    model: Records, parameters: EfficiencyParameters, data: Dataset | None = None, watch: Watch | None = None
) -> Observation:
    return KIND.observe((data or cells()).structures, parameters, model, watch or model.watch())


def measure(seen: Observation, parameters: EfficiencyParameters, data: Dataset | None = None) -> Measurement:
    return KIND.measure(seen, data or cells(), parameters, None)


def value(measured: Measurement, name: str) -> float:
    found = measured.metrics[name].value
    assert found is not None
    return found


# What is asked.


def test_the_defaults_are_a_thousand_frames_of_800_to_1000_atoms() -> None:
    stated = EfficiencyParameters()
    assert (stated.n_frames, stated.smallest, stated.max_atoms) == (1000, 800, 1000)
    assert (stated.n_warm_up, stated.n_rechecked) == (100, 50)
    with pytest.raises(ValueError, match="min_atoms"):
        EfficiencyParameters(min_atoms=200, max_atoms=100)


def test_every_frame_is_new_and_follows_one_of_its_shape() -> None:
    model, parameters = Records(), small()
    seen = observe(model, parameters)
    assert len(model.asked) == 12
    assert all(len(frames) == 1 and asked == ("energy", "forces", "stress") for frames, asked in model.asked)
    for first, second in pairs(model.asked):
        np.testing.assert_array_equal(first[0].numbers, second[0].numbers)
        np.testing.assert_array_equal(first[0].cell, second[0].cell)
    assert len({frames.sha256() for frames, _ in model.asked}) == 12
    assert {int(f.numbers[0]) for f, _ in model.asked[:4]} == {13, 29}  # all structures in turn
    assert (seen.arrays["n_atoms"] == 32).all()
    again = Records()
    observe(again, parameters)
    assert [f.sha256() for f, _ in again.asked] == [f.sha256() for f, _ in model.asked]


def pairs(asked: list[tuple[Frames, Properties]]) -> Iterator[tuple[tuple[Frames, Properties], ...]]:
    return (tuple(asked[i : i + 2]) for i in range(0, len(asked), 2))


def test_without_stress_energy_and_forces_are_timed_and_it_says_so() -> None:
    model, parameters = Records(offers=("energy", "forces")), small()
    measured = measure(observe(model, parameters), parameters)
    assert {asked for _, asked in model.asked} == {("energy", "forces")}
    assert "not offered" in measured.notes["stress"]
    assert value(measured, "n_with_stress") == 0
    parameters = small(n_frames=2)
    assert value(measure(observe(Records(), parameters), parameters), "n_with_stress") == 2


def test_without_forces_nothing_is_timed() -> None:
    model, parameters = Records(offers=("energy",)), small()
    assert observe(model, parameters).arrays["failure"].tolist() == [Cause.UNSUPPORTED] * 6
    assert not model.asked


def test_the_estimate_counts_what_is_asked() -> None:
    model, parameters = Records(max_atoms_per_batch=20_000), small(n_frames=10)
    seen = observe(model, parameters)
    KIND.recheck(seen, cells().structures, parameters, model, model.watch())
    work = KIND.work(cells().structures, parameters)
    assert work.frames == len(model.asked)
    # The parts that are asked about are smaller than the whole that the estimate takes them for.
    assert 0.8 * work.atoms < sum(len(frames.numbers) for frames, _ in model.asked) <= work.atoms


# Sizes.


@settings(max_examples=60)
@given(
    edges=st.tuples(*[st.floats(2.0, 30.0)] * 3),
    pbc=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    n_atoms=st.integers(2, 60),
)
def test_cells_are_replicated_into_the_range_shortest_axes_most(
    edges: tuple[float, float, float], pbc: tuple[bool, bool, bool], n_atoms: int
) -> None:
    """Against every product of three counts."""
    lengths = np.array(edges)
    counts = repeats(np.diag(lengths), pbc, n_atoms, 80, 100)
    axes = [axis for axis in range(3) if pbc[axis]]
    most = [100 // n_atoms if periodic else 1 for periodic in pbc]
    possible = [
        (a, b, c)
        for a in range(1, most[0] + 1)
        for b in range(1, min(most[1], 100 // (n_atoms * a)) + 1)
        for c in range(1, min(most[2], 100 // (n_atoms * a * b)) + 1)
    ]
    atoms = {(a, b, c): a * b * c * n_atoms for a, b, c in possible}
    in_range = [c for c in possible if atoms[c] >= 80]
    assert counts in possible
    if not axes:
        return
    edges_of = {c: [c[axis] * edges[axis] for axis in axes] for c in possible}
    elongation = {c: max(each) / min(each) for c, each in edges_of.items()}
    if in_range:
        assert counts in in_range
        assert elongation[counts] <= min(elongation[c] for c in in_range) + 1e-5
    else:
        assert atoms[counts] == max(atoms.values())
    for one, other in itertools.permutations(axes, 2):
        assert not (lengths[one] < lengths[other] and counts[one] < counts[other])


def test_a_cubic_cell_of_four_atoms_has_864() -> None:
    assert repeats(np.eye(3) * 4.0, (True, True, True), 4, 800, 1000) == (6, 6, 6)
    assert repeats(np.diag([4.0, 4.0, 100.0]), (True, True, False), 4, 800, 1000) == (15, 15, 1)
    assert repeats(np.diag([4.0, 4.0, 24.0]), (True, True, True), 24, 800, 1000) == (6, 6, 1)


@given(limit=st.integers(0, 20), n=st.integers(1, 20))
def test_bisection_finds_the_largest_that_fits_and_asks_few(limit: int, n: int) -> None:
    sizes: list[Counts] = [(k, 1, 1) for k in range(1, n + 1)]
    tried: list[int] = []

    def fits(counts: Counts) -> bool:
        tried.append(counts[0])
        return counts[0] <= limit

    found = largest_that_fits(sizes, fits)
    assert found == ((min(limit, n), 1, 1) if limit else None)
    assert len(tried) <= n.bit_length()


class HasLittleMemory(EMT):
    """EMT that raises what an allocator raises, beyond a number of atoms."""

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


# What is counted.


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
    """Two calls of a second a frame, and 5 s."""
    model, parameters = Records(takes=lambda call, atoms: 1.0), small(n_frames=5)
    seen = observe(model, parameters, watch=model.watch(5.5))
    assert seen.arrays["failure"].tolist() == [0, 0] + [Cause.OVER_TIME] * 3
    assert len(model.asked) == 4
    assert np.isnan(seen.arrays["seconds"][2:]).all()


def test_batches_cost_less_an_atom_where_a_call_costs_something() -> None:
    """10 ms a call and 1 ms an atom: 42 ms for 32 atoms, 74 ms for two of them at once; 1 ms each of the clock."""
    model = Records(max_atoms_per_batch=70, takes=lambda call, atoms: 0.010 + 0.001 * atoms)
    parameters = small(n_batches=3)
    measured = measure(observe(model, parameters), parameters)
    assert value(measured, "time_mean") == pytest.approx(43_000 / 32)
    assert value(measured, "batched_time") == pytest.approx(75_000 / 64)
    assert value(measured, "batched_time") < value(measured, "time_mean")
    batches = [frames for frames, _ in model.asked if len(frames) > 1]
    assert [len(frames) for frames in batches] == [2] * 4  # the first is not timed
    assert len({frames.sha256() for frames in batches}) == 4
    assert measured.metrics["batched_time"].n_items == 3
    # No time for four batches: it says that they were not measured, and charges them.
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
        return now if len(model.asked) < 7 else 3.0 * now

    with pytest.raises(HostTooNoisy, match=r"3\.00 times as long as it can .* max_noise = 1\.2\): end what else runs"):
        KIND.observe(cells().structures, parameters, model, Watch(uneven))
    assert 7 <= len(model.asked) < 12  # it was found between, not after


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
    host = Host(clock, 1.2)
    if is_noisy:
        with pytest.raises(HostTooNoisy, match=r"5\.00 times as long as it can \(5 ms, not 1;"):
            host.look()
    else:
        host.look()
        host.look()
        np.testing.assert_allclose(host.looks, 1e-3)


# Asked again.


def rechecked(
    timed: Records, fresh: Records, parameters: EfficiencyParameters, data: Dataset | None = None
) -> tuple[Observation, Measurement]:
    seen = observe(timed, parameters, data)
    assert isinstance(KIND, Rechecking)
    again = KIND.recheck(seen, (data or cells()).structures, parameters, fresh, fresh.watch())
    return again, measure(again, parameters, data)


def test_an_honest_model_agrees_with_itself_to_rounding() -> None:
    slab = bulk("Pt", cubic=True).repeat((1, 1, 2))
    slab.center(vacuum=5.0, axis=2)
    slab.pbc = (True, True, False)
    data = make_dataset(Frames.from_atoms([bulk("Cu", cubic=True), slab, molecule("C2H6")]), None)
    fresh, parameters = Records(), small(n_frames=9, recheck_fraction=1.0)
    again, measured = rechecked(Records(), fresh, parameters, data)
    assert measured.items.failures() == {}
    assert (value(measured, "n_rechecked"), value(measured, "n_inconsistent")) == (9, 0)
    assert value(measured, "time_mean") > 0
    for name, tolerance in (("energy", 1e-8), ("forces", 1e-9), ("stress", 1e-10)):
        for one, other in (("kept", "again"), ("whole", "part")):
            difference = again.arrays[f"{one}_{name}"] - again.arrays[f"{other}_{name}"]
            assert np.nanmax(np.abs(difference)) < tolerance
    # The fresh start sees what the timed one saw: a frame, then another of its shape; the parts come last.
    for (first, _), (second, _) in pairs(fresh.asked[:18]):
        np.testing.assert_array_equal(first.numbers, second.numbers)
    assert all(len(frames.numbers) <= 20 for frames, _ in fresh.asked[18:])
    assert len({frames.sha256() for frames, _ in fresh.asked}) == len(fresh.asked)


class Answers(EMT):
    """EMT that answers `rubbish` of more than 20 atoms."""

    def __init__(self, rubbish: Callable[[Atoms, dict[str, Any]], dict[str, Any]]) -> None:
        super().__init__()
        self.rubbish = rubbish

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        if len(atoms) > 20:
            self.results = self.rubbish(atoms, self.results)


def zeros(atoms: Atoms, true: dict[str, Any]) -> dict[str, Any]:
    return {"energy": 0.0, "forces": np.zeros((len(atoms), 3)), "stress": np.zeros(6)}


def numbers_at_random(atoms: Atoms, true: dict[str, Any]) -> dict[str, Any]:
    noise = np.random.default_rng(abs(hash(atoms.positions.tobytes())))
    return {**true, "forces": noise.normal(0.0, 0.5, (len(atoms), 3))}


def no_stress(atoms: Atoms, true: dict[str, Any]) -> dict[str, Any]:
    return {**true, "stress": 0.3 * true["stress"]}


@pytest.mark.parametrize("rubbish", [zeros, numbers_at_random, no_stress])
def test_rubbish_of_the_timed_sizes_is_caught(rubbish: Any) -> None:
    """Fast, and worthless: no time counts, also where the fresh start answers the same rubbish."""
    parameters = small(n_batches=2)
    _, measured = rechecked(Records(Answers(rubbish)), Records(Answers(rubbish)), parameters)
    assert measured.items.failures() == {Cause.INCONSISTENT: 3}
    assert value(measured, "n_inconsistent") == 3
    for name in ("time_mean", "time_median", "time_p95", "time_cold", "batched_time"):
        assert measured.metrics[name].value is None
        assert measured.metrics[name].charged == FAILURE_COST
    assert "no time counts" in measured.notes["asked again"]


def test_a_model_that_answers_rubbish_only_while_it_is_timed_is_caught() -> None:
    _, measured = rechecked(Records(Answers(zeros)), Records(), small())
    assert measured.items.failures() == {Cause.INCONSISTENT: 3}


def test_a_model_that_is_a_little_off_when_turned_is_not_blamed() -> None:
    """As models are that are not equivariant: 3 meV/atom and 3 % of the forces, which depend on the orientation."""

    def turned(atoms: Atoms, true: dict[str, Any]) -> dict[str, Any]:
        lean = np.sin(atoms.cell[0, 1])
        return {
            **true,
            "energy": true["energy"] + 0.003 * lean * len(atoms),
            "forces": true["forces"] * (1 + 0.03 * lean),
        }

    _, measured = rechecked(Records(Answers(turned)), Records(Answers(turned)), small())
    assert measured.items.failures() == {}


def test_what_could_not_be_asked_again_confirms_nothing() -> None:
    parameters, fresh = small(), Records()
    seen = observe(Records(), parameters)
    assert measure(seen, parameters).notes["asked again"] == "no frame: no fresh start was asked"
    late = KIND.recheck(seen, cells().structures, parameters, fresh, fresh.watch(deadline=0.0))
    measured = measure(late, parameters)
    assert measured.items.failures() == {}
    assert measured.metrics["time_mean"].value is None
    assert (measured.metrics["n_rechecked"].value, measured.metrics["n_rechecked"].n_failed) == (0, 3)


def test_a_part_makes_up_the_whole() -> None:
    assert [part_of(c) for c in ((6, 6, 6), (7, 6, 5), (9, 5, 5), (5, 5, 5), (1, 1, 1), (2, 1, 1))] == [
        (3, 3, 3), (7, 3, 5), (3, 5, 5), (1, 5, 5), (1, 1, 1), (1, 1, 1)
    ]  # fmt: skip
    frames = Frames.from_atoms([Atoms("NaCl", [(0, 0, 0), (2, 2, 2)], cell=np.diag([4.0, 5.0, 6.0]), pbc=True)])
    part, whole = replicated(frames, 0, (1, 3, 2)), replicated(frames, 0, (2, 3, 4))
    moves = np.random.default_rng(0).normal(size=(12, 3))
    by_ase = part.moved(part.positions + moves).atoms(0).repeat((2, 1, 2))
    ours = whole.moved(whole.positions + spread_over(moves, (1, 3, 2), (2, 3, 4))).atoms(0)
    key = [np.lexsort(np.round(a.positions, 6).T) for a in (by_ase, ours)]
    np.testing.assert_allclose(by_ase.positions[key[0]], ours.positions[key[1]], atol=1e-12)
    assert by_ase.numbers[key[0]].tolist() == ours.numbers[key[1]].tolist()


# What failing gains: nothing.

TIMES = ("time_mean", "time_median", "time_p95", "time_cold", "batched_time")
OUT_OF_MEMORY = FrameError(Cause.OUT_OF_MEMORY, "Costly", "no more")
ERROR = FrameError(Cause.ERROR, "Costly", "on purpose")


class Costly(Records):
    """A model whose frames cost what they do by element and size, one after another, and that fails at some."""

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
        call, asked_for_stress = len(self.asked), "stress" in properties and not self._hides_stress
        self.clock.now += sum(self._cost(*one, asked_for_stress) for one in each)
        answer = super().compute(frames, properties)
        stress = answer.stress
        if stress is not None and self._hides_stress:
            stress = np.full_like(stress, np.nan)
        errors = {i: error for i, one in enumerate(each) if (error := self._fails(call, *one)) is not None}
        return Predictions.checked(frames, answer.energy, answer.forces, stress, {**answer.errors, **errors})


def charged(model: Records, parameters: EfficiencyParameters) -> tuple[dict[str, float], Measurement]:
    """What each time is charged at, the model asked again."""
    _, measured = rechecked(model, model, parameters)
    found = {name: measured.metrics[name].charged for name in TIMES}
    return {name: charge for name, charge in found.items() if charge is not None}, measured


def assert_none_gained(honest: dict[str, float], other: dict[str, float]) -> None:
    assert len(honest) == len(other) == len(TIMES)
    for name in TIMES:
        assert other[name] >= honest[name] * (1 - 1e-9), name


def claims_no_memory(most: int, elements: tuple[int, ...]) -> Callable[[int, int, int], FrameError | None]:
    return lambda call, number, atoms: OUT_OF_MEMORY if atoms > most and number in elements else None


@pytest.mark.parametrize(("power", "most"), [(0.0, 8), (1.0, 4), (2.0, 4), (2.0, 24)])
def test_claiming_too_little_memory_gains_nothing_up_to_quadratic_cost(power: float, most: int) -> None:
    """Also not if it is claimed of one of two elements only, the one that costs a hundred times as much."""

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
        in_batch = len(model.asked[-1][0]) > 1
        return ERROR if element == number and not (singly and in_batch) else None

    parameters = small(n_frames=8, n_batches=2)
    honest, _ = charged(Costly(cost), parameters)
    model = Costly(cost, fails)
    other, measured = charged(model, parameters)
    assert_none_gained(honest, other)
    assert measured.metrics["time_mean"].n_failed >= 4
    if not singly:
        assert (measured.metrics["batched_time"].value, other["batched_time"]) == (None, FAILURE_COST)


class RubbishInBatches(Records):
    """Answers what it is asked singly, and of batches a tenth of one property."""

    def __init__(self, wrong: str) -> None:
        super().__init__()
        self.wrong = wrong

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        answer = super().compute(frames, properties)
        return replace(answer, **{self.wrong: 0.1 * getattr(answer, self.wrong)}) if len(frames) > 1 else answer


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


def test_what_batches_answered_is_asked_again_singly_and_turned() -> None:
    data = make_dataset(Frames.from_atoms([bulk("Cu", cubic=True), molecule("C2H6"), bulk("Al", cubic=True)]), None)
    parameters, timed = small(n_batches=4), Records(max_atoms_per_batch=120)
    fresh = Records()
    again, measured = rechecked(timed, fresh, parameters, data)
    kept = again.arrays["batch_kept"]
    assert (len(kept), len(np.unique(kept[:, 0]))) == (3, 3)  # of three batches one frame each
    assert value(measured, "n_batched_inconsistent") == 0
    assert value(measured, "batched_time") > 0
    batches = [frames for frames, _ in timed.asked if len(frames) > 1]
    for (index, member), (frames, _) in zip(kept, fresh.asked[-3:], strict=True):
        assert len(frames) == 1
        was, now = batches[index + 1].atoms(member), frames.atoms(0)
        np.testing.assert_allclose(now.get_all_distances(), was.get_all_distances(), atol=1e-10)
        assert np.abs(now.positions - was.positions).max() > 0.1
    for name in ("energy", "forces", "stress"):
        np.testing.assert_allclose(again.arrays[f"alone_{name}"], again.arrays[f"batched_{name}"], atol=1e-8)
    late = KIND.recheck(again, data.structures, parameters, fresh, fresh.watch(deadline=0.0))
    undecided = measure(late, parameters, data).metrics
    assert (undecided["batched_time"].value, undecided["batched_time"].charged) == (None, FAILURE_COST)
    assert undecided["n_batched_inconsistent"].n_failed == 3
