"""Small frames show that the model that is timed is the one that other tasks judge, and no honest model is blamed."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import add_adsorbate, bulk, fcc111, molecule
from ase.calculators.calculator import all_changes
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones

from tasks.datasets.dataset import Dataset
from tasks.metrics.measurement import Measurement
from tasks.simulation.supercells import displacements, replicated
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Predictions, Properties
from tasks.timing.efficiency import EfficiencyParameters
from tasks.timing.efficiency_metrics import FAILURE_COST
from tasks.timing.frame_answers import FrameAnswer
from tasks.timing.small_frames import block_around, block_counts, breaks_blocks, breaks_work
from tests.tasks.made_up import make_dataset
from tests.tasks.timing.timed_models import (
    KIND,
    Records,
    cells,
    judged_answers,
    measure,
    observe,
    rechecked,
    small,
    value,
)

pytestmark = pytest.mark.usefixtures("short_looks")
LARGE = 90
Answer = dict[str, Any]


class Emt(EMT):
    """EMT that answers what `answer` makes of its results."""

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        self.results = self.answer(atoms, dict(self.results))

    def answer(self, atoms: Atoms, true: Answer) -> Answer:
        return true


def large_cells(**stated: Any) -> EfficiencyParameters:
    """Cells of 108 atoms, made of crystals of 4."""
    return small(**{"min_atoms": 100, "max_atoms": 128, **stated})


# The physics.


@pytest.mark.parametrize("seed", range(6))
def test_of_a_short_range_the_force_in_a_block_is_that_in_the_timed_frame(seed: int) -> None:
    """A pair potential that ends within half of the block, in any cell: all its neighbours are those of the frame."""
    rng = np.random.default_rng(seed)
    cell = bulk("Cu", cubic=bool(seed % 2)).cell.array @ (np.eye(3) + rng.normal(0.0, 0.03, (3, 3)))
    symbols = "Cu4" if seed % 2 else "Cu"
    source = Frames.from_atoms([Atoms(symbols, bulk("Cu", cubic=bool(seed % 2)).get_scaled_positions() @ cell)])
    source = Frames.from_atoms([Atoms(numbers=source.numbers, positions=source.positions, cell=cell, pbc=True)])
    counts = (4, 4, 4) if seed % 2 else (6, 6, 6)
    timed = replicated(source, 0, counts)
    moves = displacements(len(timed.numbers), 0.05, rng)
    m, size = len(source.numbers), block_counts(cell, (True, True, True), counts)
    chosen = int(rng.integers(len(moves)))
    where = np.array(np.unravel_index(chosen // m, counts))
    block, atom = block_around(source, counts, moves, where, chosen % m, size)
    assert len(block.numbers) == m * np.prod(size) < len(timed.numbers)
    forces = []
    for frames in (timed.moved(timed.positions + moves), block):
        atoms = frames.atoms(0)
        atoms.calc = LennardJones(sigma=2.3, epsilon=0.1, rc=3.2, smooth=False)
        forces.append(atoms.get_forces())
    assert np.abs(forces[0][chosen]).max() > 0.01
    np.testing.assert_allclose(forces[1][atom], forces[0][chosen], atol=1e-10)


def test_a_block_is_as_wide_as_it_must_be_and_smaller_than_its_frame() -> None:
    everywhere = (True, True, True)
    assert block_counts(np.diag([3.0, 5.0, 9.0]), everywhere, (5, 5, 5)) == (3, 2, 1)
    assert block_counts(np.eye(3) * 3.6, everywhere, (3, 3, 3)) == (2, 2, 2)
    assert block_counts(np.eye(3) * 3.6, everywhere, (2, 2, 2)) == (2, 2, 2)  # so there is none
    assert block_counts(np.diag([3.0, 3.0, 0.0]), (True, True, False), (5, 5, 1)) == (3, 3, 1)
    slanted = np.array([[3.0, 0.0, 0.0], [2.9, 3.0, 0.0], [0.0, 0.0, 3.0]])
    assert block_counts(slanted, everywhere, (9, 9, 9)) == (4, 3, 3)


@pytest.mark.parametrize("from_perfect", [True, False])
def test_the_work_of_springs_is_exact(from_perfect: bool) -> None:
    rng = np.random.default_rng(1)
    start = np.zeros((50, 3)) if from_perfect else rng.normal(0.0, 0.1, (50, 3))
    matrix = rng.normal(size=(150, 150))
    stiffness = matrix @ matrix.T / 150

    def answer(place: Any) -> FrameAnswer:
        forces = -(stiffness @ place.ravel()).reshape(-1, 3)
        return FrameAnswer(-0.5 * float((forces * place).sum()), forces, np.full(6, np.nan))

    moves = rng.normal(0.0, 0.05, (50, 3))
    source, timed = answer(start), answer(start + moves)
    assert not breaks_work(timed, source, moves)
    for shift, breaks in ((0.4, False), (-0.4, False), (2.0, True), (-2.0, True), (np.nan, True)):
        assert breaks_work(timed._replace(energy=timed.energy + shift), source, moves) == breaks
    assert breaks_work(timed._replace(forces=timed.forces * np.nan), source, moves)


def test_work_far_from_any_equilibrium_is_known_less_well() -> None:
    """Repulsion as 1/r¹² at 1000 eV: its third order is a large part of the work along 0.2 Å. The sign is known."""

    def answer(r: float) -> FrameAnswer:
        energy = 1000.0 * r**-12
        return FrameAnswer(energy, 12.0 * energy / r * np.array([[-1.0, 0, 0], [1.0, 0, 0]]), np.full(6, np.nan))

    for first, second in ((1.0, 0.8), (0.8, 1.0)):
        moves = np.array([[0.0, 0.0, 0.0], [second - first, 0.0, 0.0]])
        timed, source = answer(second), answer(first)
        assert not breaks_work(timed, source, moves)
        assert breaks_work(timed._replace(energy=2 * source.energy - timed.energy), source, moves)


def test_forces_of_nothing_and_of_something_else_differ_from_those_in_blocks() -> None:
    rng = np.random.default_rng(2)
    true, other = rng.normal(0.0, 0.3, (2, 4, 3))
    assert not breaks_blocks(true, true + 0.3 * other)
    for timed in (0.0 * true, -true, other, 2.0 * true, true * np.nan):
        assert breaks_blocks(timed, true)
    assert not breaks_blocks(true[:0], true[:0])


# Cheap models are detected.


class Cheap(Emt):
    """EMT, or something cheap where `is_cheap` says so."""

    def __init__(self, cheap: Callable[[Atoms, Answer], Answer]) -> None:
        super().__init__()
        self.cheap, self.n_questions, self.large_from, self.first = cheap, 0, 0, 0

    def answer(self, atoms: Atoms, true: Answer) -> Answer:
        self.n_questions += 1
        self.first = self.first or len(atoms)
        if not self.large_from and len(atoms) >= LARGE:
            self.large_from = self.n_questions
        return {**true, **self.cheap(atoms, true)} if self.is_cheap(atoms) else true

    def is_cheap(self, atoms: Atoms) -> bool:
        raise NotImplementedError


class ByFirstQuestion(Cheap):
    def is_cheap(self, atoms: Atoms) -> bool:
        return self.first >= LARGE


class BySize(Cheap):
    def is_cheap(self, atoms: Atoms) -> bool:
        return len(atoms) > 8


class ByCallNumber(Cheap):
    def is_cheap(self, atoms: Atoms) -> bool:
        return 0 < self.large_from <= self.n_questions < self.large_from + 30


class FromTheStart(Cheap):
    """Cheap for the first questions of any session, as many as a timing has."""

    def is_cheap(self, atoms: Atoms) -> bool:
        return self.n_questions <= 100


class OnRepeats(Cheap):
    """Honest about the first frame of each shape."""

    def __init__(self, cheap: Callable[[Atoms, Answer], Answer]) -> None:
        super().__init__(cheap)
        self.known: set[tuple[int, float]] = set()

    def is_cheap(self, atoms: Atoms) -> bool:
        shape = (int(atoms.numbers.sum()), round(float(atoms.cell.volume), 3))
        known = shape in self.known
        self.known.add(shape)
        return known


def ideal_gas(atoms: Atoms, true: Answer) -> Answer:
    return {"energy": -3.0 * len(atoms), "forces": np.zeros((len(atoms), 3)), "stress": np.zeros(6)}


def perfect_crystal(atoms: Atoms, true: Answer) -> Answer:
    """EMT counts energies from the perfect crystal."""
    return {"energy": 0.0, "forces": 3e-4 * np.sin(1e3 * atoms.positions)}


def other_potential(atoms: Atoms, true: Answer) -> Answer:
    """Lennard-Jones, the same for every element."""
    copy = atoms.copy()
    copy.calc = LennardJones(sigma=2.4, epsilon=0.3, rc=5.0)
    return {name: copy.calc.get_property(name, copy) for name in ("energy", "forces", "stress")}


def other_energies(atoms: Atoms, true: Answer) -> Answer:
    """The forces are right, and the energy is off by the same for each atom."""
    return {"energy": true["energy"] + 0.1 * len(atoms)}


@pytest.mark.parametrize(
    ("model", "cheap"),
    [
        *itertools.product(
            (ByFirstQuestion, BySize, ByCallNumber), (ideal_gas, perfect_crystal, other_potential, other_energies)
        ),
        (FromTheStart, ideal_gas),
        (OnRepeats, ideal_gas),
        (OnRepeats, perfect_crystal),
        (OnRepeats, other_potential),
    ],
)
def test_a_cheap_model_of_the_timed_frames_is_detected(
    model: type[Cheap], cheap: Callable[[Atoms, Answer], Answer]
) -> None:
    _, measured = rechecked(Records(model(cheap)), Records(model(cheap)), large_cells())
    assert measured.items.failures().keys() == {Cause.INCONSISTENT}
    assert "no time counts" in measured.notes["asked again"]
    assert all(measured.metrics[name].charged == FAILURE_COST for name in ("time_mean", "time_median", "time_p95"))


def test_a_cheap_model_that_is_honest_about_crystals_of_equal_parts_is_detected() -> None:
    """Only frames of the timed shapes without a symmetry are cheap: no other question can tie them to small frames."""

    class SpotsTheCheck(Cheap):
        def is_cheap(self, atoms: Atoms) -> bool:
            return len(atoms) >= LARGE and not has_equal_parts(atoms)

    for cheap in (ideal_gas, perfect_crystal, other_potential):
        again, measured = rechecked(Records(SpotsTheCheck(cheap)), Records(SpotsTheCheck(cheap)), large_cells())
        np.testing.assert_allclose(again.arrays["whole_energy"], again.arrays["part_energy"], atol=1e-8)
        np.testing.assert_allclose(again.arrays["again_energy"], again.arrays["kept_energy"], atol=1e-8)
        assert measured.items.failures() == {Cause.INCONSISTENT: 3}


def has_equal_parts(atoms: Atoms) -> bool:
    scaled = atoms.get_scaled_positions()
    for other in scaled[1:]:
        between = scaled[:, None] + (other - scaled[0]) - scaled
        between -= np.round(between)
        if (np.abs(between).max(axis=2).min(axis=1) < 1e-6).all():
            return True
    return False


def test_a_model_that_is_cheap_later_in_the_fresh_start_is_detected() -> None:
    """Its answers to the structures at the end are not those of the beginning."""

    class After(Cheap):
        def is_cheap(self, atoms: Atoms) -> bool:
            return self.large_from > 0 and len(atoms) <= 8

    _, measured = rechecked(Records(After(other_energies)), Records(After(other_energies)), large_cells())
    assert measured.items.failures() == {Cause.INCONSISTENT: 3}


# Honest models are not blamed.


def lennard_jones() -> Any:
    """The example submission."""
    (path,) = (Path(__file__).parents[3] / "submissions/examples/lennard_jones").glob("*.py")
    spec = importlib.util.spec_from_file_location("lennard_jones_example", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make_calculator()


class Single(Emt):
    """EMT in single precision, with the energy of all electrons: 45,000 eV per atom."""

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        rounded = atoms.copy()
        rounded.positions = rounded.positions.astype(np.float32)
        rounded.cell = rounded.cell.array.astype(np.float32)
        super().calculate(rounded, properties, system_changes)

    def answer(self, atoms: Atoms, true: Answer) -> Answer:
        true["energy"] -= 45_000.0 * len(atoms)
        return {name: np.float32(result).astype(float) for name, result in true.items()}


class Nondeterministic(Emt):
    """As on a GPU: sums in another order at each call."""

    def answer(self, atoms: Atoms, true: Answer) -> Answer:
        rng = np.random.default_rng()
        return {name: np.asarray(a) * (1 + rng.normal(0.0, 1e-5, np.shape(a))) for name, a in true.items()}


class DirectForces(Emt):
    """Forces that are no derivatives of the energy: 5 % too weak, and off by up to 50 meV/Å."""

    def answer(self, atoms: Atoms, true: Answer) -> Answer:
        other = LennardJones(sigma=2.3, epsilon=0.1, rc=5.0).get_property("forces", atoms.copy())
        size = np.linalg.norm(other, axis=1, keepdims=True)
        return {**true, "forces": 0.95 * true["forces"] + 0.05 * other / (1.0 + size)}


class NotEquivariant(Emt):
    """2 meV/atom and 3 % of the forces depend on the orientation."""

    def answer(self, atoms: Atoms, true: Answer) -> Answer:
        lean = np.sin(atoms.cell[0, 1])
        return {
            **true,
            "energy": true["energy"] + 0.002 * lean * len(atoms),
            "forces": true["forces"] * (1 + 0.03 * lean),
        }


class Batches(Records):
    """Answers that depend a little on the other frames of the message."""

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        answer = super().compute(frames, properties)
        shift = 1e-4 * np.tanh(len(frames) - 1)
        return Predictions(answer.energy + shift * frames.n_atoms, answer.forces, answer.stress, answer.failure)


HONEST: dict[str, Callable[[], Records]] = {
    "float64": lambda: Records(EMT()),
    "float32": lambda: Records(Single()),
    "lennard-jones": lambda: Records(lennard_jones()),
    "nondeterministic": lambda: Records(Nondeterministic()),
    "direct forces": lambda: Records(DirectForces()),
    "not equivariant": lambda: Records(NotEquivariant()),
    "batches": lambda: Batches(EMT()),
    "no stress": lambda: Records(EMT(), offers=("energy", "forces")),
}
N_HONEST, N_QUICK = 25, 6  # runs of each, and those in `make test`


def a_data_set(rng: np.random.Generator) -> Dataset:
    """Three structures that EMT knows: a crystal, perfect or strained and rattled; an alloy; a slab or a molecule."""
    element = str(rng.choice(["Al", "Ni", "Cu", "Pd", "Ag", "Pt", "Au"]))
    crystal = bulk(element, cubic=bool(rng.integers(2)))
    if rng.integers(2):
        crystal.set_cell(crystal.cell.array @ (np.eye(3) + rng.normal(0.0, 0.03, (3, 3))), scale_atoms=True)
        crystal.positions += rng.normal(0.0, 0.05, crystal.positions.shape)
    alloy = bulk("Cu", a=3.8, cubic=True)
    alloy.symbols[: rng.integers(1, 4)] = element
    slab = fcc111("Cu", (1, 1, 3), vacuum=6.0)
    add_adsorbate(slab, "O", 1.5, "fcc")
    slab.pbc = (True, True, False)
    return make_dataset(Frames.from_atoms([crystal, alloy, slab if rng.integers(2) else molecule("C2H6")]), None)


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
@pytest.mark.parametrize("first", [0, pytest.param(N_QUICK, marks=pytest.mark.soak)])
def test_no_honest_model_is_inconsistent(name: str, first: int) -> None:
    """In 200 runs, a share of them in each `make test`."""
    assert N_HONEST * len(HONEST) >= 200
    for seed in range(first, N_HONEST if first else N_QUICK):
        rng = np.random.default_rng([seed, *name.encode()])
        most = int(rng.choice([32, 64, 110]))
        parameters = small(n_frames=3, max_atoms=most, seed=seed, rattle=float(rng.uniform(0.02, 0.08)), n_batches=1)
        data, labelled = a_data_set(rng), Frames.concatenate([a_data_set(rng).frames for _ in range(4)])
        if rng.integers(2):  # the timing's structures are among those of a task with labels, too
            labelled = Frames.concatenate([labelled, data.frames])
        judged = [judged_answers(HONEST[name](), make_dataset(labelled, None))]
        again, measured = rechecked(HONEST[name](), HONEST[name](), parameters, data, judged)
        assert measured.items.failures() == {}, (seed, again.arrays["again_failure"], again.arrays["small_failure"])
        assert (value(measured, "n_rechecked"), value(measured, "n_inconsistent")) == (3, 0)
        assert again.arrays["judged_failure"].tolist() == [[0] * 8] * 3
        assert ": 0 differed, 0 could not be decided" in measured.notes["compared with tasks with labels"]
        assert value(measured, "time_mean") > 0
        assert value(measured, "n_batched_inconsistent") == 0


# What is asked and stored.


def test_the_structures_come_first_and_as_they_are() -> None:
    fresh = Records(max_atoms_per_batch=20_000)
    again, _ = rechecked(Records(), fresh, large_cells())
    (first, properties), *others = fresh.calls
    known = {cells().frames.take([index]).sha256() for index in range(2)}
    assert {first.take([index]).sha256() for index in range(len(first))} <= known
    assert properties == ("energy", "forces", "stress")
    sizes = [len(frames.numbers) for frames, _ in others]
    n_blocks = len(again.arrays["block_row"])
    assert n_blocks == 3 * 4
    assert all(size < LARGE for size in sizes[:n_blocks])
    assert set(sizes[n_blocks : n_blocks + 6]) == {108}
    assert all(size < LARGE for size in sizes[n_blocks + 6 :])


def test_without_the_secret_nobody_knows_the_questions() -> None:
    """Also of public structures: neither the timed frames, nor which of them are checked, nor how."""
    parameters, data, kept, asked = small(n_frames=40, n_batches=0), cells(), [], []
    for secret in (b"", b"1" * 32, b"1" * 32, b"2" * 32):
        model = Records()
        watch = model.watch()
        watch = type(watch)(watch.clock, secret=secret)
        seen = KIND.observe(data.structures, parameters, model, watch)
        KIND.recheck(seen, data.structures, parameters, model, watch)
        kept.append(seen.arrays["kept"].tolist())
        asked.append([frames.sha256() for frames, _ in model.calls])
    assert kept[1] == kept[2]
    assert asked[1] == asked[2]
    for first, second in ((0, 1), (0, 3), (1, 3)):
        assert kept[first] != kept[second]
        assert len({*asked[first]} & {*asked[second]}) <= 2  # the structures themselves


def test_a_charged_structure_is_not_compared_if_it_is_repeated() -> None:
    """Two cells have twice its charge, and a structure states one."""

    class Charged(Emt):
        def answer(self, atoms: Atoms, true: Answer) -> Answer:
            return {**true, "energy": true["energy"] + 5.0 * atoms.info.get("charge", 0) * len(atoms) ** 0.5}

    def judged(atoms: Atoms) -> tuple[Measurement, list[int]]:
        data = make_dataset(Frames.from_atoms([atoms]), None)
        again, measured = rechecked(Records(Charged()), Records(Charged()), small(), data)
        return measured, again.arrays["small_compared"].tolist()

    ion = molecule("OH")
    ion.info["charge"] = -1
    measured, compared = judged(ion)
    assert (measured.items.failures(), compared) == ({}, [1, 1, 1])
    crystal = bulk("Cu")
    crystal.info["charge"] = 1
    assert judged(crystal)[1] == [0, 0, 0]


def test_an_observation_from_before_small_frames_is_measured_as_it_was() -> None:
    parameters = large_cells()
    again, _ = rechecked(Records(), Records(), parameters)
    later = {**again.arrays, "source_energy": again.arrays["source_energy"] + 10.0}
    assert measure(type(again)(later, again.notes), parameters).items.failures() == {Cause.INCONSISTENT: 3}
    added = ("small_", "source_", "late_", "block_")
    before = {name: array for name, array in later.items() if not name.startswith(added)}
    assert measure(type(again)(before, again.notes), parameters).items.failures() == {}


def test_what_was_not_answered_is_inconsistent_and_what_was_not_reached_is_undecided() -> None:
    parameters, fresh = large_cells(), Records(fails_at=(0,))
    seen = observe(Records(), parameters)
    again = KIND.recheck(seen, cells().structures, parameters, fresh, fresh.watch())
    assert again.arrays["small_failure"].tolist() == [Cause.ERROR] * 3
    assert measure(again, parameters).items.failures() == {Cause.INCONSISTENT: 3}
    late = KIND.recheck(seen, cells().structures, parameters, fresh, fresh.watch(deadline=0.0))
    assert late.arrays["small_failure"].tolist() == [Cause.OVER_TIME] * 3
    assert measure(late, parameters).items.failures() == {}
