"""Thermal conductivities: against phono3py by hand, the errors, what has no conductivity, and batches."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.calculator import Calculator
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones
from phono3py import Phono3py
from phonopy.structure.atoms import PhonopyAtoms

from tasks.datasets.card import Card, Conductivity, ConductivityReference, LabelSet, Table
from tasks.datasets.dataset import Dataset
from tasks.kind import Observation, Watch
from tasks.kinds.conductivity_items import WORST, conductivity_errors
from tasks.kinds.thermal_conductivity import (
    ThermalConductivity,
    ThermalConductivityParameters,
    matrices_of,
    relaxed_in_stages,
)
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import InProcessCalculator
from tasks.simulation.force_sets import ask_third_order, read_forces
from tasks.simulation.heat_transport import (
    SYMPREC,
    ModeConductivity,
    SupercellMatrices,
    irreducible_weights,
    mode_conductivity,
    phono3py_crystal,
    set_second_order,
    set_third_order,
)
from tasks.simulation.relaxation import Freedom, Relaxation, last_iterate
from tasks.simulation.symmetry import space_group
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause, Predictions, Properties

KIND = ThermalConductivity()
FACE_CENTRED = np.array([[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
PBE = "PBE"


class ConductingCrystal(NamedTuple):
    """A cubic crystal with a model, and how its conductivity is computed."""

    atoms: Atoms
    model: Calculator
    temperature_k: float = 300.0
    second: int = 3
    third: int = 2
    mesh: int = 11
    primitive: Float = FACE_CENTRED

    @property
    def matrices(self) -> SupercellMatrices:
        size = np.eye(3, dtype=np.int64)
        return SupercellMatrices(self.second * size, self.third * size, self.primitive, np.full(3, self.mesh))

    @property
    def parameters(self) -> ThermalConductivityParameters:
        return ThermalConductivityParameters(temperature_k=self.temperature_k)

    def dataset(self, reference: ConductivityReference) -> Dataset:
        names = ("crystal",)
        item = Conductivity(id="crystal", structure=0, reference={PBE: reference})
        table = Table(id=names, group=("",), cluster=names, conductivities=(item,))
        card = Card(
            name="heat",
            version="1",
            title="Heat",
            domain="Inorganic Materials",
            periodic=True,
            label_sets={PBE: LabelSet(theory=PBE, dispersion=False)},
            default_label_set=PBE,
        )
        second, third, primitive, mesh = self.matrices
        conditions = {
            "supercell": second[None],
            "third_order_supercell": third[None],
            "primitive": primitive[None],
            "q_mesh": mesh[None],
        }
        return Dataset(card, Frames.from_atoms([self.atoms]), table, {}, conditions)

    def trivial(self) -> Dataset:
        """With the right wave vectors, and a reference without meaning."""
        weights = irreducible_weights(phono3py_crystal(self.atoms, self.matrices))
        bands = 3 * round(len(self.atoms) * abs(np.linalg.det(self.primitive)))
        modes = tuple((float(weight),) * bands for weight in weights)
        return self.dataset(ConductivityReference(kappa=float(bands), weights=tuple(weights.tolist()), modes=modes))


def copper() -> ConductingCrystal:
    return ConductingCrystal(bulk("Cu", a=3.6, cubic=True), EMT())


def argon() -> ConductingCrystal:
    lj = LennardJones(epsilon=0.0104233, sigma=3.405, ro=7.5, rc=8.5125, smooth=True)
    return ConductingCrystal(bulk("Ar", a=5.3, cubic=True), lj, temperature_k=80.0)


def small(symbol: str = "Cu") -> ConductingCrystal:
    return ConductingCrystal(bulk(symbol, cubic=True), EMT(), second=2, mesh=5)


def observed(crystal: ConductingCrystal, parameters: ThermalConductivityParameters | None = None) -> Observation:
    model, dataset = InProcessCalculator(crystal.model), crystal.trivial()
    return KIND.observe(dataset.structures, parameters or crystal.parameters, model, Watch(time.monotonic))


def measured(crystal: ConductingCrystal, observation: Observation, dataset: Dataset | None = None) -> Measurement:
    return KIND.measure(observation, dataset or crystal.trivial(), crystal.parameters, PBE)


def relaxed(crystal: ConductingCrystal, observation: Observation) -> Atoms:
    arrays = observation.arrays
    return Atoms(crystal.atoms.numbers, arrays["positions"], cell=arrays["cell"][0], pbc=True)


def forces_of(cells: Sequence[Any], model: Calculator) -> Float:
    displaced = [Atoms(cell.numbers, cell.positions, cell=cell.cell, pbc=True, calculator=model) for cell in cells]
    return np.array([atoms.get_forces() for atoms in displaced])


def by_hand(crystal: ConductingCrystal, atoms: Atoms) -> float:
    """The conductivity of `atoms` by phono3py's own steps, with one calculation after the other."""
    cell = PhonopyAtoms(numbers=atoms.numbers, cell=atoms.cell.array, positions=atoms.positions)
    second, third, primitive, mesh = crystal.matrices
    p3: Any = Phono3py(cell, third, primitive, phonon_supercell_matrix=second)
    p3.mesh_numbers = mesh
    p3.generate_displacements(distance=0.03)
    p3.generate_fc2_displacements(distance=0.03)
    for name, cells in (
        ("forces", p3.supercells_with_displacements),
        ("phonon_forces", p3.phonon_supercells_with_displacements),
    ):
        forces = []
        for each in cells:
            displaced = Atoms(each.numbers, each.positions, cell=each.cell, pbc=True, calculator=crystal.model)
            forces.append(displaced.get_forces())
        setattr(p3, name, np.array(forces))
    p3.produce_fc3()
    p3.produce_fc2()
    p3.symmetrize_fc3()
    p3.symmetrize_fc2()
    p3.init_phph_interaction()
    p3.run_thermal_conductivity(
        temperatures=[crystal.temperature_k], is_isotope=True, boundary_mfp=1e6, transport_type="SMM19"
    )
    found = p3.thermal_conductivity
    frequencies = p3.get_phonon_data()[0][found.grid_points]
    pairs = found.mode_kappa_matrix[0, 0, :, :, :, :3].mean(axis=-1)
    total = 0.0
    for omega, of_point in zip(frequencies, pairs, strict=True):
        for s, r in zip(*np.nonzero(of_point), strict=True):
            total += of_point[s, r] * 4.0 * omega[s] * omega[r] / (omega[s] + omega[r]) ** 2
    return float(total / found.grid_weights.sum())


@pytest.mark.parametrize(
    ("crystal", "lattice", "kappa"), [(copper(), 3.58983, 12.76), (argon(), 5.27186, 0.351)], ids=["Cu", "Ar"]
)
def test_the_conductivity_is_that_of_phono3py_by_hand(crystal: ConductingCrystal, lattice: float, kappa: float) -> None:
    observation = observed(crystal)
    atoms = relaxed(crystal, observation)
    assert atoms.cell.lengths() == pytest.approx(lattice, rel=1e-4)
    found = measured(crystal, observation).items.columns["kappa"][0]
    assert found == pytest.approx(by_hand(crystal, atoms), rel=1e-6)
    assert found == pytest.approx(kappa, rel=0.01)


def test_doubled_constants_of_third_order_divide_the_conductivity_by_four() -> None:
    """Of gold, which has one isotope, and without the coherences."""
    crystal = small("Au")
    dataset, observation = crystal.trivial(), observed(crystal)
    sizes = {"second": np.array([32]), "third": np.array([32])}
    forces = read_forces(observation, dataset.frames, sizes)[0]
    made: Any = forces.crystal(dataset.frames.numbers, matrices_of(dataset.structures)[0])
    set_second_order(made)
    set_third_order(made)
    populations = []
    for _ in range(2):
        mode_conductivity(made, 300.0)
        pairs = made.thermal_conductivity.mode_kappa_matrix[0, 0, :, :, :, :3].mean(axis=3)
        populations.append(np.einsum("qbb->", pairs))
        made.fc3 = 2.0 * made.fc3
    assert populations[0] / populations[1] == pytest.approx(4.0, rel=1e-6)


def answer() -> ModeConductivity:
    modes = np.random.default_rng(3).uniform(0.1, 9.0, (4, 3))
    weights = np.array([1, 8, 6, 12])
    return ModeConductivity(float(modes.sum() / weights.sum()), weights, modes)


def reference_of(found: ModeConductivity, scale: float = 1.0) -> ConductivityReference:
    modes = tuple(tuple(row) for row in (scale * found.modes).tolist())
    return ConductivityReference(kappa=scale * found.kappa, weights=tuple(found.weights.tolist()), modes=modes)


@pytest.mark.parametrize("scale", [0.25, 1.0, 1.5, 40.0])
def test_modes_of_the_reference_times_a_number_have_a_known_error(scale: float) -> None:
    found = answer()
    errors = conductivity_errors(found, reference_of(found, 1.0 / scale))
    right = 2.0 * abs(scale - 1.0) / (scale + 1.0)
    assert (errors["sre"], errors["srme"]) == (pytest.approx(right), pytest.approx(right))
    assert errors["srd"] == pytest.approx(2.0 * (scale - 1.0) / (scale + 1.0))


def test_errors_of_modes_that_cancel_are_in_srme_alone() -> None:
    found = answer()
    swapped = found._replace(modes=found.modes[:, ::-1])
    errors = conductivity_errors(swapped, reference_of(found))
    assert errors["sre"] == pytest.approx(0.0)
    assert errors["srme"] == pytest.approx(np.abs(swapped.modes - found.modes).sum() / 27 / found.kappa)


def test_what_is_observed_fed_back_as_the_reference_has_no_error() -> None:
    crystal = small()
    observation = observed(crystal)
    dataset = crystal.trivial()
    forces = read_forces(observation, dataset.frames, {"second": np.array([32]), "third": np.array([32])})[0]
    made = forces.crystal(dataset.frames.numbers, crystal.matrices)
    set_second_order(made)
    set_third_order(made)
    found = mode_conductivity(made, 300.0)
    measurement = measured(crystal, observation, crystal.dataset(reference_of(found)))
    assert measurement.metrics["srme"].value == pytest.approx(0.0, abs=1e-9)
    assert measurement.metrics["srme"].charged == pytest.approx(0.0, abs=1e-9)
    assert measurement.metrics["failed_percent"].value == 0.0


class Softened(Calculator):
    """Copper that is pushed away from its sites: its modes are imaginary."""

    implemented_properties = ("energy", "forces", "stress")

    def calculate(self, atoms: Any = None, properties: Any = (), system_changes: Any = ()) -> None:
        """Forces that grow with the distance from the sites of the lattice, and none on the cell."""
        super().calculate(atoms, properties, system_changes)
        scaled = 2.0 * self.atoms.get_scaled_positions() * np.round(self.atoms.cell.lengths() / 3.6)
        off = (scaled - np.round(scaled)) * 1.8
        self.results = {"energy": -float((off**2).sum()), "forces": 2.0 * off, "stress": np.zeros(6)}


def test_imaginary_modes_cost_two_and_no_third_order_is_asked() -> None:
    crystal = small()._replace(atoms=bulk("Cu", a=3.6, cubic=True), model=Softened())
    observation = observed(crystal)
    assert (observation.arrays["n_second"][0] > 0, observation.arrays["n_third"][0]) == (True, 0)
    measurement = measured(crystal, observation)
    assert measurement.metrics["srme"].charged == WORST
    assert [measurement.items.columns[name][0] for name in ("failed", "imaginary", "broken")] == [1.0, 1.0, 0.0]
    assert measurement.items.failures() == {Cause.UNSTABLE: 1}


class Sheared(EMT):
    """Copper in a field that pulls one atom of each cell aside, which breaks its space group."""

    def calculate(self, atoms: Any = None, properties: Any = (), system_changes: Any = ()) -> None:
        """EMT's forces, and one more on every fourth atom and the opposite one on the next."""
        super().calculate(atoms, properties, system_changes)
        self.results["forces"][::4, 0] += 0.3
        self.results["forces"][1::4, 0] -= 0.3


def test_a_relaxation_into_another_space_group_ends_with_the_first_stage() -> None:
    """In the second stage the symmetry is not kept; what it breaks is left out, as κ_SRME has it."""
    crystal = small()._replace(model=Sheared())
    model, parameters = InProcessCalculator(crystal.model), crystal.parameters
    first, kept = relaxed_in_stages(crystal.atoms, parameters.model_copy(update={"stages": 1}), model)
    freedom = Freedom("full", parameters.strains, keep_symmetry=False)
    second = last_iterate(first, model, parameters.relaxation, freedom).atoms
    assert (kept, space_group(second, SYMPREC) == space_group(crystal.atoms, SYMPREC)) == (True, False)
    observation = observed(crystal)
    assert np.array_equal(observation.arrays["cell"][0], first.cell.array)
    assert np.array_equal(observation.arrays["positions"], first.positions)
    assert measured(crystal, observation).items.columns["broken"][0] == 0.0


def test_a_crystal_that_relaxes_into_another_space_group_costs_two_and_is_asked_no_more() -> None:
    """Stretched copper is tetragonal; relaxed, it is cubic."""
    atoms = bulk("Cu", cubic=True)
    atoms.set_cell(atoms.cell.array * [1.0, 1.0, 1.02], scale_atoms=True)
    crystal = small()._replace(atoms=atoms)
    tight = Relaxation(optimizer="FIRE", fmax=1e-8, max_steps=3000)
    observation = observed(crystal, ThermalConductivityParameters(relaxation=tight))
    groups = [space_group(atoms, SYMPREC), space_group(relaxed(crystal, observation), SYMPREC)]
    assert groups == [139, 225]
    assert (observation.arrays["n_second"][0], observation.arrays["n_third"][0]) == (0, 0)
    measurement = measured(crystal, observation)
    assert measurement.metrics["srme"].charged == WORST
    assert shares(measurement.items.columns) == pytest.approx([1.0, np.nan, 1.0], nan_ok=True)  # imaginary: not asked
    assert measurement.items.failures() == {Cause.UNSTABLE: 1}


class CountingCalls:
    """A model that finds no force, and counts how many structures each call has."""

    properties: Properties = ("energy", "forces")
    max_atoms_per_batch = 20_000

    def __init__(self) -> None:
        self.structures_in_calls: list[int] = []

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        """Zeros."""
        n = len(frames)
        self.structures_in_calls.append(n)
        return Predictions(np.zeros(n), np.zeros_like(frames.positions), None, np.zeros(n, np.int8))


def test_all_displacements_of_third_order_are_one_batch() -> None:
    crystal = ConductingCrystal(bulk("AuCu", "rocksalt", a=5.4, cubic=True), EMT(), second=1, third=1, mesh=3)
    assert len(crystal.atoms) == 8
    model = CountingCalls()
    ask_third_order(phono3py_crystal(crystal.atoms, crystal.matrices), 0.03, model)
    assert len(model.structures_in_calls) == 1
    assert model.structures_in_calls[0] > 20


def test_without_phono3py_the_line_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    crystal = small()
    dataset = crystal.trivial()
    monkeypatch.setitem(sys.modules, "phono3py", None)
    with pytest.raises(ValueError, match=r"needs phono3py, which is not installed: pip install 'lambench-judge\[cond"):
        KIND.observe(dataset.structures, crystal.parameters, InProcessCalculator(EMT()), Watch(time.monotonic))


def test_references_of_another_temperature_are_refused() -> None:
    crystal = small()
    dataset = crystal.trivial()
    card = dataset.card.model_copy(update={"settings": {"temperature_k": 500.0}})
    refused = Dataset(card, dataset.frames, dataset.table, {}, dataset.conditions)
    with pytest.raises(ValueError, match="references are of temperature_k = 500, the task is of 300"):
        measured(crystal, Observation({}), refused)


def shares(columns: Mapping[str, Float]) -> list[float]:
    return [columns[name][0] for name in ("failed", "imaginary", "broken")]


def test_other_wave_vectors_than_those_of_the_reference_cost_two() -> None:
    crystal = small()
    finer = crystal._replace(mesh=7).trivial()
    dataset = Dataset(finer.card, finer.frames, finer.table, {}, crystal.trivial().conditions)
    measurement = measured(crystal, observed(crystal), dataset)
    assert measurement.metrics["srme"].charged == WORST
    assert shares(measurement.items.columns) == [1.0, 0.0, 0.0]


def test_the_work_is_about_that_of_the_usual_crystals() -> None:
    """Rock salt: 2 supercells of 512 atoms and 146 of 64, and at most 600 of the cell."""
    crystal = ConductingCrystal(bulk("NaCl", "rocksalt", a=5.7, cubic=True), EMT(), second=4, third=2, mesh=19)
    work = KIND.work(crystal.trivial().structures, ThermalConductivityParameters())
    by_size = {round(n): times for n, times in zip(work.n_atoms, work.times, strict=True)}
    assert by_size[512] == pytest.approx(2.0, rel=0.2)
    assert by_size[64] == pytest.approx(146, rel=0.2)
    assert by_size[8] <= 600
    assert work.density == pytest.approx(8 / 5.7**3)
