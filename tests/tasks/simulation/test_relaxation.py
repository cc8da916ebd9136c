"""Relaxation: the minimum that ASE finds, the same alone and among many, and an end for any answers of a model."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT
from ase.filters import FrechetCellFilter
from ase.optimize import BFGS
from threadpoolctl import threadpool_limits

from tasks.kind import Watch
from tasks.model.calculator import InProcessCalculator, ItemFailed
from tasks.simulation.lockstep_batches import Job, run_concurrently
from tasks.simulation.relaxation import Relaxation, relax_cells, relaxed, relaxed_arrays, require_periodic
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause
from tests.tasks.made_up_crystals import Argon, Counting, StresslessArgon, silicon

TIGHT = Relaxation(optimizer="BFGS", fmax=1e-5, max_steps=300)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """As `run_concurrently` has it: matrices of three rows gain nothing by threads that wait for each other."""
    with threadpool_limits(1, user_api="blas"):
        yield


def distorted(count: int) -> list[Atoms]:
    """Argon crystals of one and two atoms, no two alike."""
    rng = np.random.default_rng(8)
    made = []
    for k in range(count):
        atoms = bulk("Ar", "hcp", a=3.7 + 0.02 * k, c=6.0) if k % 2 else bulk("Ar", a=5.2 + 0.02 * k)
        atoms.set_cell(atoms.cell.array @ (np.eye(3) + rng.normal(0.0, 0.01, (3, 3))), scale_atoms=True)
        atoms.positions += rng.normal(0.0, 0.05, atoms.positions.shape)
        made.append(atoms)
    return made


@pytest.mark.parametrize("optimizer", ["FIRE", "BFGS", "LBFGS"])
def test_many_at_once_come_out_to_the_last_bit_as_one_after_another(optimizer: Any, watch: Watch) -> None:
    structures, settings = distorted(4), Relaxation(optimizer=optimizer, fmax=0.005)
    pressures = np.linspace(0.0, 0.5, 4)
    together = Counting(Argon())
    ends = relax_cells(Frames.from_atoms(structures), together, settings, watch, pressures)
    alone = Counting(Argon())
    for atoms, pressure, end in zip(structures, pressures, ends, strict=True):
        expected = relaxed(atoms, alone, settings, pressure_gpa=pressure)
        assert end.cause == Cause.NONE
        assert end.value is not None
        assert end.value.cell.array.tobytes() == expected.cell.array.tobytes()
        assert end.value.positions.tobytes() == expected.positions.tobytes()
    # The same structures were sent, in fewer calls.
    assert sum(map(len, together.calls)) == sum(map(len, alone.calls))
    assert len(together.calls) < len(alone.calls) / 2


def test_the_minimum_is_that_of_plain_ase() -> None:
    start = bulk("Si", a=5.5)
    start.rattle(0.05, seed=1)
    ours = relaxed(start, InProcessCalculator(silicon()), TIGHT, pressure_gpa=3.0)
    plain = start.copy()
    plain.calc = silicon()
    BFGS(FrechetCellFilter(plain, scalar_pressure=3.0 * units.GPa), logfile=None).run(fmax=1e-5)
    np.testing.assert_allclose(ours.cell.array, plain.cell.array, atol=1e-8)
    np.testing.assert_allclose(ours.positions, plain.positions, atol=1e-8)
    assert ours.calc is None
    assert start.positions.tobytes() != ours.positions.tobytes()


def test_without_the_cell_only_atoms_move() -> None:
    start = bulk("Si", a=5.4)
    start.rattle(0.05, seed=1)
    result = relaxed(start, InProcessCalculator(silicon()), TIGHT, cell=False)
    assert result.cell.array.tobytes() == start.cell.array.tobytes()
    result.calc = silicon()
    assert np.abs(result.get_forces()).max() < 1e-5
    # In a cell of this shape silicon is diamond.
    assert result.get_distance(0, 1, mic=True) == pytest.approx(5.4 * np.sqrt(3) / 4, abs=1e-5)


class Skew(Calculator):
    """A model whose forces and stress break the symmetry, as those of unconstrained models do a little."""

    implemented_properties = ["energy", "forces", "stress"]  # noqa: RUF012

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        truth = atoms.copy()
        truth.calc = Argon()
        forces = truth.get_forces() + 0.003 * (-1.0) ** np.arange(len(atoms))[:, None]
        stress = truth.get_stress() + np.array([2e-4, 0.0, 0.0, 1e-4, 0.0, 0.0])
        self.results = {"energy": truth.get_potential_energy(), "forces": forces, "stress": stress}


def test_symmetry_is_kept_when_told_to_and_only_then() -> None:
    start, model = bulk("Ar", a=5.2, cubic=True), InProcessCalculator(Skew())
    settings = Relaxation(optimizer="BFGS", fmax=1e-4, max_steps=300)
    kept = relaxed(start, model, settings, keep_symmetry=True)
    np.testing.assert_allclose(kept.cell.array, kept.cell[0, 0] * np.eye(3), atol=1e-9)
    np.testing.assert_allclose(kept.get_scaled_positions(), start.get_scaled_positions(), atol=1e-9)
    free = relaxed(start, model, settings)
    assert np.ptp(free.cell.lengths()) > 1e-3
    assert not kept.constraints


class Hostile(Calculator):
    """Answers that no potential gives: `answer(generator, number of atoms)`."""

    implemented_properties = ["energy", "forces", "stress"]  # noqa: RUF012

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer, self.rng = answer, np.random.default_rng(0)

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        forces, stress = self.answer(self.rng, len(atoms))
        self.results = {"energy": 0.0, "forces": forces, "stress": stress}


HOSTILE = {
    "noise": lambda rng, n: (rng.normal(size=(n, 3)), rng.normal(size=6)),
    "huge noise": lambda rng, n: (1e12 * rng.normal(size=(n, 3)), 1e12 * rng.normal(size=6)),
    "all pushes": lambda rng, n: (np.full((n, 3), 1e14), np.full(6, -1e14)),
    "all pulls": lambda rng, n: (np.full((n, 3), -1e14), np.full(6, 1e14)),
    "shear": lambda rng, n: (np.zeros((n, 3)), np.array([0.0, 0.0, 0.0, 1e3, -1e3, 1e3])),
    "the same": lambda rng, n: (np.ones((n, 3)), np.ones(6)),
    "tiny": lambda rng, n: (np.full((n, 3), 0.01), np.full(6, 1e-300)),
    "then nothing": lambda rng, n: (np.full((n, 3), np.nan), np.zeros(6)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("optimizer", ["FIRE", "BFGS", "LBFGS"])
def test_whatever_a_model_answers_a_relaxation_ends_with_a_cause(optimizer: Any) -> None:
    settings = Relaxation(optimizer=optimizer, max_steps=12)

    def job(atoms: Atoms, keep_symmetry: bool) -> Job[Atoms]:
        return Job(len(atoms), lambda model: relaxed(atoms, model, settings, keep_symmetry=keep_symmetry))

    jobs = [job(bulk("Ar", a=5.2, cubic=cubic), keep) for cubic in (False, True) for keep in (False, True)]
    for name, answer in HOSTILE.items():
        ends = run_concurrently(jobs, InProcessCalculator(Hostile(answer)), Watch(time.monotonic))
        for end, keep_symmetry in zip(ends, (False, True, False, True), strict=True):
            # What has no part that keeps the symmetry is nothing to one that is kept.
            at_rest = keep_symmetry and name in ("shear", "tiny")
            assert (end.cause == Cause.NONE) == at_rest, name
            assert end.cause in (Cause.NONE, Cause.NON_FINITE, Cause.NOT_CONVERGED, Cause.EXPLODED), name


class Flattening(Calculator):
    """Pulls along a and b and pushes along c, at no change of volume, ever less: the cell becomes a sheet."""

    implemented_properties = ["energy", "forces", "stress"]  # noqa: RUF012

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        stress = np.array([-0.05, -0.05, 0.1, 0.0, 0.0, 0.0])
        self.results = {"energy": 0.0, "forces": np.zeros((len(atoms), 3)), "stress": stress}


def test_a_cell_that_is_flattened_at_constant_volume_has_exploded() -> None:
    with pytest.raises(ItemFailed) as failed:
        relaxed(bulk("Ar", "hcp", a=3.7, c=6.0), InProcessCalculator(Flattening()), Relaxation())
    assert failed.value.cause is Cause.EXPLODED


def test_arrays_hold_what_there_is_and_nan_for_the_rest(watch: Watch) -> None:
    frames = Frames.from_atoms([bulk("Cu", cubic=True), bulk("U", "fcc", a=4.5), bulk("Al")])
    ends = relax_cells(frames, InProcessCalculator(EMT()), TIGHT, watch)
    arrays = relaxed_arrays(frames, ends)
    assert arrays["failure"].tolist() == [0, Cause.UNSUPPORTED, 0]
    assert arrays["failure"].dtype == np.int8
    assert np.isnan(arrays["cell"]).all(axis=(1, 2)).tolist() == [False, True, False]
    assert np.isnan(arrays["positions"]).all(axis=1).tolist() == [False] * 4 + [True, False]
    assert ends[0].value is not None
    assert arrays["cell"][0].tobytes() == ends[0].value.cell.array.tobytes()
    assert arrays["positions"][:4].tobytes() == ends[0].value.positions.tobytes()


def test_what_cannot_be_is_not_begun(watch: Watch) -> None:
    model = Counting(StresslessArgon())
    ends = relax_cells(Frames.from_atoms(distorted(3)), model, TIGHT, watch)
    assert [end.cause for end in ends] == [Cause.UNSUPPORTED] * 3
    assert model.calls == []
    wire = bulk("Cu")
    wire.pbc = (False, False, True)
    with pytest.raises(ValueError, match=r"^wires@1/frames\.safetensors: pbc: structure 0"):
        require_periodic("wires@1", Frames.from_atoms([wire]))


def test_one_that_runs_out_of_steps_has_not_converged_and_the_deadline_is_not_its_fault() -> None:
    structures = distorted(3)
    with pytest.raises(ItemFailed, match="not converged"):
        relaxed(structures[1], InProcessCalculator(Argon()), Relaxation(max_steps=2))
    model = Counting(Argon())
    ends = relax_cells(Frames.from_atoms(structures), model, TIGHT, Watch(model.now, deadline=4.0))
    assert {end.cause for end in ends} <= {Cause.NONE, Cause.OVER_TIME}
    assert Cause.OVER_TIME in {end.cause for end in ends}
