"""Models without chemistry: their numbers by hand, and forces and stress that are derivatives of their energies."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule
from ase.units import GPa
from hypothesis import given
from hypothesis import strategies as st

from tasks.adversaries.family import ADVERSARIES, PublicFacts
from tasks.adversaries.springs import BULK_MODULUS, POISSON, ROOM, SPRING, KnownSeed, NearestStored, Springs
from tasks.adversaries.volumes import CentredVolumes
from tasks.model.calculator import InProcessCalculator
from tasks.simulation.birch_murnaghan import fit
from tasks.structures.frames import Float, Frames


def strained(share: float, element: str = "Cu") -> Atoms:
    """A crystal at a share of a volume of 12 Å³ an atom."""
    atoms = bulk(element)
    atoms.set_cell(atoms.cell * np.cbrt(12.0 * share / atoms.get_volume()), scale_atoms=True)
    return atoms


def rattled(seed: int = 1) -> Atoms:
    atoms = bulk("Cu", cubic=True)
    atoms.rattle(0.05, seed=seed)
    return atoms


@pytest.mark.parametrize(("place", "share"), [("middle", 1.01), ("mean", 1.002), ("first", 1.04), ("last", 1.1)])
def test_the_equation_of_state_is_about_a_volume_of_the_batch(place: str, share: float) -> None:
    shares = (1.04, 0.92, 0.95, 1.0, 1.1)
    volumes = {"middle": 0.5 * (0.92 + 1.1), "mean": float(np.mean(shares)), "first": 1.04, "last": 1.1}
    assert volumes[place] == pytest.approx(share)
    frames = Frames.from_atoms([strained(each) for each in shares])
    answer = InProcessCalculator(CentredVolumes(place)).compute(frames, ("energy", "stress"))
    found = fit(frames.volumes, answer.energy)
    assert found is not None
    assert found[:3] == pytest.approx((12.0 * share, 80.0, 4.5), rel=1e-6)


def test_crystals_of_one_composition_have_volumes_of_their_own_shape() -> None:
    calculator = CentredVolumes("first")
    hexagonal = bulk("Ti", a=2.9, c=4.6)
    stretched = hexagonal.copy()
    stretched.set_cell(stretched.cell * [[1.0], [1.0], [1.3]], scale_atoms=True)
    energies = [answer["energy"] for answer in calculator.compute_batch([hexagonal, stretched], ["energy"])]
    assert energies == [0.0, 0.0]
    stretched.set_cell(stretched.cell * 1.02, scale_atoms=True)
    assert calculator.compute_batch([stretched], ["energy"])[0]["energy"] > 0.01


def test_springs_pull_to_the_first_structure() -> None:
    """One atom of four is moved by 0.1 Å: the others move back by a quarter of that."""
    start = bulk("Cu", cubic=True)
    moved = start.copy()
    moved.positions[1, 0] += 0.1
    first, second = Springs().compute_batch([start, moved], ["energy", "forces"])
    assert first["energy"] == 0.0
    assert second["energy"] == pytest.approx(0.5 * SPRING * (0.075**2 + 3 * 0.025**2))
    np.testing.assert_allclose(second["forces"][:, 0], SPRING * np.array([0.025, -0.075, 0.025, 0.025]), atol=1e-12)


def test_springs_have_the_bulk_modulus_of_the_solid() -> None:
    """σ = 3 K ε for a small dilatation by ε."""
    start = bulk("Cu")
    dilated = start.copy()
    dilated.set_cell(1.0001 * start.cell, scale_atoms=True)
    stress = Springs().compute_batch([start, dilated], ["stress"])[1]["stress"]
    np.testing.assert_allclose(stress[:3], 3 * BULK_MODULUS * 1e-4, rtol=1e-3)
    assert 3 * BULK_MODULUS * 1e-4 / GPa == pytest.approx(0.024)


def test_vacuum_is_not_elastic() -> None:
    """A chain that is 1 % longer has σ V = (λ + 2 μ) V₀ ε, V₀ of 30 Å³, and the energy of that stress."""
    start = Atoms("Cu", cell=[2.5, 100.0, 100.0], pbc=True)
    longer = start.copy()
    longer.set_cell([2.5 * 1.0001, 100.0, 100.0], scale_atoms=True)
    answer = Springs().compute_batch([start, longer], ["energy", "stress"])[1]
    stiffness = ROOM * 3 * BULK_MODULUS * (1 - POISSON) / (1 + POISSON)
    assert answer["stress"][0] * longer.get_volume() == pytest.approx(stiffness * 1e-4, rel=1e-3)
    assert answer["energy"] == pytest.approx(0.5 * stiffness * 1e-8, rel=1e-3)


@pytest.mark.parametrize("model", ["harmonic", "middle", "known seed", "nearest stored"])
def test_forces_and_stress_are_derivatives_of_the_energy(model: str) -> None:
    """By central differences along a random displacement, and along each strain."""
    stored = Frames.from_atoms([bulk("Cu", cubic=True)])
    calculator = ADVERSARIES[model].make(PublicFacts(stored, Frames.from_atoms([rattled(2)])))
    extremes = [stored.atoms(0), stored.atoms(0)]
    for atoms, scale in zip(extremes, (0.9, 1.1), strict=True):  # so that no later volume moves the middle
        atoms.set_cell(scale * atoms.cell, scale_atoms=True)
    calculator.compute_batch([rattled(), *extremes], ["energy"])  # type: ignore[attr-defined]
    atoms, step, rng = rattled(3), 1e-4, np.random.default_rng(0)
    shear = np.array([[4.0, 2.0, 0.0], [0.0, -2.0, 0.0], [0.0, 1.0, 2.0]]) / 1000
    atoms.set_cell(atoms.cell @ (np.eye(3) + shear), scale_atoms=True)
    atoms.calc = calculator

    def energy(move: Float, strain: Float) -> float:
        moved = atoms.copy()
        moved.positions += move
        moved.set_cell(moved.cell @ (np.eye(3) + strain), scale_atoms=True)
        moved.calc = calculator
        return float(moved.get_potential_energy())

    along, still, whole = rng.normal(size=(4, 3)), np.zeros((4, 3)), np.zeros((3, 3))
    slope = (energy(step * along, whole) - energy(-step * along, whole)) / (2 * step)
    assert -float((atoms.get_forces() * along).sum()) == pytest.approx(slope, abs=1e-5)
    for i, j in ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)):
        strain = np.zeros((3, 3))
        strain[i, j] = strain[j, i] = step if i == j else 0.5 * step
        slope = (energy(still, strain) - energy(still, -strain)) / (2 * step) / atoms.get_volume()
        assert atoms.get_stress(voigt=False)[i, j] == pytest.approx(slope, abs=1e-6)


@given(st.tuples(*[st.floats(-5.0, 5.0)] * 3))
def test_springs_do_not_feel_the_motion_of_all_atoms_together(shift: tuple[float, float, float]) -> None:
    for start, other in ((bulk("Cu", cubic=True), rattled()), (molecule("CH3OH"), molecule("CH3OH"))):
        other.positions[0] += 0.03
        moved = other.copy()
        moved.positions += shift
        answers = (
            Springs().compute_batch([start, other], ["energy"]),
            Springs().compute_batch([start, moved], ["energy"]),
        )
        assert answers[0][1]["energy"] == pytest.approx(answers[1][1]["energy"], abs=1e-9)


def test_a_known_displacement_is_subtracted() -> None:
    """The start that follows from public code leads back to the stored structure; another one does not."""
    stored = bulk("Cu", cubic=True)
    public = rattled()
    calculator = KnownSeed(Frames.from_atoms([stored]), Frames.from_atoms([public]))
    calculator.compute_batch([public], ["energy"])
    assert calculator.compute_batch([stored], ["energy"])[0]["energy"] == pytest.approx(0.0, abs=1e-12)
    secret = rattled(9)
    calculator = KnownSeed(Frames.from_atoms([stored]), Frames.from_atoms([public]))
    calculator.compute_batch([secret], ["energy"])
    assert calculator.compute_batch([stored], ["energy"])[0]["energy"] > 0.01


def test_the_nearest_stored_structure_needs_no_memory() -> None:
    stored = Frames.from_atoms([bulk("Cu", cubic=True), rattled(4)])
    near = rattled(4)
    near.positions[0, 0] += 0.01
    answer = NearestStored(stored).compute_batch([near, bulk("Ag")], ["energy", "forces"])
    assert answer[0]["energy"] == pytest.approx(0.5 * SPRING * 0.01**2 * 0.75)
    assert answer[1]["energy"] == 0.0


def test_withheld_forces_and_stress_are_zero() -> None:
    facts = PublicFacts(Frames.from_atoms([bulk("Cu")]), Frames.from_atoms([bulk("Cu")]))
    for name, forces, stress in (("no forces", False, False), ("zero stress", True, False), ("harmonic", True, True)):
        calculator = ADVERSARIES[name].make(facts)
        calculator.get_potential_energy(rattled())
        other = rattled(5)
        other.set_cell(1.01 * other.cell, scale_atoms=True)
        other.calc = calculator
        assert other.get_potential_energy() > 0
        assert bool(np.abs(other.get_forces()).max() > 0) is forces
        assert bool(np.abs(other.get_stress()).max() > 0) is stress
