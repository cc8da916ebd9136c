"""Further laws by hand: a curl, oscillators, forces and torques, models that see too far, single precision."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes

from tasks.kind import Watch
from tasks.model.calculator import InProcessCalculator
from tasks.physicality.kind import PhysicalityParameters
from tasks.physicality.laws import (
    FurtherLaws,
    antisymmetry,
    energy_runs,
    exponents,
    fluctuations,
    is_single_precision,
    law_frames,
)
from tasks.structures.frames import Frames
from tests.tasks.physicality.pair_potential import FURTHER, KIND, MIXED, WITH_LAWS, Pairs, column, measured, part
from tests.tasks.physicality.test_physicality_questions import Listening

WATER = part("H2O", "Al")


class Curl(Calculator):
    """Forces in a plane that no energy has: −k r, and a across it."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012
    k, a = 3.0, 0.4

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        x, y, z = atoms.positions.T
        forces = np.array([-self.k * x - self.a * y, self.a * x - self.k * y, 0.0 * z]).T
        self.results = {"energy": 0.5 * self.k * float((x**2 + y**2).sum()), "forces": forces}


def test_the_jacobian_of_a_curl() -> None:
    measurement = measured(Curl(), WATER, WITH_LAWS)
    right = Curl.a / np.hypot(Curl.k, Curl.a)
    assert column(measurement, "H2O: jacobian", "antisymmetry") == pytest.approx(right, rel=1e-9)
    assert measurement.metrics["jacobian_antisymmetry"].value == pytest.approx(right, rel=1e-9)
    assert antisymmetry(np.array([[0.0, 2.0], [-2.0, 0.0]])) == 1.0
    assert np.isnan(antisymmetry(np.zeros((3, 3))))


def test_the_energy_of_an_oscillator_fluctuates_as_the_square_of_the_time_step() -> None:
    """σ(E) / E = (ω Δt)² / (8 √2) of velocity Verlet."""

    class Spring(Curl):
        a = 0.0

    laws = FurtherLaws(time_steps_fs=(0.8, 0.4, 0.2), duration_fs=400.0)
    atoms = Atoms("H", [(0.1, 0.0, 0.0)])
    frames = Frames.from_atoms([atoms])
    runs = energy_runs(frames, np.zeros((1, 3)), laws, InProcessCalculator(Spring()))
    found = fluctuations(runs.energy, laws.n_steps)
    omega = np.sqrt(Spring.k / atoms.get_masses()[0] * 9648.53321e-6) * 1.0  # rad/fs: 1 eV/Å²/u = 0.00964853 / fs²
    energy = 0.5 * Spring.k * 0.01
    right = energy * (omega * np.array(laws.time_steps_fs)) ** 2 / (8.0 * np.sqrt(2.0))
    assert found[:, 0] == pytest.approx(right, rel=0.02)
    assert exponents(found, laws.time_steps_fs) == pytest.approx([2.0], abs=0.02)


def test_energy_over_the_time_step_of_a_sound_and_an_unsound_model() -> None:
    class Unsound(Pairs):
        """Its forces are not those of its energy, so a smaller time step does not help."""

        def calculate(self, *args: Any, **kwargs: Any) -> None:
            super().calculate(*args, **kwargs)
            self.results["forces"] = 1.3 * self.results["forces"]

    dataset = part("Al")
    sound = measured(Pairs(), dataset, WITH_LAWS).metrics["time_step_exponent"].value
    unsound = measured(Unsound(), dataset, WITH_LAWS).metrics["time_step_exponent"].value
    assert sound is not None
    assert unsound is not None
    assert sound < 0.1 < 1.0 < unsound


def test_total_force_and_torque_by_hand() -> None:
    class Pushed(Pairs):
        """Each atom is pushed along x, and about the axis z through the centroid."""

        def calculate(self, *args: Any, **kwargs: Any) -> None:
            super().calculate(*args, **kwargs)
            arms = self.atoms.positions - self.atoms.positions.mean(axis=0)
            self.results["forces"] += np.array([0.1, 0.0, 0.0]) + np.cross([0.0, 0.0, 0.2], arms)

    measurement = measured(Pushed(), WATER, WITH_LAWS)
    arms = WATER.frames.atoms(0).positions
    arms = arms - arms.mean(axis=0)
    torque = np.cross(arms, np.cross([0.0, 0.0, 0.2], arms)).sum(axis=0)
    assert column(measurement, "H2O: net_force", "force_error") == pytest.approx(0.3)
    assert column(measurement, "Al: net_force", "force_error") == pytest.approx(0.4)
    assert column(measurement, "H2O: torque", "torque_error") == pytest.approx(np.linalg.norm(torque))
    assert "Al: torque" not in measurement.items.id
    sound = measured(Pairs(), WATER, WITH_LAWS).metrics
    assert (sound["net_force"].value, sound["torque"].value) == (pytest.approx(0, abs=1e-9), pytest.approx(0, abs=1e-9))


def test_a_model_that_sees_all_atoms_is_found() -> None:
    class Nosy(Pairs):
        """Forces grow with the number of atoms, and the energy with its square."""

        def calculate(self, *args: Any, **kwargs: Any) -> None:
            super().calculate(*args, **kwargs)
            n = len(self.atoms)
            self.results["forces"] *= 1.0 + 1e-3 * n
            self.results["energy"] += 1e-4 * n**2

    nosy, sound = measured(Nosy(), WATER, WITH_LAWS), measured(Pairs(), WATER, WITH_LAWS)
    acetone = law_frames(WATER.frames, FURTHER, 0).distant.atoms(0)
    acetone.calc = Pairs()
    largest = np.linalg.norm(acetone.get_forces(), axis=1).max()
    assert nosy.metrics["ghosts_forces"].value == pytest.approx(1e-3 * FURTHER.n_ghosts * largest)
    assert nosy.metrics["distant_atom_forces"].value == pytest.approx(1e-3 * largest)
    assert nosy.metrics["slabs_energy"].value == pytest.approx(1e-4 * 2 * 12**2 / 24)
    for name in ("ghosts_forces", "distant_atom_forces", "slabs_energy"):
        assert sound.metrics[name].value == pytest.approx(0.0, abs=1e-12), name


def test_atoms_far_away_are_far_from_all_images() -> None:
    frames = law_frames(MIXED.frames, FurtherLaws(), 0).distant
    for k, (low, high) in {1: (40.0, 60.0), 2: (17.0, 55.0)}.items():
        atoms = frames.atoms(k)
        distances = np.array([atoms.get_distances(i, range(10, len(atoms)), mic=True) for i in range(10)])
        assert low < distances.min()
        assert distances.max() < high
    ghosts = frames.atoms(1)[10:]
    assert ghosts.get_all_distances(mic=True)[np.triu_indices(len(ghosts), 1)].min() > 6.0


def test_single_precision_is_found_in_forces_and_energies() -> None:
    class Single(Pairs):
        """Forces as a model in single precision gives them."""

        def calculate(self, *args: Any, **kwargs: Any) -> None:
            super().calculate(*args, **kwargs)
            self.results["forces"] = self.results["forces"].astype(np.float32).astype(np.float64)

    class PerAtom(Pairs):
        """An energy for each atom in single precision; forces in other units, converted in double precision."""

        def calculate(self, *args: Any, **kwargs: Any) -> None:
            super().calculate(*args, **kwargs)
            n = len(self.atoms)
            self.results["energy"] = float(np.float32(self.results["energy"] / n)) * n

    for model, share in ((Pairs(), 0.0), (Single(), 1.0), (PerAtom(), 1.0)):
        assert measured(model, WATER, WITH_LAWS).metrics["single_precision"].value == share, model
    assert not is_single_precision(np.zeros(3))
    assert is_single_precision(np.array([0.0, 0.5]))
    assert not is_single_precision(np.array([0.1, 0.5]))
    assert not is_single_precision(np.array([np.inf, 1e300]))


def test_the_work_with_further_laws_is_told_beforehand() -> None:
    model = Listening(Pairs())
    KIND.observe(MIXED.structures, WITH_LAWS, model, Watch(time.monotonic))
    work = KIND.work(MIXED.structures, WITH_LAWS)
    frames = [frames for frames, _ in model.calls]
    assert (work.frames, work.atoms) == (sum(map(len, frames)), sum(len(each.numbers) for each in frames))


def test_without_further_laws_parameters_are_what_they_were() -> None:
    assert "laws" not in PhysicalityParameters().model_dump()
    assert "net_force" not in measured(Pairs(), WATER).metrics


def test_no_structure_is_small_enough() -> None:
    few = WITH_LAWS.model_copy(update={"laws": FURTHER.model_copy(update={"largest": 1})})
    metrics = measured(Pairs(), WATER, few).metrics
    assert "jacobian_antisymmetry" not in metrics
    assert "time_step_exponent" not in metrics
    assert "net_force" in metrics


def test_a_model_that_fails_at_everything_is_not_asked_for_dynamics() -> None:
    class Broken(Pairs):
        def calculate(self, *args: Any, **kwargs: Any) -> None:
            raise RuntimeError("no")

    model = Listening(Broken())
    watch = Watch(time.monotonic, failed_share=0.5)
    observation = KIND.observe(WATER.structures, WITH_LAWS, model, watch)
    metrics = KIND.measure(observation, WATER, WITH_LAWS, None).metrics
    assert len(model.calls) == 1
    assert metrics["time_step_exponent"].charged == 2.0
    assert metrics["single_precision"].charged == 1.0
