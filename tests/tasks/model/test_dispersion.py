"""D3 added to a model: against dftd3's own ASE calculator, explicit sums of clusters, and derivatives of its energy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, fcc111, molecule
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones
from dftd3.ase import DFTD3

from tasks.datasets.card import D3
from tasks.model.calculator import InProcessCalculator
from tasks.model.dispersion import DispersionCorrected, d3, d3_in_words, d3_parameters
from tasks.structures.frames import Frames
from tasks.structures.predictions import ALL_PROPERTIES, Cause


class Nothing(Calculator):
    """No energy, no force, no stress; and no answer to a structure with hydrogen."""

    implemented_properties = ["energy", "forces", "stress"]  # noqa: RUF012

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        if atoms.get_chemical_symbols()[0] == "H":
            raise NotImplementedError("hydrogen")
        self.results = {"energy": 0.0, "forces": np.zeros((len(atoms), 3)), "stress": np.zeros(6)}


def crystal() -> Atoms:
    """Copper, rattled, in a cell that is sheared and far from its origin."""
    atoms = bulk("Cu", cubic=True).repeat((2, 1, 1))
    atoms.set_cell(atoms.cell.array @ (np.eye(3) + np.array([[0.02, 0.05, 0], [0, -0.03, 0.04], [0.01, 0, 0]])), True)
    atoms.rattle(0.1, seed=1)
    atoms.positions += [30.0, -7.0, 2.0]
    return atoms


def own(damping: str, method: str = "pbe") -> DFTD3:
    """The library's calculator for two-body D3."""
    return DFTD3(damping=f"d3{damping}", params_tweaks={"method": method, "atm": False})


def dispersion_energy(atoms: Atoms, damping: Any = "bj") -> float:
    parameters = d3_parameters("pbe", damping)
    return d3(atoms.numbers, atoms.positions, atoms.cell.array, atoms.pbc, parameters, gradient=False).energy


@pytest.mark.parametrize("damping", ["bj", "zero"])
def test_of_crystals_and_molecules_it_is_the_librarys_own(damping: Any) -> None:
    structures = [crystal(), molecule("C6H6"), bulk("NaCl", "rocksalt", 5.6), molecule("CH3CH2OH", vacuum=4.0)]
    model = DispersionCorrected(InProcessCalculator(Nothing()), "pbe", damping)
    frames = Frames.from_atoms(structures)
    answer = model.compute(frames, ALL_PROPERTIES)
    assert answer.ok.all()
    assert answer.forces is not None
    assert answer.stress is not None
    for i, atoms in enumerate(structures):
        atoms.calc = own(damping)
        assert answer.energy[i] == pytest.approx(atoms.get_potential_energy(), abs=1e-10)
        assert abs(answer.energy[i]) > 0.01
        np.testing.assert_allclose(answer.forces[frames.atom_slice(i)], atoms.get_forces(), rtol=0, atol=1e-10)
        if atoms.pbc.all():
            np.testing.assert_allclose(answer.stress[i], atoms.get_stress(), rtol=0, atol=1e-10)
        else:
            assert np.isnan(answer.stress[i]).all()


@pytest.mark.parametrize(("functional", "energy"), [("TPSS", -0.011441640787279111), ("PBE", -0.009781920198843976)])
def test_water_has_the_energy_of_the_librarys_manual(functional: str, energy: float) -> None:
    """https://dftd3.readthedocs.io, Python API: D3(BJ) of ASE's water molecule [eV]."""
    model = DispersionCorrected(InProcessCalculator(Nothing()), functional)
    answer = model.compute(Frames.from_atoms([molecule("H2O")]), ("energy",))
    assert answer.energy[0] == pytest.approx(energy, abs=1e-8)


@pytest.mark.parametrize("damping", ["bj", "zero"])
def test_it_is_added_to_what_the_model_says(damping: Any) -> None:
    structures = [crystal(), bulk("Al")]
    frames = Frames.from_atoms(structures)
    bare = InProcessCalculator(EMT()).compute(frames, ALL_PROPERTIES)
    none = DispersionCorrected(InProcessCalculator(Nothing()), "pbe", damping).compute(frames, ALL_PROPERTIES)
    both = DispersionCorrected(InProcessCalculator(EMT()), "pbe", damping).compute(frames, ALL_PROPERTIES)
    for name in ALL_PROPERTIES:
        np.testing.assert_allclose(
            getattr(both, name), getattr(bare, name) + getattr(none, name), rtol=1e-13, atol=1e-13
        )


def strain_derivatives(atoms: Atoms, step: float) -> list[float]:
    """dE/dε [eV] by central differences, in Voigt order xx, yy, zz, yz, xz, xy; half of ε on either side."""
    derivatives = []
    for i, j in [(0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)]:
        energies = []
        for sign in (1, -1):
            strain = np.eye(3)
            strain[i, j] += sign * step / 2
            strain[j, i] += sign * step / 2
            strained = atoms.copy()
            strained.set_cell(atoms.cell.array @ strain, scale_atoms=True)
            energies.append(dispersion_energy(strained))
        derivatives.append((energies[0] - energies[1]) / (2 * step))
    return derivatives


def test_forces_and_stress_are_the_derivatives_of_the_energy() -> None:
    """Two benzenes in a box so wide that no pair is near the cut-off, where the energy has steps."""
    other = molecule("C6H6")
    other.rotate(50, (1, 2, 3))
    other.positions += [2.0, 1.0, 4.0]
    pair = molecule("C6H6") + other
    pair.rotate(20, (1, 0, 1))
    pair.set_cell([[55.0, 0, 0], [4.0, 52.0, 0], [3.0, -5.0, 60.0]])
    pair.pbc = True
    dispersion = d3(pair.numbers, pair.positions, pair.cell.array, pair.pbc, d3_parameters("pbe", "bj"))
    assert dispersion.forces is not None
    assert dispersion.stress is not None
    virial = dispersion.stress * pair.get_volume()
    expected = strain_derivatives(pair, 2e-4)
    np.testing.assert_allclose(virial, expected, rtol=0, atol=2e-7)
    assert np.diff(np.sort(expected)).min() > 1e-3  # no two components could be taken for each other
    for atom, axis in [(0, 0), (3, 1), (17, 2)]:
        energies = []
        for step in (1e-3, -1e-3):
            moved = pair.copy()
            moved.positions[atom, axis] += step
            energies.append(dispersion_energy(moved))
        assert dispersion.forces[atom, axis] == pytest.approx((energies[1] - energies[0]) / 2e-3, abs=1e-7)


def test_the_stress_of_a_crystal_is_in_tension_where_it_holds_together() -> None:
    """To a part in a thousand: pairs enter and leave the cut-off as the cell is strained."""
    atoms = crystal()
    dispersion = d3(atoms.numbers, atoms.positions, atoms.cell.array, atoms.pbc, d3_parameters("pbe", "bj")).stress
    assert dispersion is not None
    expected = np.array(strain_derivatives(atoms, 1e-2)) / atoms.get_volume()
    np.testing.assert_allclose(dispersion, expected, rtol=0, atol=2e-4)
    assert (dispersion[:3] > 0.04).all()


def test_a_chain_has_the_energy_of_one_more_link() -> None:
    """Periodic in one direction: the energy that one more molecule in its middle adds to a cluster."""
    water, period = molecule("H2O"), 3.0

    def cluster(n: int) -> float:
        shifts = np.arange(n)[:, None, None] * [[period, 0, 0]]
        return dispersion_energy(Atoms(np.tile(water.numbers, n), np.concatenate(water.positions + shifts)))

    chain = water.copy()
    chain.set_cell([period, 0, 0])
    chain.pbc = [True, False, False]
    expected = cluster(61) - cluster(60)
    assert dispersion_energy(chain) == pytest.approx(expected, abs=1e-10)
    chain.set_cell([period, 4.0, 5.0])  # a box in directions that are not periodic
    chain.positions += [100.0, 20.0, -30.0]
    assert dispersion_energy(chain) == pytest.approx(expected, abs=1e-10)


def test_a_slab_does_not_see_its_images_through_the_vacuum() -> None:
    slab = fcc111("Cu", (1, 1, 3))
    assert list(slab.pbc) == [True, True, False]
    alone = dispersion_energy(slab)
    far = slab.copy()
    far.set_cell([*slab.cell[:2], [0, 0, 80.0]])
    far.pbc = True
    assert alone == pytest.approx(dispersion_energy(far), abs=1e-12)
    near = far.copy()
    near.set_cell([*slab.cell[:2], [0, 0, 12.0]])
    assert dispersion_energy(near) < alone - 1e-3


def test_what_the_model_cannot_do_stays_its_failure() -> None:
    frames = Frames.from_atoms([molecule("H2"), bulk("Cu"), molecule("H2O")])
    answer = DispersionCorrected(InProcessCalculator(Nothing()), "pbe").compute(frames, ALL_PROPERTIES)
    assert list(answer.failure) == [Cause.UNSUPPORTED, 0, 0]
    assert np.isnan(answer.energy[0])
    assert answer.energy[1] < 0
    assert answer.errors[0].text


def test_collapsed_structures_fail_and_the_judge_lives() -> None:
    """A cell of 0.05 Å has 2 × 10⁹ images in the cut-off: counted before the library tries to."""
    together = Atoms("C2", positions=np.zeros((2, 3)))
    tiny = Atoms("C", cell=[0.05] * 3, pbc=True)
    flat = Atoms("C", cell=[[3.0, 0, 0], [3.0, 1e-9, 0], [0, 0, 3.0]], pbc=True)
    frames = Frames.from_atoms([together, tiny, flat, bulk("Cu")])
    answer = DispersionCorrected(InProcessCalculator(Nothing()), "pbe").compute(frames, ALL_PROPERTIES)
    assert list(answer.failure) == [Cause.ERROR, Cause.ERROR, Cause.ERROR, 0]


def test_only_what_is_asked_for_is_answered() -> None:
    frames = Frames.from_atoms([crystal()])
    answer = DispersionCorrected(InProcessCalculator(EMT()), "pbe").compute(frames, ("energy",))
    assert answer.forces is None
    assert answer.stress is None
    model = DispersionCorrected(InProcessCalculator(LennardJones(), max_atoms_per_batch=7), "pbe")
    assert model.max_atoms_per_batch == 7
    assert model.properties == InProcessCalculator(LennardJones()).properties


def test_twice_asked_the_same_bytes() -> None:
    frames = Frames.from_atoms([crystal().repeat(2), molecule("C60")])
    answers = [DispersionCorrected(InProcessCalculator(Nothing()), "pbe").compute(frames, ALL_PROPERTIES) for _ in "ab"]
    for name in ALL_PROPERTIES:
        assert getattr(answers[0], name).tobytes() == getattr(answers[1], name).tobytes()


@pytest.mark.parametrize(("functional", "damping"), [("no-such", "bj"), ("r2scan", "zero")])
def test_unknown_parameters_are_one_line(functional: str, damping: Any) -> None:
    with pytest.raises(ValueError, match=f"no parameters for functional '{functional}'") as raised:
        DispersionCorrected(InProcessCalculator(EMT()), functional, damping)
    assert "\n" not in str(raised.value)


def test_an_element_without_parameters_is_nobodys_failed_frame() -> None:
    """The library answers 0 for rutherfordium and ends the process for oganesson: neither is ever sent to it."""
    model = DispersionCorrected(InProcessCalculator(Nothing()), "pbe")
    assert model.compute(Frames.from_atoms([Atoms("Lr2", positions=[[0, 0, 0], [0, 0, 4.0]])]), ("energy",)).ok.all()
    for symbol in ("Rf", "Og"):
        with pytest.raises(ValueError, match=f"no parameters for {symbol}"):
            model.compute(Frames.from_atoms([Atoms([symbol])]), ("energy",))


def test_in_words() -> None:
    stated = D3(functional="pbe")
    assert d3_in_words(stated.functional, stated.damping).startswith("DFT-D3(pbe, bj), two-body, of dftd3 ")
