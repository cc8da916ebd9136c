"""Relaxed structures against ASE's own relaxations with EMT: the same ends, energies and cells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.constraints import FixAtoms, FixSymmetry
from ase.filters import FrechetCellFilter
from ase.optimize import BFGS, FIRE, LBFGS

from tasks.kind import Observation, Watch
from tasks.metrics.metric import Metric
from tasks.model.calculator import BatchCalculator, InProcessCalculator
from tasks.structures.frames import Frames
from tasks.suites.suite import load_suite
from tests.tasks.kinds.relaxed_sets import (
    KIND,
    TIGHT,
    Biased,
    Constant,
    carbon_monoxide,
    crystal,
    difference,
    held,
    parameters,
    relax,
    relaxation_set,
    slab,
)


def observe(structures: list[Atoms], model: Any = None, conditions: Any = None, **values: Any) -> Observation:
    dataset = relaxation_set(structures, structures, conditions=conditions)
    model = InProcessCalculator(model or EMT())
    return KIND.observe(dataset.structures, parameters(**values), model, Watch(clock=lambda: 0.0))


def by_ase(atoms: Atoms, optimizer: Any = BFGS, fixed: list[int] | None = None, **cell: Any) -> Atoms:
    """The same structure relaxed by ASE alone, with its calculator."""
    atoms = atoms.copy()
    atoms.calc = EMT()
    if fixed:
        atoms.set_constraint(FixAtoms(fixed))  # type: ignore[no-untyped-call]
    target: Any = FrechetCellFilter(atoms, **cell) if cell else atoms
    assert optimizer(target, logfile=None).run(fmax=1e-4, steps=500)
    return atoms


FULL: dict[str, Any] = {"hydrostatic_strain": False}


@pytest.mark.slow
def test_a_crystal_a_surface_and_a_molecule_end_where_ases_own_optimiser_ends() -> None:
    structures = [crystal(), slab(), carbon_monoxide()]
    fixed = np.zeros(sum(map(len, structures)), np.bool_)
    fixed[np.array(held()) + len(structures[0])] = True
    stored, frames = observe(structures, conditions={"fixed": fixed}), Frames.from_atoms(structures)
    ends = [by_ase(crystal(), **FULL), by_ase(slab(), fixed=held()), by_ase(carbon_monoxide())]
    assert stored.arrays["converged"].all()
    for i, end in enumerate(ends):
        positions = stored.arrays["positions"][frames.atom_slice(i)]
        np.testing.assert_allclose(positions, end.positions, atol=1e-9)
        np.testing.assert_allclose(stored.arrays["cell"][i], end.cell.array, atol=1e-9)
        assert stored.arrays["energy"][i] == pytest.approx(end.get_potential_energy(), abs=1e-9)
        other = by_ase(structures[i], FIRE, held() if i == 1 else None, **(FULL if i == 0 else {}))
        assert stored.arrays["energy"][i] == pytest.approx(other.get_potential_energy(), abs=1e-5)
    # Fixed atoms, and the cell of a structure with fixed atoms, stay to the last bit.
    before = frames.positions[fixed]
    np.testing.assert_array_equal(stored.arrays["positions"][fixed], before)
    np.testing.assert_array_equal(stored.arrays["cell"][1], frames.cell[1])
    assert (stored.arrays["largest_force"] < 1e-4).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "cell"),
    [
        ({"cell": "hydrostatic"}, {"hydrostatic_strain": True}),
        ({"strains": [True, False, False, False, False, True]}, {"mask": [1, 0, 0, 0, 0, 1]}),
        ({"cell": "fixed"}, {}),
    ],
)
def test_what_of_the_cell_may_change_is_what_ase_changes(values: dict[str, Any], cell: dict[str, Any]) -> None:
    start = crystal()
    start.set_cell(start.cell.array @ (np.eye(3) + np.diag([0.02, 0.0], 1)), scale_atoms=True)
    stored, end = observe([start], **values), by_ase(start, **cell)
    np.testing.assert_allclose(stored.arrays["cell"][0], end.cell.array, atol=1e-9)
    np.testing.assert_allclose(stored.arrays["positions"], end.positions, atol=1e-9)
    assert stored.arrays["converged"].all()


def test_each_crystal_is_relaxed_at_its_pressure() -> None:
    stored = observe([crystal(), crystal()], conditions={"pressure_gpa": np.array([0.0, 5.0])})
    for index, pressure in enumerate((0.0, 5.0)):
        end = crystal()
        end.set_cell(stored.arrays["cell"][index])
        end.positions[:] = stored.arrays["positions"][4 * index : 4 * index + 4]
        end.calc = EMT()
        assert -end.get_stress()[:3].mean() == pytest.approx(pressure * units.GPa, abs=2e-5)


def test_symmetry_is_kept_or_free() -> None:
    """A model that does not obey the symmetry displaces atoms unless it is kept."""
    start = bulk("Cu", cubic=True, a=3.7)
    kept = observe([start], Biased(), keep_symmetry=True).arrays
    np.testing.assert_allclose(
        np.linalg.solve(kept["cell"][0].T, kept["positions"].T).T, start.get_scaled_positions(), atol=1e-9
    )
    assert kept["cell"][0] == pytest.approx(kept["cell"][0, 0, 0] * np.eye(3), abs=1e-9)
    assert kept["converged"].all()
    free = observe([start], Biased()).arrays
    moved = np.linalg.solve(free["cell"][0].T, free["positions"].T).T - start.get_scaled_positions()
    assert np.abs(moved).max() > 1e-3
    mobile = start.copy()
    mobile.calc = Biased()
    mobile.set_constraint(FixSymmetry(mobile, symprec=1e-3))  # type: ignore[no-untyped-call]
    BFGS(FrechetCellFilter(mobile), logfile=None).run(fmax=1e-4, steps=200)
    np.testing.assert_allclose(kept["cell"][0], mobile.cell.array, atol=1e-9)


def test_more_than_a_thousand_atoms_are_relaxed_by_lbfgs() -> None:
    start = bulk("Cu", cubic=True).repeat((7, 6, 6))
    start.rattle(0.02, seed=2)
    assert len(start) > 1000
    stored = observe([start], cell="fixed", relaxation=TIGHT | {"max_steps": 3}).arrays
    start.calc = EMT()
    LBFGS(start, logfile=None).run(fmax=1e-4, steps=3)
    np.testing.assert_allclose(stored["positions"], start.positions, atol=1e-12)
    assert (stored["steps"][0], stored["converged"][0]) == (3, False)


def test_the_last_iterate_counts_and_the_first_does_not() -> None:
    """After one step the energy and the geometry are those of the second structure."""
    stored, end = observe([carbon_monoxide()], relaxation=TIGHT | {"max_steps": 1}).arrays, carbon_monoxide()
    end.calc = EMT()
    BFGS(end, logfile=None).run(fmax=1e-4, steps=1)
    np.testing.assert_allclose(stored["positions"], end.positions, atol=1e-12)
    assert stored["energy"][0] == pytest.approx(end.get_potential_energy(), abs=1e-12)
    assert stored["largest_force"][0] == pytest.approx(np.linalg.norm(end.get_forces(), axis=1).max(), abs=1e-12)
    assert not stored["converged"][0]


def test_an_adsorption_energy_is_that_of_the_relaxed_structures() -> None:
    """N on copper, of the clean surface and the molecule: every one relaxed on its own."""
    clean, pair = slab()[:-1], Atoms("N2", [(0, 0, 0), (0, 0, 1.2)])
    fixed = np.isin(np.arange(13 + 12 + 2), [*held(), *(13 + np.array(held()))])
    energies = [by_ase(slab(), fixed=held()), by_ase(clean, fixed=held()), by_ase(pair)]
    expected = float(np.dot([1.0, -1.0, -0.5], [atoms.get_potential_energy() for atoms in energies]))
    dataset = relaxation_set(
        [slab(), clean, pair], differences=[difference(expected - 0.1, 1.0, -1.0, -0.5)], conditions={"fixed": fixed}
    )
    measured = relax(dataset)
    assert measured.metrics["mae"].value == pytest.approx(0.1, abs=1e-6)
    assert measured.items.columns["predicted"][3] == pytest.approx(expected, abs=1e-6)
    assert set(measured.metrics) == {"mae", "rmse", "not_converged_percent", "mean_steps"}
    in_kcal = relax(dataset, unit="kcal/mol").metrics["mae"]
    assert (in_kcal.value, in_kcal.unit) == (pytest.approx(0.1 * units.mol / units.kcal, rel=1e-4), "kcal/mol")


@pytest.mark.slow
def test_a_vacancy_of_copper_is_that_of_ase() -> None:
    """E_f = E(vacancy) − (N − 1)/N E(bulk), the cell and then the atoms relaxed, with EMT."""
    perfect = bulk("Cu", cubic=True, a=3.65).repeat(2)
    relaxed = by_ase(perfect, **FULL)
    defect = relaxed[1:]
    n = len(perfect)
    expected = by_ase(defect).get_potential_energy() - (n - 1) / n * relaxed.get_potential_energy()
    assert 1.0 < expected < 1.4
    # The defect keeps the cell of the relaxed crystal: its own relaxation is in a fixed cell.
    rows = [difference(expected, -(n - 1) / n, 1.0)]
    measured = relax(relaxation_set([relaxed, defect], differences=rows), cell="fixed")
    assert measured.items.columns["predicted"][2] == pytest.approx(expected, abs=1e-6)
    assert measured.metrics["mae"].value == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("extent", "unit", "error"),
    [
        ("lattice_constant", "Å", 0.1),
        ("volume", "Å³/atom", (3.7**3 - 3.6**3) / 4),
        ("area", "Å²/atom", (3.7**2 - 3.6**2) / 4),
        ("length", "Å/atom", 0.1 / 4),
    ],
)
def test_the_extent_of_a_cell_by_hand(extent: str, unit: str, error: float) -> None:
    """A model without forces leaves the crystal at 3.7 Å, and the reference is 3.6 Å: the baseline."""
    start, reference = bulk("Cu", cubic=True, a=3.7), bulk("Cu", cubic=True, a=3.6)
    metric = relax(relaxation_set([start], [reference]), extent=extent).metrics[f"{extent}_mae"]
    assert metric.unit == unit
    assert metric.baseline == pytest.approx(error)
    end = by_ase(start, **FULL)
    relaxed = end.cell.lengths()[0]
    by_hand = {
        "lattice_constant": abs(relaxed - 3.6),
        "volume": abs(relaxed**3 - 3.6**3) / 4,
        "area": abs(relaxed**2 - 3.6**2) / 4,
        "length": abs(relaxed - 3.6) / 4,
    }
    assert metric.value == pytest.approx(by_hand[extent], abs=1e-6)
    failed = relax(relaxation_set([start], [reference]), extent=extent, relaxation={**TIGHT, "max_steps": 1})
    assert failed.metrics[f"{extent}_mae"].charged == pytest.approx(10 * error)


def test_different_lattice_constants_count_once_each() -> None:
    """As ML-PEG counts them: of a cubic crystal one, of a hexagonal one a and c."""
    starts = [bulk("Cu", cubic=True, a=3.8), bulk("Zn", "hcp", a=2.7, c=5.3)]
    references = [bulk("Cu", cubic=True, a=3.6), bulk("Zn", "hcp", a=2.6, c=5.0)]
    still = InProcessCalculator(Constant())
    metric = relax(relaxation_set(starts, references), still, extent="lattice_constant").metrics["lattice_constant_mae"]
    assert metric.value == metric.baseline == pytest.approx((0.2 + 0.1 + 0.3) / 3)


def test_differences_of_enthalpies() -> None:
    """At 50 GPa, E + p V of the compressed crystal."""
    pressed = {"pressure_gpa": np.array([50.0])}
    dataset = relaxation_set([crystal()], differences=[difference(1.0, 1.0)], conditions=pressed)
    energy, enthalpy = (relax(dataset, enthalpy=e).items.columns["predicted"][1] for e in (False, True))
    end = np.linalg.det(observe([crystal()], conditions=pressed).arrays["cell"][0])
    assert enthalpy - energy == pytest.approx(50.0 * units.GPa * end)


def test_what_did_not_converge_by_group() -> None:
    """Of group a the start is relaxed already; in b one step is too few."""
    dataset = relaxation_set([by_ase(bulk("Cu", cubic=True), **FULL), crystal()], [crystal(), crystal()])
    dataset = replace(dataset, table=dataset.table.model_copy(update={"group": ("a", "b")}))
    found = relax(dataset, relaxation={"optimizer": "BFGS", "fmax": 1e-3, "max_steps": 1}).parts
    shares = {part.name: part.value for part in found if part.metric == "not_converged_percent"}
    assert shares == {"a": 0.0, "b": 100.0}


def test_relaxed_energies_have_an_order() -> None:
    """Three strained crystals relax to one energy, and a fourth has a vacancy: statistics as of single points."""
    structures = [crystal(), crystal()[1:], carbon_monoxide()]
    energies = [relax(relaxation_set([s], differences=[difference(1.0, 1.0)])) for s in structures]
    each = [float(measured.items.columns["predicted"][1]) for measured in energies]
    rows = [difference(e + shift, *c) for e, shift, c in zip(each, (0.1, 0.0, -0.1), np.eye(3).tolist(), strict=True)]
    data = relaxation_set(
        structures, differences=[row.model_copy(update={"id": f"d{i}"}) for i, row in enumerate(rows)]
    )
    measured = relax(data, statistics=["spearman", "lowest_found", "r2"]).metrics
    assert measured["spearman"].value == pytest.approx(1.0)
    assert measured["lowest_found_percent"].value == 100.0
    assert measured["r2"].value == pytest.approx(
        1 - 0.02 / np.var(np.array(each) + np.array([0.1, 0.0, -0.1])) / 3, abs=1e-6
    )
    with pytest.raises(ValueError, match="own_minimum is of energy_differences alone"):
        parameters(statistics=["own_minimum"])


def test_at_the_parameters_of_the_suite_a_model_keeps_the_symmetry_of_its_own_minimum() -> None:
    """Ordered alloys of EMT, displaced by 0.1 Å, are back in their space groups at a force of 0.05 eV/Å."""
    (task,) = [task for task in load_suite("materials").tasks if task.name == "formation-energies"]
    starts = [bulk("Cu", cubic=True, a=3.75), bulk("Pt", "bcc", a=3.0, cubic=True), bulk("Ag", cubic=True)]
    starts[0].symbols[0], starts[1].symbols[0], starts[2].symbols[[0, 1]] = "Au", "Cu", "Au"
    data = relaxation_set(starts, [by_ase(start, **FULL) for start in starts])

    def kept(model: BatchCalculator) -> Metric:
        observed = KIND.observe(data.structures, task.parameters, model, Watch(clock=lambda: 0.0))
        return KIND.measure(observed, data, task.parameters, None).metrics["symmetry_kept_percent"]

    assert kept(InProcessCalculator(EMT())).value == 100.0
    assert kept(InProcessCalculator(Constant())).value == 0.0  # it leaves them where they start


def test_the_space_group_of_the_reference_is_reached_or_not() -> None:
    """Copper off its sites goes back to fcc; held to two steps it stays where it is, and counts as lost."""
    perfect = bulk("Cu", cubic=True, a=3.6)
    data = relaxation_set([crystal()], [perfect])
    assert relax(data, symmetry=True).metrics["symmetry_kept_percent"].value == 100.0
    other = bulk("Cu", cubic=True, a=3.6)
    other.positions[0, 0] += 0.3
    assert relax(relaxation_set([crystal()], [other]), symmetry=True).metrics["symmetry_kept_percent"].value == 0.0
    early = relax(data, symmetry=True, relaxation={**TIGHT, "max_steps": 2}).metrics["symmetry_kept_percent"]
    assert (early.value, early.n_failed, early.charged) == (None, 1, 0.0)
