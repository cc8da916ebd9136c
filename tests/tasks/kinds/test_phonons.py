"""Phonons: equal to phonopy and to frozen phonons by hand; the laws of thermodynamics hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk
from ase.calculators.calculator import Calculator
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones
from hypothesis import given
from hypothesis import strategies as st
from phonopy import Phonopy
from phonopy.structure.atoms import PhonopyAtoms
from scipy.optimize import minimize_scalar

from tasks.datasets.card import Bands
from tasks.datasets.dataset import Structures
from tasks.kind import Observation
from tasks.kinds.phonons import stability_f1
from tasks.model.calculator import InProcessCalculator
from tasks.simulation.displaced_supercells import read_supercells
from tasks.simulation.vibrations import THZ_IN_K, VibrationSettings, commensurate_frequencies, crystal, vibrations
from tasks.structures.predictions import Cause
from tests.tasks.kinds.phonon_crystals import (
    DOUBLED,
    FACE_CENTRED,
    IDENTITY,
    KIND,
    METALS,
    NAMES,
    QUICK,
    SETTINGS,
    WATCH,
    Case,
    answers,
    copper,
    dataset,
    measure,
    numbers,
    observe,
    ordered_alloy,
    structures,
)

# A generalised force of 1e-5 eV leaves a lattice constant within some 1e-6 of itself (soft argon: 3e-6), and
# frequencies within three times the Grüneisen parameter of that.
CLOSE = 5e-5

# The same supercell as DOUBLED makes of the cubic cell, made of the primitive one.
DOUBLED_OF_PRIMITIVE = np.array([[-2, 2, 2], [2, -2, 2], [2, 2, -2]])


def argon() -> LennardJones:
    return LennardJones(sigma=3.4, epsilon=0.0104, rc=8.5, smooth=True)


def at_its_lattice_constant(start: Atoms, calculator: Calculator) -> Atoms:
    """`start`, cubic, at the scale of least energy."""

    def scaled(factor: float) -> Atoms:
        atoms = start.copy()
        atoms.set_cell(start.cell * factor, scale_atoms=True)
        atoms.calc = calculator
        return atoms

    best = minimize_scalar(lambda f: scaled(f).get_potential_energy(), bracket=(0.97, 1.03), tol=1e-12)
    return scaled(best.x)


def by_phonopy(case: Case, calculator: Calculator) -> list[float]:
    """The four quantities by phonopy itself, at 300 K; full force constants, no residual forces subtracted."""
    atoms = at_its_lattice_constant(case.atoms, calculator)
    cell = PhonopyAtoms(symbols=atoms.get_chemical_symbols(), cell=atoms.cell.array, positions=atoms.positions)
    phonon = Phonopy(cell, supercell_matrix=case.supercell, primitive_matrix=case.primitive)
    phonon.generate_displacements(distance=0.01, is_diagonal=False)
    displaced: Any = phonon.supercells_with_displacements
    forces = []
    for s in displaced:
        supercell = Atoms(numbers=s.numbers, positions=s.positions, cell=s.cell, pbc=True, calculator=calculator)
        forces.append(supercell.get_forces())
    phonon.forces = np.array(forces)
    phonon.produce_force_constants()
    phonon.symmetrize_force_constants()
    # The points halfway to the reciprocal vectors of the cubic cell, in those of the primitive one.
    halves = np.array(np.meshgrid([0, 0.5], [0, 0.5], [0, 0.5])).reshape(3, -1).T
    reciprocal = np.array(list(np.ndindex(2, 2, 2)))
    points = (halves[:, None, :] + reciprocal[None, :, :]).reshape(-1, 3) @ case.primitive
    phonon.run_qpoints(points)
    phonon.run_mesh(40.0)
    phonon.run_thermal_properties(temperatures=[300.0], cutoff_frequency=1e-3)
    frequencies: Any = phonon.qpoints
    thermal: Any = phonon.thermal_properties
    highest = frequencies.frequencies.max() * 47.9924307  # hν/k_B of 1 THz, CODATA 2018
    return [highest, float(thermal.entropy[0]), float(thermal.free_energy[0]), float(thermal.heat_capacity[0])]


@pytest.mark.parametrize("name", ["copper", "ordered alloy", "argon"])
def test_a_crystal_has_the_phonons_that_phonopy_finds(name: str) -> None:
    case, calculator = {
        "copper": (copper(), EMT()),
        "ordered alloy": (ordered_alloy(), EMT()),
        "argon": (Case(bulk("Ar", a=5.2, cubic=True), primitive=FACE_CENTRED), argon()),
    }[name]
    expected = by_phonopy(case, calculator)
    measured = measure(observe(calculator, [case]), [case], [expected])
    np.testing.assert_allclose(numbers(measured), expected, rtol=CLOSE)
    for column, metric in zip(expected, measured.metrics.values(), strict=True):
        assert metric.value is not None
        assert metric.value < CLOSE * abs(column)
        assert metric.baseline == pytest.approx(abs(column))
        assert (metric.n_items, metric.n_failed) == (1, 0)
    assert list(measured.metrics) == [f"{n}_mae" for n in NAMES]


def test_the_highest_frequency_of_copper_is_that_of_a_frozen_phonon_at_x(metals: Observation) -> None:
    """Alternate (001) planes moved along z against each other: F = −Mω²u on each atom. No phonopy in it."""
    atoms = at_its_lattice_constant(bulk("Cu", a=3.65, cubic=True), EMT())
    down = atoms.positions[:, 2] < 0.1
    pulls = []
    for u in (0.005, -0.005):
        moved = atoms.copy()
        moved.calc = EMT()
        moved.positions[:, 2] += np.where(down, u, -u)
        pulls.append(moved.get_forces()[down, 2].mean())
    constant = -(pulls[0] - pulls[1]) / 0.01
    omega = np.sqrt(constant / atoms.get_masses()[0])  # in ASE's unit of time
    expected = omega * units._hbar / units._k * units.s
    # The supercell's forward difference, by symmetry a central one, has its step in 1 atom of 32.
    assert numbers(measure(metals, METALS))[0] == pytest.approx(expected, rel=1e-3)


def test_a_cell_and_its_primitive_cell_are_one_crystal() -> None:
    cubic = Case(bulk("Ar", a=5.2, cubic=True), primitive=FACE_CENTRED)
    primitive = Case(bulk("Ar", a=5.2), supercell=DOUBLED_OF_PRIMITIVE)
    observation = observe(argon(), [cubic, primitive])
    both = measure(observation, [cubic, primitive])
    np.testing.assert_allclose(numbers(both, 0), numbers(both, 1), rtol=CLOSE)
    made = structures([cubic, primitive])
    spectra = [
        commensurate_frequencies(supercells.force_constants(case.atoms.numbers, case.supercell, case.primitive))
        for case, (_, supercells) in zip(
            (cubic, primitive), read_supercells(observation, made.frames, made.conditions["supercell"]), strict=True
        )
    ]
    assert [spectrum.shape for spectrum in spectra] == [(32, 3), (32, 3)]  # as many points as primitive cells
    np.testing.assert_allclose(*(np.sort(spectrum, axis=None) for spectrum in spectra), rtol=CLOSE)
    # Without the condition the cell is primitive.
    made = structures([primitive])
    alone = Structures(made.name, made.frames, {"supercell": made.conditions["supercell"]})
    again = KIND.observe(alone, SETTINGS, InProcessCalculator(argon()), WATCH)
    np.testing.assert_allclose(numbers(measure(again, [primitive])), numbers(both, 1), rtol=1e-9)


def test_the_columns_of_the_matrices_are_the_vectors() -> None:
    atoms = Atoms("Cu", cell=[[3.0, 0, 0], [0.5, 4.0, 0], [0.2, 0.3, 5.0]], pbc=True)
    matrix = np.array([[2, 1, 0], [0, 1, 0], [0, 0, 3]])
    phonon = crystal(atoms, matrix, IDENTITY)
    a, b, c = atoms.cell.array
    np.testing.assert_allclose(phonon.supercell.cell, [2 * a, a + b, 3 * c], atol=1e-12)
    centred = crystal(bulk("Cu", cubic=True), DOUBLED, np.array([[1, 0.5, 0], [0, 0.5, 0], [0, 0, 1]]))
    np.testing.assert_allclose(
        centred.primitive.cell, 3.61 * np.array([[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]]), atol=1e-12
    )


@pytest.fixture(scope="module")
def copper_force_constants(metals: Observation) -> Phonopy:
    return answers(metals)[0].force_constants(METALS[0].atoms.numbers, METALS[0].supercell, METALS[0].primitive)


def test_entropy_and_heat_capacity_are_derivatives_of_the_free_energy(copper_force_constants: Phonopy) -> None:
    step = 0.5
    cold, middle, hot = (
        vibrations(copper_force_constants, VibrationSettings(temperature_k=300 + d, mesh=(9, 9, 9)))
        for d in (-step, 0, step)
    )
    slope = (hot.free_energy_kj_per_mol - cold.free_energy_kj_per_mol) / (2 * step)
    assert middle.entropy_j_per_mol_k == pytest.approx(-1e3 * slope, rel=1e-5)
    slope = (hot.entropy_j_per_mol_k - cold.entropy_j_per_mol_k) / (2 * step)
    assert middle.heat_capacity_j_per_mol_k == pytest.approx(300 * slope, rel=1e-5)


def test_hot_crystals_obey_dulong_and_petit_and_cold_ones_have_their_zero_point_energy(
    copper_force_constants: Phonopy,
) -> None:
    mesh = (8, 8, 8)
    hot = vibrations(copper_force_constants, VibrationSettings(temperature_k=1e5, mesh=mesh))
    modes = 3 * (1 - 1 / 8**3)  # the three acoustic modes at Γ are left out
    assert hot.heat_capacity_j_per_mol_k == pytest.approx(modes * 8.31446, rel=1e-5)
    cold = vibrations(copper_force_constants, VibrationSettings(temperature_k=0.1, mesh=mesh))
    copper_force_constants.run_mesh(mesh, is_gamma_center=True)
    points: Any = copper_force_constants.mesh
    half = 0.5 * np.clip(points.frequencies, 0, None).sum(axis=1) @ points.weights / points.weights.sum()
    assert cold.free_energy_kj_per_mol == pytest.approx(half * 0.3990313, rel=1e-6)  # kJ/mol of 1 THz
    assert cold.entropy_j_per_mol_k == pytest.approx(0.0, abs=1e-12)
    assert cold.heat_capacity_j_per_mol_k == pytest.approx(0.0, abs=1e-12)


def test_many_crystals_at_once_give_the_same_bytes_twice_and_the_numbers_of_each_alone() -> None:
    cases = [Case(bulk(e, cubic=True), primitive=FACE_CENTRED) for e in ("Cu", "Al", "Pt")] + [ordered_alloy()]
    first, second = observe(EMT(), cases, QUICK), observe(EMT(), cases, QUICK)
    assert first.arrays.keys() == second.arrays.keys()
    for name, array in first.arrays.items():
        assert array.tobytes() == second.arrays[name].tobytes(), name
    together, alone = measure(first, cases, settings=QUICK), observe(EMT(), cases[3:], QUICK)
    np.testing.assert_allclose(numbers(together, 3), numbers(measure(alone, cases[3:], settings=QUICK)), rtol=1e-9)
    again = measure(second, cases, settings=QUICK)
    assert all(np.array_equal(again.items.columns[n], together.items.columns[n]) for n in NAMES)


def test_work_counts_relaxations_and_supercells() -> None:
    work = KIND.work(structures([copper(), ordered_alloy()]), SETTINGS)
    # 60 steps of two crystals of 4 atoms; of primitive cells of 1 and 4 atoms, 1 + 2 and 1 + 8 supercells of 32.
    assert work.frames == pytest.approx(120 + 12)
    assert work.atoms == pytest.approx(480 + 12 * 32)


def test_the_spectrum_of_a_stable_and_of_an_unstable_crystal() -> None:
    settings = SETTINGS.model_copy(update={"spectrum": True})
    made = dataset(METALS, [[300.0, 50.0, -5.0, 40.0]] * 3)
    lowest = (90.0, 60.0, -120.0)
    crystals = tuple(
        c.model_copy(
            update={"reference": {"PBE": {**c.reference["PBE"], "mean_frequency_k": 180.0, "min_frequency_k": x}}}
        )
        for c, x in zip(made.table.crystals, lowest, strict=True)
    )
    data = replace(made, table=made.table.model_copy(update={"crystals": crystals}))
    observation = observe(EMT(), METALS)
    measured = KIND.measure(observation, data, settings, None)
    assert measured.items.cause.tolist() == [0, 0, Cause.UNSTABLE]
    columns, plain = measured.items.columns, KIND.measure(observation, data, SETTINGS, None)
    for name in NAMES:
        np.testing.assert_array_equal(columns[name], plain.items.columns[name])
    assert "mean_frequency_k" not in plain.items.columns
    for row, (case, (index, answered)) in enumerate(zip(METALS, answers(observation).items(), strict=True)):
        assert row == index
        phonon = answered.force_constants(case.atoms.numbers, case.supercell, case.primitive)
        frequencies = commensurate_frequencies(phonon)
        assert columns["min_frequency_k"][row] == pytest.approx(np.nanmin(frequencies) * THZ_IN_K)
        phonon.run_mesh(settings.mesh, is_gamma_center=True)
        mesh: Any = phonon.mesh
        # Three of all modes are left out, which are zero.
        n_modes = mesh.weights.sum() * mesh.frequencies.shape[1] - 3
        mean = (mesh.weights @ mesh.frequencies.sum(axis=1)) / n_modes
        assert columns["mean_frequency_k"][row] == pytest.approx(mean * THZ_IN_K, rel=1e-3)
    assert measured.metrics["stability_f1"].value == 1.0
    errors = np.abs(columns["min_frequency_k"] - np.array(lowest))
    assert measured.metrics["min_frequency_k_mae"].value == pytest.approx(errors.mean())
    assert {c.metric for c in KIND.contributions(measured.items, measured.metrics)} >= {"mean_frequency_k_mae"}


def test_frequencies_over_the_brillouin_zone_by_hand() -> None:
    """References are the model's own frequencies, half a terahertz up at one of two wave vectors, of weight 1 and 3."""
    settings = SETTINGS.model_copy(update={"spectrum": True})
    cases = METALS[:2]
    observation = observe(EMT(), cases)
    made, qpoints = dataset(cases, [[300.0, 50.0, -5.0, 40.0]] * 2), ((0.1, 0.2, 0.3), (0.5, 0.0, 0.0))
    case, stored = cases[1], dict(read_supercells(observation, made.frames, made.conditions["supercell"]))[1]
    phonon = stored.force_constants(case.atoms.numbers, case.supercell, case.primitive)
    phonon.run_qpoints(np.array(qpoints))
    own: Any = phonon.qpoints
    frequencies = np.sort(own.frequencies, axis=1)
    bands = Bands(qpoints=qpoints, weights=(1, 3), frequencies=(frequencies + np.array([[0.5], [0.0]])).tolist())
    spectrum = {"mean_frequency_k": 180.0, "min_frequency_k": 60.0}
    crystals = [
        c.model_copy(update={"reference": {"PBE": {**c.reference["PBE"], **spectrum}}}) for c in made.table.crystals
    ]
    crystals[1] = crystals[1].model_copy(update={"bands": {"PBE": bands}})
    data = replace(made, table=made.table.model_copy(update={"crystals": tuple(crystals)}))
    measured = KIND.measure(observation, data, settings, None)
    metric = measured.metrics["band_mae"]
    assert (metric.n_items, metric.unit) == (1, "K")
    assert metric.value == pytest.approx(0.5 / 4 * THZ_IN_K, rel=1e-6)
    (contribution,) = [c for c in KIND.contributions(measured.items, measured.metrics) if c.metric == "band_mae"]
    assert contribution.limit == metric.failure_cost == pytest.approx(10 * (metric.baseline or 0.0))
    assert contribution.counts.tolist() == [0.0, 1.0]


def test_the_f1_score_by_hand() -> None:
    reference = np.array([9.0, 9.0, -9.0, -9.0, np.nan])
    # One hit, one missed, one false alarm.
    assert f1(np.array([9.0, -9.0, 9.0, -9.0, 9.0]), reference) == (0.5, 0.5)
    # The hit failed: nothing is left to find but what was missed; failed ones are wrong in the penalised value.
    assert f1(np.array([np.nan, -9.0, -9.0, -9.0, -9.0]), reference) == (0.0, 0.0)
    assert f1(np.array([9.0, 9.0, np.nan, -9.0, -9.0]), reference) == (1.0, pytest.approx(4 / 5))
    assert stability_f1(reference, np.array([-9.0] * 5), 0.0) is None


def test_the_f1_score_is_of_stable_crystals_as_ml_peg_has_it() -> None:
    """Nine stable crystals and one unstable: the formula of ML-PEG by hand, at its threshold of −0.05 THz."""
    threshold, reference = -0.05 * 47.99, np.array([50.0] * 9 + [-100.0])
    for predicted, hits, wrong in (
        (np.full(10, 50.0), 9, 1),  # the unstable one was missed
        (np.array([-50.0] + [50.0] * 8 + [-100.0]), 8, 1),
        (np.array([-2.3] + [50.0] * 8 + [-2.5]), 9, 0),  # at either side of the threshold
    ):
        metric = stability_f1(predicted, reference, threshold)
        assert metric is not None
        assert metric.value == metric.charged == pytest.approx(2 * hits / (2 * hits + wrong))
    only_stable = stability_f1(reference[:9], reference[:9], threshold)
    assert only_stable is not None
    assert only_stable.value == 1.0


def f1(predicted: Any, reference: Any) -> tuple[Any, Any]:
    metric = stability_f1(predicted, reference, 0.0)
    assert metric is not None
    return metric.value, metric.charged


@given(
    st.lists(st.tuples(st.sampled_from([-1.0, 1.0]), st.sampled_from([-1.0, 1.0])), min_size=1, max_size=8),
    st.sets(st.integers(0, 7)),
)
def test_failing_never_helps_the_f1_score(pairs: list[tuple[float, float]], failed: set[int]) -> None:
    predicted, reference = np.array(pairs).T
    after = np.where([i in failed for i in range(len(pairs))], np.nan, predicted)
    before, now = stability_f1(predicted, reference, 0.0), stability_f1(after, reference, 0.0)
    assert (before is None) == (now is None)
    if before is not None and now is not None:
        assert before.charged is not None
        assert now.charged is not None
        assert now.charged <= before.charged
