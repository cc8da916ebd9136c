"""Physicality: sound calculators pass up to rounding; each way to be unsound is seen by its own metric and no other."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import make_supercell
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT
from ase.calculators.fd import calculate_numerical_stress
from ase.calculators.lj import LennardJones
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks.datasets.card import Table
from tasks.datasets.dataset import Dataset, load_dataset, save_dataset
from tasks.kind import Observation, Watch
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import InProcessCalculator
from tasks.physicality.kind import Physicality, PhysicalityParameters
from tasks.physicality.measures import METRICS
from tasks.physicality.structures import build_physicality
from tasks.physicality.variants import PROBES
from tasks.simulation.diatomics import measures
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Predictions, Properties

KIND = Physicality()
SMALL = PhysicalityParameters(
    n_variants=2, n_directions=2, displacements=(3e-3, 1e-3), strains=(3e-3, 1e-3), diatomics=("H", "C"), n_distances=60
)
SIZE = 0.05  # eV/atom or eV/Å, by which a calculator is unsound


def part(*names: str) -> Dataset:
    """Some of the structures of the dataset."""
    whole = build_physicality()
    index = [whole.table.id.index(name) for name in names]
    table = Table(id=names, group=tuple(whole.table.group[i] for i in index), cluster=names)
    card = whole.card.model_copy(update={"periodic": bool(whole.frames.periodic[index].all())})
    return Dataset(card, whole.frames.take(index), table, {})


MIXED = part("Al", "TiO2", "H2O", "C2H5OH")


class Pairs(Calculator):
    """Lennard-Jones of any elements, whose well suits the shortest bonds of molecules, brought to zero at 5 Å: 4 ε
    ((σ/r)¹² − (σ/r)⁶) (1 − (r/5 Å)²)³. ASE's own, which loops over atoms, takes several times as long."""

    implemented_properties = ["energy", "forces", "stress"]  # noqa: RUF012
    epsilon, sigma, cutoff = 1.0, 0.9, 5.0

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        i, vector = self.neighbours(atoms)
        r = np.linalg.norm(vector, axis=1)
        sixth, inside = (self.sigma / r) ** 6, 1.0 - (r / self.cutoff) ** 2
        pair = 4.0 * self.epsilon * (sixth**2 - sixth)
        slope = -24.0 * self.epsilon * (2.0 * sixth**2 - sixth) / r
        derivative = slope * inside**3 - pair * 6.0 * r / self.cutoff**2 * inside**2
        pull = (derivative / r)[:, None] * vector
        forces = np.array([np.bincount(i, weights=pull[:, k], minlength=len(atoms)) for k in range(3)]).T
        self.results = {"energy": 0.5 * float((pair * inside**3).sum()), "forces": forces}
        if atoms.pbc.all():
            stress = 0.5 * pull.T @ vector / atoms.get_volume()
            self.results["stress"] = stress.ravel()[[0, 4, 8, 5, 2, 1]]

    def neighbours(self, atoms: Atoms) -> Any:
        """Of each pair within the cutoff, images among them, the first atom and the vector to the second."""
        positions, shifts = atoms.positions, np.zeros((1, 3))
        if atoms.pbc.all():
            inverse = np.linalg.inv(atoms.cell.array)
            positions = positions - np.floor(positions @ inverse) @ atoms.cell.array
            reach = np.ceil(self.cutoff * np.linalg.norm(inverse, axis=0)).astype(int) + 1
            shifts = (np.array(list(np.ndindex(*(2 * reach + 1)))) - reach) @ atoms.cell.array
        vectors = positions[None, :, None] - positions[:, None, None] + shifts
        squared = (vectors**2).sum(axis=-1)
        near = (squared < self.cutoff**2) & (squared > 0.0)
        return np.nonzero(near)[0], vectors[near]


def measured(calculator: Any, dataset: Dataset = MIXED, parameters: PhysicalityParameters = SMALL) -> Measurement:
    model = InProcessCalculator(calculator)
    observation = KIND.observe(dataset.structures, parameters, model, Watch(time.monotonic))
    return KIND.measure(observation, dataset, parameters, None)


def seen_by(found: Measurement) -> set[str]:
    """The metrics that say that something is wrong."""
    perfect = {"diatomics_tortuosity": 1.0}
    allowed = {"diatomics_conservation": 2e-3}
    wrong = set()
    for name, metric in found.metrics.items():
        assert metric.n_failed == 0, name
        assert metric.value is not None
        if not abs(metric.value - perfect.get(name, 0.0)) < allowed.get(name, 1e-6):
            wrong.add(name.removesuffix("_largest"))
    return wrong


# The dataset


def test_a_seed_gives_the_same_dataset_each_time(tmp_path: Any) -> None:
    first, again, other = build_physicality(), build_physicality(), build_physicality(1, "2")
    assert first.frames_sha256 == again.frames_sha256 != other.frames_sha256
    assert (first.card.full_name, other.card.full_name) == ("physicality@1", "physicality@2")
    assert not first.card.label_sets
    loaded = load_dataset(save_dataset(first, tmp_path))
    assert loaded.frames_sha256 == first.frames_sha256


def test_structures_are_small_sensible_and_without_symmetry() -> None:
    dataset = build_physicality()
    assert dataset.frames.n_atoms.max() <= 40
    assert set(dataset.table.group) == {"crystal", "alloy", "ionic crystal", "molecule", "slab"}
    for index, name in enumerate(dataset.table.id):
        atoms = dataset.frames.atoms(index)
        shortest = atoms.get_all_distances(mic=bool(atoms.pbc.any()))[np.triu_indices(len(atoms), 1)].min()
        assert 0.85 < shortest < 3.0, name
        atoms.calc = Pairs()
        assert np.linalg.norm(atoms.get_forces(), axis=1).min() > 1e-5
        if atoms.pbc.all():
            assert np.abs(atoms.get_stress()).min() > 1e-7


# Sound calculators


def test_a_sum_over_pairs_passes_everything() -> None:
    found = measured(Pairs(), build_physicality())
    assert found.items.failures() == {}
    assert seen_by(found) == set()
    assert found.metrics.keys() >= METRICS.keys()
    assert found.metrics["rotation_forces_largest"].value < 1e-11
    assert found.metrics["gradient_forces_largest"].value < 1e-6


def test_lennard_jones_of_ase_passes_everything() -> None:
    found = measured(LennardJones(sigma=0.9, ro=3.0, rc=4.5, smooth=True), part("NaCl", "H2O"))
    assert found.items.failures() == {}
    assert seen_by(found) == set()


def test_emt_passes_on_its_metals_and_fails_what_it_does_not_know() -> None:
    parameters = SMALL.model_copy(update={"diatomics": ("Cu", "Pt", "Si"), "n_distances": 100})
    found = measured(EMT(), part("Cu", "Cu3Au", "O/Pt(111)", "NaCl"), parameters)
    failed = [name for name, cause in zip(found.items.id, found.items.cause, strict=True) if cause]
    assert all("NaCl" in name or name == "Si2" for name in failed)
    # It fails each probe that applies to a crystal, and as one pair.
    assert found.items.failures() == {Cause.UNSUPPORTED: len(PROBES) - 1 + 2 + 1}
    for name, of in METRICS.items():
        if name.startswith("fragments"):
            assert name not in found.metrics  # there is no molecule
            continue
        metric = found.metrics[name]
        n = 3 if name.startswith("diatomics") else 4
        assert (metric.n_items, metric.n_failed, metric.failure_cost) == (n, 1, of.cost)
        sound = 1.0 if name == "diatomics_tortuosity" else 0.0
        assert metric.value == pytest.approx(sound, abs=2e-3 if name == "diatomics_conservation" else 1e-6)
        # The one that fails is charged W.
        assert metric.charged == pytest.approx((metric.value * (n - 1) + of.cost) / n, rel=1e-9)
        if of.largest:
            assert found.metrics[f"{name}_largest"].charged == of.cost


def test_single_precision_is_not_taken_for_forces_that_are_not_the_gradient() -> None:
    class Single(Pairs):
        """Total energies as of electrons, in single precision."""

        def calculate(self, *args: Any, **kwargs: Any) -> None:
            super().calculate(*args, **kwargs)
            offset = -20.0 * len(self.atoms)
            self.results["energy"] = float(np.float32(self.results["energy"] + offset))

    parameters = PhysicalityParameters(diatomics=(), n_variants=1)
    single, double = (measured(calculator, MIXED, parameters) for calculator in (Single(), Pairs()))
    noise = float(np.spacing(np.float32(180.0)))  # of the energy of nine atoms
    # The finest step would make this of it, some 5e-3 eV/Å; the coarsest as much of the bond of O and H.
    assert single.metrics["gradient_forces_largest"].value < 0.1 * noise / (2.0 * min(parameters.displacements))
    assert single.metrics["strain_stress_largest"].value < 1e-5
    assert single.metrics["rotation_energy_largest"].value < noise
    assert double.metrics["gradient_forces_largest"].value < 1e-6
    steps = [column(found, "C2H5OH: gradient", "step") for found in (single, double)]
    assert steps[0] > steps[1]


# Unsound ones, each in one way


class Unsound(Pairs):
    """Sound, and then spoilt by `spoil(atoms, results)`."""

    def __init__(self, spoil: Callable[[Atoms, dict[str, Any]], None]) -> None:
        super().__init__()
        self.spoil = spoil

    def calculate(self, *args: Any, **kwargs: Any) -> None:
        super().calculate(*args, **kwargs)
        self.spoil(self.atoms, self.results)


def add(results: dict[str, Any], atoms: Atoms, condition: Any) -> None:
    """Energy that comes and goes all at once has no force: nothing but the energy is wrong."""
    results["energy"] += SIZE * len(atoms) * bool(condition)


def absolute_position(atoms: Atoms, results: dict[str, Any]) -> None:
    add(results, atoms, np.sin(7.0 * atoms.positions.mean(axis=0).sum()) > 0.0)


def orientation(atoms: Atoms, results: dict[str, Any]) -> None:
    strongest = results["forces"][np.linalg.norm(results["forces"], axis=1).argmax()]
    add(results, atoms, abs(strongest[0]) >= 0.5 * np.linalg.norm(strongest))


def wind(atoms: Atoms, results: dict[str, Any]) -> None:
    results["forces"] = results["forces"] + np.array([0.0, 0.0, SIZE])


def order(atoms: Atoms, results: dict[str, Any]) -> None:
    first, second = np.linalg.norm(results["forces"][:2], axis=1)
    add(results, atoms, first > 1.001 * second)


def image(atoms: Atoms, results: dict[str, Any]) -> None:
    far = np.linalg.norm(atoms.positions - atoms.positions.mean(axis=0), axis=1).max()
    add(results, atoms, atoms.pbc.any() and far > 8.0 and len(atoms) > 2)


def lattice(atoms: Atoms, results: dict[str, Any]) -> None:
    if atoms.pbc.all():
        add(results, atoms, np.prod(atoms.cell.lengths()) > 1.08 * atoms.get_volume())


def constant(atoms: Atoms, results: dict[str, Any]) -> None:
    results["energy"] += 1.0


def root(atoms: Atoms, results: dict[str, Any]) -> None:
    results["energy"] += np.sqrt(len(atoms))


def scaled_forces(atoms: Atoms, results: dict[str, Any]) -> None:
    results["forces"] = 1.01 * results["forces"]


def other_sign(atoms: Atoms, results: dict[str, Any]) -> None:
    if "stress" in results:
        results["stress"] = -results["stress"]


def step(atoms: Atoms, results: dict[str, Any]) -> None:
    if len(atoms) == 2:
        results["energy"] -= 2.0 * (atoms.get_distance(0, 1) > 1.5)


UNSOUND = {
    absolute_position: {"translation_energy"},
    orientation: {"rotation_energy"},
    wind: {"rotation_forces", "gradient_forces"},
    order: {"permutation_energy"},
    image: {"image_energy"},
    lattice: {"lattice_energy"},
    constant: {"supercell_energy", "fragments_energy"},
    root: {"supercell_energy", "fragments_energy"},
    scaled_forces: {"gradient_forces", "diatomics_conservation"},
    other_sign: {"strain_stress"},
    step: {"diatomics_tortuosity", "diatomics_energy_jump", "diatomics_conservation"},
}


@pytest.mark.parametrize("spoil", UNSOUND, ids=lambda spoil: spoil.__name__)
def test_what_is_unsound_is_seen_by_its_own_metric_and_no_other(spoil: Any) -> None:
    assert seen_by(measured(Unsound(spoil))) == UNSOUND[spoil]


def test_random_answers_are_not_hidden_by_a_cache_of_the_last_structure() -> None:
    rng = np.random.default_rng(0)

    class Remembering(Pairs):
        """Answers at random, but the same as long as it is asked the same."""

        last: Any = None
        luck = 0.0

        def calculate(self, atoms: Any = None, *args: Any, **kwargs: Any) -> None:
            super().calculate(atoms, *args, **kwargs)
            if self.last is None or len(atoms) != len(self.last) or not np.array_equal(atoms.positions, self.last):
                self.luck = SIZE * len(atoms) * rng.normal()
            self.last = atoms.positions.copy()
            self.results["energy"] += self.luck

    found = measured(Remembering())
    assert found.metrics["repeat_energy"].value > 0.2 * SIZE
    assert found.metrics["repeat_forces"].value == 0.0


# The sizes of errors, by hand


def test_a_change_with_orientation_by_hand() -> None:
    class Field(Pairs):
        """In an electric field along x, so to say: each atom has a dipole along the force on it."""

        def calculate(self, *args: Any, **kwargs: Any) -> None:
            super().calculate(*args, **kwargs)
            self.results["energy"] += float(np.abs(self.results["forces"][:, 0]).sum())

    dataset = part("C2H5OH", "H2O")
    observation, found = observed(Field(), dataset)
    atoms = dataset.frames.atoms(0)

    def energy(rotation: Any) -> Any:
        turned = Atoms(atoms.numbers, atoms.positions @ rotation.T, calculator=Field())
        return turned.get_potential_energy()

    probe, original = observation.arrays["variant_probe"], observation.arrays["variant_original"]
    rotations = observation.arrays["variant_rotation"][(probe == list(PROBES).index("rotation")) & (original == 0)]
    assert len(rotations) == SMALL.n_variants
    assert np.allclose(rotations @ rotations.transpose(0, 2, 1), np.eye(3))
    assert np.linalg.det(rotations) == pytest.approx(1.0)
    by_hand = max(abs(energy(rotation) - energy(np.eye(3))) for rotation in rotations) / len(atoms)
    assert by_hand > 1e-3
    assert column(found, "C2H5OH: rotation", "energy_error") == pytest.approx(by_hand, rel=1e-9)


def test_forces_and_stress_by_hand() -> None:
    dataset = part("Cu", "H2O")

    class Wrong(EMT):
        def calculate(self, *args: Any, **kwargs: Any) -> None:
            super().calculate(*args, **kwargs)
            self.results["forces"] = self.results["forces"] * 1.1
            if "stress" in self.results:
                self.results["stress"] = -self.results["stress"]

    observation, found = observed(Wrong(), dataset)
    atoms = dataset.frames.atoms(0)
    atoms.calc = EMT()
    along = observation.arrays["direction"][:, : len(atoms)]
    assert (along**2).sum(axis=(1, 2)) == pytest.approx(1.0)
    work = (along * atoms.get_forces()).sum(axis=(1, 2))
    assert column(found, "Cu: gradient", "force_error") == pytest.approx(0.1 * np.sqrt((work**2).mean()), rel=1e-4)
    assert column(found, "Cu: gradient", "scale") == pytest.approx(1.1 * np.sqrt((work**2).mean()), rel=1e-9)
    stress = calculate_numerical_stress(atoms, eps=1e-4, voigt=True)
    by_hand = 2.0 * np.sqrt((stress**2).mean())
    assert column(found, "Cu: strain", "stress_error") == pytest.approx(by_hand, rel=1e-4)
    assert np.isnan(column(found, "H2O: gradient", "stress_error"))
    assert "H2O: strain" not in found.items.id


def test_extensivity_by_hand() -> None:
    class Root(EMT):
        def calculate(self, *args: Any, **kwargs: Any) -> None:
            super().calculate(*args, **kwargs)
            self.results["energy"] *= np.sqrt(len(self.atoms))

    dataset = part("Cu", "H2O")
    _, found = observed(Root(), dataset)
    for index, name in enumerate(("Cu: supercell", "H2O: fragments")):
        one = dataset.frames.atoms(index)
        two = make_supercell(one, np.diag([1, 1, 2])) if index == 0 else None
        if two is None:
            two = one + Atoms(one.numbers, one.positions + np.array([0.0, 40.0, 0.0]))
        one.calc, two.calc = Root(), Root()
        by_hand = abs(two.get_potential_energy() - 2 * one.get_potential_energy()) / len(two)
        assert by_hand > 1e-3
        assert column(found, name, "energy_error") == pytest.approx(by_hand, rel=1e-9)


def test_pairs_are_those_of_the_curve() -> None:
    dataset = part("Al")
    observation, found = observed(Pairs(), dataset)
    r = observation.arrays["diatomic_distance"][1]
    curve = [Atoms("CC", [(0, 0, 0), (x, 0, 0)], calculator=Pairs()) for x in r]
    energy = np.array([atoms.get_potential_energy() for atoms in curve])
    expected = measures(r, energy, np.array([atoms.get_forces()[1, 0] for atoms in curve]))
    for name, value in expected._asdict().items():
        assert column(found, "C2", name) == pytest.approx(value, rel=1e-6, abs=1e-9)


def observed(
    calculator: Any, dataset: Dataset, parameters: PhysicalityParameters = SMALL
) -> tuple[Observation, Measurement]:
    model = InProcessCalculator(calculator)
    observation = KIND.observe(dataset.structures, parameters, model, Watch(time.monotonic))
    return observation, KIND.measure(observation, dataset, parameters, None)


def column(found: Measurement, item: str, name: str) -> float:
    return float(found.items.columns[name][list(found.items.id).index(item)])


# What is asked


class Listening:
    """Passes on what is asked, and remembers it."""

    def __init__(self, calculator: Any, max_atoms_per_batch: int = 20_000) -> None:
        self.inner = InProcessCalculator(calculator, max_atoms_per_batch)
        self.properties = self.inner.properties
        self.max_atoms_per_batch = max_atoms_per_batch
        self.asked: list[tuple[Frames, Properties]] = []

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        self.asked.append((frames, properties))
        return self.inner.compute(frames, properties)


def test_the_same_is_asked_again_in_another_place_and_the_work_is_told_beforehand() -> None:
    model = Listening(Pairs())
    steps: list[tuple[int, int, str]] = []
    watch = Watch(time.monotonic, progress=lambda *step: steps.append(step))
    KIND.observe(MIXED.structures, SMALL, model, watch)
    asked = Frames.concatenate([frames for frames, _ in model.asked])
    assert KIND.work(MIXED.structures, SMALL) == (len(asked), len(asked.numbers))
    assert steps[-1] == (len(asked), len(asked), "frames")
    whole = [(asked.positions[asked.atom_slice(i)].tobytes(), asked.cell[i].tobytes()) for i in range(len(asked))]
    with_forces = sum(len(frames) for frames, properties in model.asked if "forces" in properties)
    for index in range(len(MIXED.frames)):
        places = [i for i in range(with_forces) if whole[i] == whole[index]]
        assert len(places) == 2
        assert places[1] - places[0] > 100
        assert whole[places[1] + 1] != whole[places[0] + 1]  # in other company
    assert all(a != b for a, b in pairwise(whole))


def test_answers_do_not_depend_on_batches_and_the_same_run_gives_the_same_bytes() -> None:
    dataset = part("Cu", "H2O")
    runs = [
        KIND.observe(dataset.structures, SMALL, InProcessCalculator(Pairs(), budget), Watch(time.monotonic)).arrays
        for budget in (20_000, 20_000, 17)
    ]
    for other in runs[1:]:
        assert other.keys() == runs[0].keys()
        assert all(other[name].tobytes() == array.tobytes() for name, array in runs[0].items())


def test_a_model_that_fails_too_many_structures_is_asked_nothing_else() -> None:
    model = Listening(EMT())
    observation = KIND.observe(
        part("Cu", "Si", "NaCl").structures, SMALL, model, Watch(time.monotonic, failed_share=0.5)
    )
    assert sum(len(frames) for frames, _ in model.asked) == 3
    found = KIND.measure(observation, part("Cu", "Si", "NaCl"), SMALL, None)
    assert set(found.items.failures()) == {Cause.MISSING}
    assert all(metric.charged == metric.failure_cost for metric in found.metrics.values())


def test_bad_parameters_are_refused() -> None:
    for bad in ({"diatomics": ("Xx",)}, {"displacements": (1e-3, 1e-2)}, {"strains": (1e-3,)}, {"box": 10.0}):
        with pytest.raises(ValidationError):
            PhysicalityParameters(**bad)


# What a model lacks, and what failing costs


def test_a_model_without_stress_fails_the_strains_alone() -> None:
    class NoStress(Pairs):
        implemented_properties = ["energy", "forces"]  # noqa: RUF012

    found = measured(NoStress())
    assert found.items.failures() == {Cause.UNSUPPORTED: int(MIXED.frames.periodic.sum())}
    for name, metric in found.metrics.items():
        assert (metric.n_failed > 0) == name.startswith("strain"), name
    assert found.metrics["strain_stress"].charged == METRICS["strain_stress"].cost
    assert found.metrics["strain_stress"].value is None


def test_a_model_without_forces_still_has_its_energies_measured() -> None:
    class NoForces(Pairs):
        implemented_properties = ["energy"]  # noqa: RUF012

    found = measured(NoForces())
    energies = {name for name in METRICS if name.endswith("_energy") or name in SEEN_IN_ENERGIES}
    for name in METRICS:
        metric = found.metrics[name]
        assert metric.n_failed == (0 if name in energies else metric.n_items), name
        assert (metric.charged == METRICS[name].cost) == (name not in energies)
    assert set(found.items.failures()) == {Cause.UNSUPPORTED}


SEEN_IN_ENERGIES = ("diatomics_tortuosity", "diatomics_energy_jump")


def test_one_frame_that_fails_fails_its_item_alone_and_keeps_its_cause() -> None:
    observation, before = observed(Pairs(), MIXED)
    failure = observation.arrays["variant_failure"].copy()
    rotation_of_rutile = (observation.arrays["variant_probe"] == 0) & (observation.arrays["variant_original"] == 1)
    failure[np.flatnonzero(rotation_of_rutile)[1]] = Cause.OUT_OF_MEMORY
    after = KIND.measure(Observation({**observation.arrays, "variant_failure": failure}), MIXED, SMALL, None)
    assert after.items.failures() == {Cause.OUT_OF_MEMORY: 1}
    assert list(after.items.id)[int(np.flatnonzero(after.items.cause)[0])] == "TiO2: rotation"
    assert np.isnan(column(after, "TiO2: rotation", "energy_error"))
    n = len(MIXED.frames)
    assert after.metrics["rotation_energy"].charged == pytest.approx(METRICS["rotation_energy"].cost / n)
    assert after.metrics["rotation_energy_largest"].charged == METRICS["rotation_energy"].cost
    assert after.metrics["permutation_energy"] == before.metrics["permutation_energy"]


ANSWERS = [
    f"{name}{array}"
    for name in ("", "variant_", "displaced_", "strained_", "stressed_", "diatomic_")
    for array in ("energy", "failure")
    if (name, array) != ("stressed_", "energy")  # of which nothing is made
] + ["forces", "variant_forces", "diatomic_forces", "stressed_stress"]


@cache
def bad_answers() -> tuple[Observation, Measurement]:
    """Of a model that is off everywhere, in places beyond W."""
    rng = np.random.default_rng(5)
    observation, _ = observed(Pairs(), part("Cu", "H2O"))
    arrays = dict(observation.arrays)
    for name in ANSWERS:
        if not name.endswith("failure"):
            arrays[name] = arrays[name] + rng.standard_cauchy(arrays[name].shape)
    bad = Observation(arrays)
    return bad, KIND.measure(bad, part("Cu", "H2O"), SMALL, None)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(ANSWERS), st.integers(0, 10**6), st.sampled_from([np.nan, np.inf]))
def test_failing_never_helps(name: str, place: int, value: float) -> None:
    bad, before = bad_answers()
    changed = bad.arrays[name].copy()
    changed.reshape(-1)[place % changed.size] = Cause.ERROR if name.endswith("failure") else value
    after = KIND.measure(Observation({**bad.arrays, name: changed}), part("Cu", "H2O"), SMALL, None)
    assert after.metrics.keys() == before.metrics.keys()
    for metric, found in after.metrics.items():
        assert found.charged >= before.metrics[metric].charged - 1e-12, metric
        assert found.n_failed >= before.metrics[metric].n_failed
    assert after.items.failures()


def test_what_was_observed_of_something_else_is_refused() -> None:
    observation, _ = observed(Pairs(), part("Cu", "H2O"))
    with pytest.raises(ValueError, match="observation: "):
        KIND.measure(observation, part("Cu"), SMALL, None)
    for missing in ("variant_rotation", "direction", "displaced_failure", "variant_probe"):
        arrays = {name: array for name, array in observation.arrays.items() if name != missing}
        with pytest.raises(ValueError, match=f"observation: {missing} is missing"):
            KIND.measure(Observation(arrays), part("Cu", "H2O"), SMALL, None)
