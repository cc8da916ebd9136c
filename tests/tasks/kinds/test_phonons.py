"""Phonons: equal to phonopy and to frozen phonons by hand; thermodynamics holds; failures are told and charged."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk
from ase.calculators.calculator import Calculator
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones
from phonopy import Phonopy
from phonopy.structure.atoms import PhonopyAtoms
from scipy.optimize import minimize_scalar

from tasks.datasets.card import Card, Crystal, LabelSet, Table
from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import Observation, Watch
from tasks.kinds.phonons import PROPERTIES, Phonons, PhononsParameters, relaxed_crystal
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import InProcessCalculator, ItemFailed
from tasks.simulation.displaced_supercells import Supercells, read_supercells, supercell_arrays
from tasks.simulation.lockstep_batches import Done
from tasks.simulation.relaxation import Relaxation
from tasks.simulation.vibrations import VibrationSettings, commensurate_frequencies, crystal, displace, vibrations
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause

KIND = Phonons()
TIGHT = Relaxation(optimizer="BFGS", fmax=1e-5)
SETTINGS = PhononsParameters(relaxation=TIGHT, mesh=40.0)
QUICK = PhononsParameters(relaxation=Relaxation(optimizer="BFGS"), mesh=(6, 6, 6))
# A generalised force of 1e-5 eV leaves a lattice constant within some 1e-6 of itself (soft argon: 3e-6), and
# frequencies within three times the Grüneisen parameter of that.
CLOSE = 5e-5
WATCH = Watch(time.monotonic)
FACE_CENTRED = np.array([[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
IDENTITY = np.eye(3)
DOUBLED = 2 * np.eye(3, dtype=np.int64)
# The same supercell as DOUBLED makes of the cubic cell, made of the primitive one.
DOUBLED_OF_PRIMITIVE = np.array([[-2, 2, 2], [2, -2, 2], [2, 2, -2]])
NAMES = [p.name for p in PROPERTIES]


class Case(NamedTuple):
    """A crystal with its supercell and primitive cell."""

    atoms: Atoms
    supercell: Any = DOUBLED
    primitive: Any = IDENTITY


def copper() -> Case:
    return Case(bulk("Cu", a=3.65, cubic=True), primitive=FACE_CENTRED)


def ordered_alloy() -> Case:
    """L1₂: gold at the corners, copper on the faces. Its cubic cell is primitive, with two inequivalent atoms."""
    atoms = bulk("Cu", a=3.8, cubic=True)
    atoms.symbols[0] = "Au"
    return Case(atoms)


def simple_cubic() -> Case:
    """Copper as it cannot be."""
    return Case(Atoms("Cu", cell=2.4 * np.eye(3), pbc=True))


def argon() -> LennardJones:
    return LennardJones(sigma=3.4, epsilon=0.0104, rc=8.5, smooth=True)


def structures(cases: Sequence[Case]) -> Structures:
    conditions = {
        "supercell": np.array([c.supercell for c in cases], np.int64),
        "primitive": np.array([c.primitive for c in cases], np.float64),
    }
    return Structures("made-up@1", Frames.from_atoms([c.atoms for c in cases]), conditions)


def dataset(cases: Sequence[Case], reference: Sequence[Sequence[float]]) -> Dataset:
    made, names = structures(cases), tuple(f"c{i}" for i in range(len(cases)))
    crystals = tuple(
        Crystal(id=name, structure=i, reference={"PBE": dict(zip(NAMES, row, strict=True))})
        for i, (name, row) in enumerate(zip(names, reference, strict=True))
    )
    card = Card(
        name="made-up",
        version="1",
        title="Made up",
        domain="Inorganic Materials",
        periodic=True,
        label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)},
        default_label_set="PBE",
    )
    table = Table(id=names, group=("",) * len(names), cluster=names, crystals=crystals)
    return Dataset(card, made.frames, table, {}, made.conditions)


METALS = [copper(), ordered_alloy(), simple_cubic()]


@pytest.fixture(scope="module")
def metals() -> Observation:
    """What EMT answers on `METALS`."""
    return observe(EMT(), METALS)


def observe(calculator: Calculator, cases: Sequence[Case], settings: PhononsParameters = SETTINGS) -> Observation:
    return KIND.observe(structures(cases), settings, InProcessCalculator(calculator), WATCH)


def measure(
    observation: Observation,
    cases: Sequence[Case],
    reference: Sequence[Sequence[float]] | None = None,
    settings: PhononsParameters = SETTINGS,
) -> Measurement:
    return KIND.measure(
        observation, dataset(cases, reference or [[300.0, 50.0, -5.0, 40.0]] * len(cases)), settings, None
    )


def numbers(measured: Measurement, row: int = 0) -> np.ndarray[Any, Any]:
    return np.array([measured.items.columns[name][row] for name in NAMES])


def at_its_lattice_constant(start: Atoms, calculator: Calculator) -> Atoms:
    """`start`, cubic, at the scale of least energy."""

    def scaled(factor: float) -> Atoms:
        atoms = start.copy()
        atoms.set_cell(start.cell * factor, scale_atoms=True)
        atoms.calc = calculator
        return atoms

    found = minimize_scalar(lambda f: scaled(f).get_potential_energy(), bracket=(0.97, 1.03), tol=1e-12)
    return scaled(found.x)


def by_phonopy(case: Case, calculator: Calculator) -> list[float]:
    """The four quantities by phonopy's own means, at 300 K; full force constants, no residual forces subtracted."""
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
        commensurate_frequencies(one.force_constants(case.atoms.numbers, case.supercell, case.primitive))
        for case, (_, one) in zip(
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


def answers(metals: Observation) -> dict[int, Supercells]:
    """What was answered on each of `METALS`."""
    made = structures(METALS)
    return dict(read_supercells(metals, made.frames, made.conditions["supercell"]))


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


def test_an_unstable_crystal_is_counted_and_charged(metals: Observation) -> None:
    assert metals.arrays["failure"].tolist() == [0, 0, 0]  # what was asked was answered
    first = measure(metals, METALS)
    reference = [numbers(first, 0).tolist(), numbers(first, 1).tolist(), [100.0, 100.0, 100.0, 100.0]]
    measured = measure(metals, METALS, reference)
    assert measured.items.cause.tolist() == [0, 0, Cause.UNSTABLE]
    assert np.isnan(numbers(measured, 2)).all()
    for expected, metric in zip(np.abs(reference).mean(axis=0), measured.metrics.values(), strict=True):
        assert (metric.n_items, metric.n_failed, metric.value) == (3, 1, 0.0)
        # The trivial model answers zero; a third of the items is charged ten times its mean error.
        assert metric.baseline == pytest.approx(expected)
        assert metric.failure_cost == pytest.approx(10 * expected)
        assert metric.charged == pytest.approx(10 * expected / 3)
    tolerant = measure(metals, METALS, reference, SETTINGS.model_copy(update={"imaginary_tolerance_thz": 50.0}))
    assert tolerant.items.cause.tolist() == [0, 0, 0]


class Overflowing(EMT):
    """EMT on a machine in which `room` atoms have room."""

    room = 40

    def calculate(self, atoms: Any = None, *args: Any, **kwargs: Any) -> None:
        if len(atoms) > self.room:
            raise MemoryError
        super().calculate(atoms, *args, **kwargs)


class LostInDisplacements(EMT):
    """EMT that has no number where an atom of a supercell with gold has left its place."""

    def calculate(self, atoms: Any = None, *args: Any, **kwargs: Any) -> None:
        super().calculate(atoms, *args, **kwargs)
        if len(atoms) > 4 and "Au" in atoms.symbols and np.abs(self.results["forces"]).max() > 1e-3:
            self.results["forces"] = np.full((len(atoms), 3), np.nan)


def test_failures_of_supercells_have_their_causes(metals: Observation) -> None:
    cases = [copper(), ordered_alloy(), copper()._replace(supercell=np.diag([2, 2, 3]))]
    assert observe(Overflowing(), cases[1:], QUICK).arrays["failure"].tolist() == [0, Cause.OUT_OF_MEMORY]
    observation = observe(LostInDisplacements(), cases)
    assert observation.arrays["failure"].tolist() == [0, Cause.NON_FINITE, 0]
    assert observation.arrays["n_displacements"][1] == 0
    measured = measure(observation, cases)
    assert measured.items.cause.tolist() == [0, Cause.NON_FINITE, 0]
    # Those about the one that failed are still their own.
    np.testing.assert_allclose(numbers(measured, 0), numbers(measure(metals, METALS), 0), rtol=1e-9)
    short = SETTINGS.model_copy(update={"relaxation": Relaxation(fmax=1e-5, max_steps=1)})
    assert set(observe(EMT(), cases, short).arrays["failure"].tolist()) == {Cause.NOT_CONVERGED}


class Biased(EMT):
    """EMT with a constant force on each atom of a supercell, with which no symmetry is left."""

    def calculate(self, atoms: Any = None, *args: Any, **kwargs: Any) -> None:
        super().calculate(atoms, *args, **kwargs)
        if len(atoms) > 4:
            bias = np.random.default_rng(0).normal(0.0, 0.01, (len(atoms), 3))
            self.results["forces"] = self.results["forces"] + bias


def test_forces_at_the_edge_of_what_a_number_can_be_are_unstable_and_no_panic(metals: Observation) -> None:
    """Over denormal numbers phonopy's compiled part panics, with an exception that no `except Exception` holds."""
    rng, shape = np.random.default_rng(0), metals.arrays["forces"].shape
    still = np.zeros_like(metals.arrays["residual_forces"])
    tiny = Observation({**metals.arrays, "forces": 1e-310 * rng.normal(size=shape), "residual_forces": still})
    measured = measure(tiny, METALS)
    assert set(measured.items.cause.tolist()) == {int(Cause.UNSTABLE)}
    assert all(metric.charged == metric.failure_cost for metric in measured.metrics.values())


def test_forces_that_no_displacement_has_made_are_no_response(metals: Observation) -> None:
    cases = METALS[:2]
    plain, biased = measure(metals, METALS), measure(observe(Biased(), cases), cases)
    for row in range(2):
        np.testing.assert_allclose(numbers(biased, row), numbers(plain, row), rtol=1e-6)


class Skewed(EMT):
    """EMT with a constant shear, and a constant force on each atom."""

    def calculate(self, atoms: Any = None, *args: Any, **kwargs: Any) -> None:
        super().calculate(atoms, *args, **kwargs)
        bias = np.random.default_rng(0).normal(0.0, 0.05, (len(atoms), 3))
        self.results["forces"] = self.results["forces"] + bias - bias.mean(axis=0)
        if "stress" in self.results:
            self.results["stress"] = self.results["stress"] + np.array([0.01, 0.0, -0.01, 0.0, 0.02, 0.01])


def test_a_crystal_keeps_its_symmetry_whatever_the_model_says(metals: Observation) -> None:
    observation = observe(Skewed(), METALS[:2])
    assert observation.arrays["n_displacements"].tolist() == metals.arrays["n_displacements"].tolist()[:2]
    np.testing.assert_allclose(observation.arrays["cell"], metals.arrays["cell"][:2], atol=1e-5)
    np.testing.assert_allclose(observation.arrays["positions"], metals.arrays["positions"][:8], atol=1e-5)


def test_the_acoustic_sum_rule_is_imposed() -> None:
    case = copper()
    phonon = crystal(case.atoms, case.supercell, case.primitive)
    forces = np.full((1, 32, 3), [0.002, 0.0, 0.0])  # a drift, that no force on another atom makes up for
    forces[0, 0, 0] -= 0.05
    displace(phonon, np.array([0]), np.array([[0.01, 0.0, 0.0]]), forces)
    phonon.run_qpoints([[0.0, 0.0, 0.0]])
    found: Any = phonon.qpoints
    np.testing.assert_allclose(found.frequencies, 0.0, atol=1e-5)


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


def test_failing_never_pays(metals: Observation) -> None:
    answered, frames = answers(metals), structures(METALS).frames
    # One reference that is met, and one so far off that its error is clipped.
    reference = [numbers(measure(metals, METALS)).tolist(), [1e-3] * 4, [1.0] * 4]
    honest = measure(metals, METALS, reference)
    for index in range(3):
        done = [Done(None, Cause.ERROR) if i == index else Done(answered[i], Cause.NONE) for i in range(3)]
        failing = measure(Observation(supercell_arrays(frames, done)), METALS, reference)
        assert failing.items.cause[index] == Cause.ERROR
        for name, metric in honest.metrics.items():
            charged = failing.metrics[name].charged
            assert charged is not None
            assert metric.charged is not None
            assert charged >= metric.charged


def test_an_observation_of_other_crystals_is_refused(metals: Observation) -> None:
    with pytest.raises(ValueError, match="observation: failure"):
        measure(metals, METALS[:2])
    with pytest.raises(ValueError, match="observation: forces"):
        measure(metals, [METALS[0]._replace(supercell=3 * np.eye(3)), *METALS[1:]])
    other = Observation({**metals.arrays, "n_displacements": np.array([1, 0, 4])})
    with pytest.raises(ValueError, match="observation: n_displacements"):
        measure(other, METALS)


def test_what_does_not_fit_is_the_datasets_fault() -> None:
    wrong = ordered_alloy()._replace(primitive=FACE_CENTRED)  # gold and copper would fall on each other
    with pytest.raises(ValueError, match=r"made-up@1: structure 1: supercell and primitive: do not fit"):
        observe(EMT(), [copper(), wrong])
    slab = Case(Atoms("Cu", cell=3 * np.eye(3), pbc=(True, True, False)))
    with pytest.raises(ValueError, match="structure 0 is not periodic"):
        observe(EMT(), [slab])


@pytest.mark.parametrize("cell", [np.diag([1e-4, 3.0, 3.0]), [[3, 0, 0], [3, 1e-6, 0], [0, 0, 3]]])
def test_a_crystal_that_a_model_has_crushed_has_not_converged(cell: Any) -> None:
    case, crushed = simple_cubic(), Atoms("Cu", cell=cell, pbc=True)
    with pytest.raises(ItemFailed) as caught:
        relaxed_crystal(crushed, case.atoms, case.supercell, case.primitive)
    assert caught.value.cause == Cause.NOT_CONVERGED
    with pytest.raises(ValueError, match="do not fit the structure"):
        relaxed_crystal(crushed, crushed, case.supercell, case.primitive)


def test_work_counts_relaxations_and_supercells() -> None:
    work = KIND.work(structures([copper(), ordered_alloy()]), SETTINGS)
    # 60 steps of two crystals of 4 atoms; of primitive cells of 1 and 4 atoms, 1 + 2 and 1 + 8 supercells of 32.
    assert work.frames == pytest.approx(120 + 12)
    assert work.atoms == pytest.approx(480 + 12 * 32)


def test_displacements_from_which_nothing_follows_are_refused() -> None:
    case = copper()
    phonon = crystal(case.atoms, case.supercell, case.primitive)
    u, forces = np.array([[0.01, 0.0, 0.0]]), np.zeros((1, 32, 3))
    displace(phonon, np.array([0]), u, forces)  # symmetry makes the other directions of it
    tetragonal = Case(Atoms("Cu", cell=[3.0, 3.0, 4.0], pbc=True))
    phonon = crystal(tetragonal.atoms, tetragonal.supercell, tetragonal.primitive)
    with pytest.raises(ValueError, match="three directions"):
        displace(phonon, np.array([0]), u, np.zeros((1, 8, 3)))
