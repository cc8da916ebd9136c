"""Correct calculators pass up to rounding; each kind of error changes its own metric and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones

from tasks.metrics.measurement import Measurement
from tasks.physicality.kind import PhysicalityParameters
from tasks.physicality.measures import FURTHER_LAWS, METRICS, STRESS_GROUPS
from tasks.physicality.structures import build_physicality
from tasks.physicality.variants import PROBES
from tasks.structures.predictions import Cause
from tests.tasks.physicality.pair_potential import MIXED, SMALL, WITH_LAWS, Pairs, column, measured, part

SIZE = 0.05  # eV/atom or eV/Å, by which a calculator is unsound


def seen_by(measurement: Measurement) -> set[str]:
    """The metrics that show an error."""
    perfect = {"diatomics_tortuosity": 1.0}
    allowed = {"diatomics_conservation": 2e-3, "jacobian_antisymmetry": 1e-2, "time_step_exponent": 0.5}
    wrong = set()
    for name, metric in measurement.metrics.items():
        assert metric.n_failed == 0, name
        assert metric.value is not None
        if not abs(metric.value - perfect.get(name, 0.0)) < allowed.get(name.removesuffix("_largest"), 1e-6):
            wrong.add(name.removesuffix("_largest"))
    return wrong


# Sound calculators


def test_a_sum_over_pairs_passes_everything() -> None:
    measurement = measured(Pairs(), build_physicality(), WITH_LAWS)
    assert measurement.items.failures() == {}
    assert seen_by(measurement) == set()
    assert measurement.metrics.keys() >= METRICS.keys()
    assert measurement.metrics["rotation_forces_largest"].value < 1e-11
    assert measurement.metrics["gradient_forces_largest"].value < 1e-6


def test_lennard_jones_of_ase_passes_everything() -> None:
    measurement = measured(LennardJones(sigma=0.9, ro=3.0, rc=4.5, smooth=True), part("NaCl", "H2O"))
    assert measurement.items.failures() == {}
    assert seen_by(measurement) == set()


def test_emt_passes_on_its_metals_and_fails_what_it_does_not_know() -> None:
    parameters = SMALL.model_copy(update={"diatomics": ("Cu", "Pt", "Si"), "n_distances": 100})
    measurement = measured(EMT(), part("Cu", "Cu3Au", "O/Pt(111)", "NaCl"), parameters)
    failed = [name for name, cause in zip(measurement.items.id, measurement.items.cause, strict=True) if cause]
    assert all("NaCl" in name or name == "Si2" for name in failed)
    # It fails each probe that applies to a crystal, its stress, and as one pair.
    assert measurement.items.failures() == {Cause.UNSUPPORTED: len(PROBES) - 1 + len(STRESS_GROUPS) + 2 + 1}
    for name, measure in METRICS.items():
        if name in FURTHER_LAWS:
            continue
        if name.startswith("fragments"):
            assert name not in measurement.metrics  # there is no molecule
            continue
        metric = measurement.metrics[name]
        n = 3 if name.startswith("diatomics") else 4
        assert (metric.n_items, metric.n_failed, metric.failure_cost) == (n, 1, measure.cost)
        sound = 1.0 if name == "diatomics_tortuosity" else 0.0
        assert metric.value == pytest.approx(sound, abs=2e-3 if name == "diatomics_conservation" else 1e-6)
        # The one that fails is charged W.
        assert metric.charged == pytest.approx((metric.value * (n - 1) + measure.cost) / n, rel=1e-9)
        if measure.largest:
            assert measurement.metrics[f"{name}_largest"].charged == measure.cost


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
    steps = [column(measurement, "C2H5OH: gradient", "step") for measurement in (single, double)]
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


def handed_stress(atoms: Atoms, results: dict[str, Any]) -> None:
    if "stress" in results:
        results["stress"] = results["stress"] * np.sign(np.linalg.det(atoms.cell.array))


def vertical_stress(atoms: Atoms, results: dict[str, Any]) -> None:
    if "stress" in results:
        results["stress"] = results["stress"] * [1.0, 1.0, 1.5, 1.0, 1.0, 1.0]


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
    handed_stress: {"lattice_stress"},
    vertical_stress: {"strain_stress", "rotation_stress"},
    step: {"diatomics_tortuosity", "diatomics_energy_jump", "diatomics_conservation"},
}


@pytest.mark.parametrize("spoil", UNSOUND, ids=lambda spoil: spoil.__name__)
def test_what_is_unsound_is_seen_by_its_own_metric_and_no_other(spoil: Any) -> None:
    assert seen_by(measured(Unsound(spoil))) == UNSOUND[spoil]


def test_random_answers_are_not_hidden_by_a_cache_of_the_last_structure() -> None:
    rng = np.random.default_rng(0)

    class Remembering(Pairs):
        """Answers at random, with the same answer as long as the same question is repeated."""

        last: Any = None
        luck = 0.0

        def calculate(self, atoms: Any = None, *args: Any, **kwargs: Any) -> None:
            super().calculate(atoms, *args, **kwargs)
            if self.last is None or len(atoms) != len(self.last) or not np.array_equal(atoms.positions, self.last):
                self.luck = SIZE * len(atoms) * rng.normal()
            self.last = atoms.positions.copy()
            self.results["energy"] += self.luck

    measurement = measured(Remembering())
    assert measurement.metrics["repeat_energy"].value > 0.2 * SIZE
    assert measurement.metrics["repeat_forces"].value == 0.0
