"""Impossible numbers are named with field, frame, value, bound and the likely mistake; possible ones are left alone."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, fcc111, molecule
from ase.calculators.emt import EMT
from ase.units import GPa, Hartree
from hypothesis import given
from hypothesis import strategies as st

from tasks.datasets.card import DatasetError
from tasks.importing.import_checks import (
    check_multiplicity,
    doubtful_labels,
    energy_spread,
    impossible_labels,
    impossible_structures,
    too_few_for_energy,
)
from tasks.importing.importers import read_structures
from tasks.importing.reading.nearest_atoms import nearest_atoms
from tasks.structures.frames import Frames
from tasks.structures.predictions import Labels

IDS = tuple(f"frame {i}" for i in range(100))
PATH = Path("mine.extxyz")


def crystals() -> tuple[Frames, Labels]:
    """Twenty cells of Cu and Pt, of two compositions, with the labels of EMT."""
    made = []
    for i in range(20):
        atoms = bulk("Cu", cubic=True)
        if i % 2:
            atoms.numbers[0] = 78
        atoms.rattle(0.1, seed=i)
        atoms.calc = EMT()
        made.append(atoms)
    labels = Labels(
        np.array([a.get_potential_energy() for a in made]),
        np.concatenate([a.get_forces() for a in made]),
        np.array([a.get_stress() for a in made]),
    )
    return Frames.from_atoms(made), labels


def state(atoms: Atoms, charge: int = 0, multiplicity: int = 0) -> Atoms:
    atoms.info |= {"charge": charge, "spin": multiplicity}
    return atoms


def test_a_molecule_states_its_multiplicity() -> None:
    crystal, slab, water = bulk("Cu"), fcc111("Cu", (1, 1, 2), vacuum=5), state(molecule("H2O"), 0, 1)
    check_multiplicity(Frames.from_atoms([crystal, slab, water]), IDS, PATH)
    frames = Frames.from_atoms([water, crystal, molecule("OH"), molecule("CO")])
    with pytest.raises(DatasetError) as refused:
        check_multiplicity(frames, IDS, PATH)
    assert str(refused.value) == (
        "mine.extxyz: frame 2: multiplicity: 2S+1 of this molecule (and of 1 more) is not stated; "
        "write multiplicity= in its comment line, or give --multiplicity 1 for all molecules that state none"
    )


@pytest.mark.parametrize(("name", "charge", "multiplicity"), [("H2O", 0, 1), ("O2", 0, 3), ("OH", 0, 2), ("OH", -1, 1)])
def test_a_multiplicity_fits_the_number_of_electrons(name: str, charge: int, multiplicity: int) -> None:
    check_multiplicity(Frames.from_atoms([state(molecule(name), charge, multiplicity)]), IDS, PATH)
    wrong = Frames.from_atoms([state(molecule(name), charge, multiplicity + 1)])
    with pytest.raises(
        DatasetError, match=rf"frame 0: multiplicity: 2S\+1 = {multiplicity + 1} is impossible with \d+ el"
    ):
        check_multiplicity(wrong, IDS, PATH)


def test_ten_frames_with_energy_for_each_fitted_constant() -> None:
    frames, labels = crystals()
    assert labels.energy is not None
    assert too_few_for_energy(frames, labels.energy) is None
    energy = labels.energy.copy()
    energy[3] = np.nan
    complaint = "energy: 19 frames with energy for 2 independent compositions are fewer than 10 each"
    assert too_few_for_energy(frames, energy) == complaint
    energy[1::2] = np.nan  # those with platinum: one element is left, and ten frames
    assert too_few_for_energy(frames, energy) is None
    assert too_few_for_energy(frames, np.full(len(frames), np.nan)) is None


@pytest.mark.parametrize(("sizes", "n_constants"), [((1,), 1), ((1, 2, 4), 1), ((1, 1, 0), 2)])
def test_one_composition_needs_one_constant_however_many_elements_it_has(
    sizes: tuple[int, ...], n_constants: int
) -> None:
    """Water clusters of any size are multiples of one composition; 0 stands for a hydroxide."""
    made = []
    for n in sizes:
        whole = Atoms()
        for _ in range(n):
            whole += molecule("H2O")
        made.append(whole if n else molecule("OH"))
    enough = 10 * n_constants
    frames = Frames.from_atoms([made[i % len(made)] for i in range(enough)])
    energy = np.arange(enough, dtype=np.float64)
    assert too_few_for_energy(frames, energy) is None
    energy[0] = np.nan
    several = "s" if n_constants > 1 else ""
    complaint = f"{enough - 1} frames with energy for {n_constants} independent composition{several} are fewer than 10"
    assert complaint in str(too_few_for_energy(frames, energy))


def test_labels_of_emt_are_possible_and_their_forces_add_up() -> None:
    frames, labels = crystals()
    assert impossible_structures(frames, IDS, nearest_atoms(frames).distance) == []
    assert impossible_labels(frames, IDS, labels) == []
    assert doubtful_labels(frames, IDS, labels) == []


def test_total_energies_of_all_electron_codes_are_possible_and_one_of_another_code_is_not() -> None:
    """Constants of tens of thousands of eV are no spread: the fit takes them."""
    frames, labels = crystals()
    assert labels.energy is not None
    platinum = np.add.reduceat(frames.numbers == 78, frames.offsets[:-1])
    energy = labels.energy - 45_000.0 * (frames.n_atoms - platinum) - 500_000.0 * platinum
    np.testing.assert_allclose(energy_spread(frames, energy), energy_spread(frames, labels.energy), atol=1e-8)
    assert impossible_labels(frames, IDS, Labels(energy=energy)) == []
    energy[4] = labels.energy[4]
    (line,) = impossible_labels(frames, IDS, Labels(energy=energy))
    assert line.startswith("energy: frame 4: off by ")
    assert "more than 27 eV/atom after the fit of a constant per element: kcal/mol, kJ/mol or meV taken for eV" in line


def spoilt(name: str, row: int, value: Any) -> Labels:
    _, labels = crystals()
    array = getattr(labels, name).copy()
    array[row] = value
    return replace(labels, **{name: array})


@pytest.mark.parametrize(
    ("labels", "line"),
    [
        (
            spoilt("forces", 4 * 7 + 2, [0.0, -1200.0, 500.0]),
            "forces: frame 7: a force of 1300 eV/Å is more than 1000 eV/Å: "
            "meV/Å or kcal/mol/Å taken for eV/Å, or two atoms in one place?",
        ),
        (
            spoilt("stress", 5, [0, 0, 0, 0, -12.5, 0]),
            "stress: frame 5: a component of 12.5 eV/Å³ is more than 10 eV/Å³ (1602 GPa): "
            "GPa, kbar or a virial in eV taken for eV/Å³?",
        ),
        (
            spoilt("stress", slice(5, 8), 11.0),
            "stress: frame 5: a component of 11 eV/Å³ (3 frames in all) is more than 10 eV/Å³ (1602 GPa): "
            "GPa, kbar or a virial in eV taken for eV/Å³?",
        ),
    ],
)
def test_an_impossible_label_is_named(labels: Labels, line: str) -> None:
    frames, _ = crystals()
    assert impossible_labels(frames, IDS, labels) == [line]


@pytest.mark.parametrize(
    ("scale", "messages"),
    [
        (
            0.1,
            [
                "positions: frame 0: a shortest distance of 0.2553 Å is less than 0.5 Å: "
                "fractional coordinates, or nm taken for Å?",
                "cell: frame 0: a volume per atom of 0.01176 Å³ is less than 0.8 Å³: "
                "nm taken for Å, or a cell of other structures?",
            ],
        ),
        (0.529177, []),  # lengths in bohr are possible ones: an import cannot see it
        (
            100.0,
            [
                "cell: frame 0: a volume per atom of 1.176e+07 Å³ is more than 100000 Å³: "
                "pm taken for Å, or a cell of other structures?"
            ],
        ),
    ],
)
def test_an_impossible_structure_is_named(scale: float, messages: list[str]) -> None:
    frames = Frames.from_atoms([bulk("Cu", a=3.61 * scale)])
    assert impossible_structures(frames, IDS, nearest_atoms(frames).distance) == messages


def test_shortest_distances_see_images_and_lone_atoms() -> None:
    lone = Atoms("He")
    frames = Frames.from_atoms([bulk("Cu", a=3.61), molecule("H2"), lone])
    np.testing.assert_allclose(nearest_atoms(frames).distance, [3.61 / 2**0.5, 0.737166, np.inf], atol=1e-5)
    begin = time.monotonic()
    tiny = Frames.from_atoms([bulk("Cu", a=3.61e-3, cubic=True)])
    np.testing.assert_allclose(nearest_atoms(tiny).distance, 3.61e-3 / 2**0.5)
    assert time.monotonic() - begin < 1


def test_forces_that_do_not_add_up_are_doubtful() -> None:
    frames, labels = crystals()
    assert labels.forces is not None
    fixed = labels.forces.copy()
    fixed[4 * 3] = 0.0  # as for a fixed atom
    (line,) = doubtful_labels(frames, IDS, Labels(forces=fixed))
    assert line.startswith("forces: frame 3: a net force of ")
    assert "more than 5% of the sum of their sizes: forces of other atoms, those of fixed atoms set to zero" in line
    fixed[4 * 3 : 4 * 4] = np.nan  # a frame without forces
    assert doubtful_labels(frames, IDS, Labels(forces=fixed)) == []


def test_energies_and_stresses_beyond_those_of_most_matter_are_doubtful() -> None:
    frames, labels = crystals()
    assert labels.energy is not None
    assert labels.stress is not None
    stress, energy = labels.stress.copy(), labels.energy.copy()
    stress[7, 2] = -922 * GPa
    (line,) = doubtful_labels(frames, IDS, Labels(stress=stress))
    assert line.startswith(
        "stress: frame 7: a component of 922 GPa is more than 160 GPa: kbar taken for GPa, a virial,"
    )
    energy[3] = 4 * 1000.0
    (line,) = doubtful_labels(frames, IDS, Labels(energy=energy))
    assert line.startswith("energy: frame 3: an energy of 1000 eV/atom is more than 27 eV/atom above zero")
    (line,) = doubtful_labels(frames, IDS, Labels(energy=energy - 4 * 2000.0))
    assert line.startswith("energy: frame ")
    assert "(20 frames in all) is lower than -500 eV/atom: kJ/mol or meV taken for eV" in line
    stress[7, 2] = 20.0  # impossible, which is said already
    assert doubtful_labels(frames, IDS, Labels(stress=stress)) == []


def test_energies_of_all_electrons_are_those_of_molecules() -> None:
    """Hartree-Fock energies of atoms [hartree], rounded: C. F. Bunge et al., Phys. Rev. A 46, no. 7 (October 1992)."""
    hartree_fock = {"He": -2.862, "Ne": -128.5, "Ar": -526.8, "Kr": -2752.0, "Xe": -7232.0}
    frames = Frames.from_atoms([Atoms(symbol) for symbol in hartree_fock])
    energy = np.array(list(hartree_fock.values())) * Hartree
    assert doubtful_labels(frames, IDS, Labels(energy=energy)) == []
    (line,) = doubtful_labels(frames, IDS, Labels(energy=energy * 27.2114))
    assert "(5 frames in all) is lower than that of free atoms with all their electrons" in line


PER_ATOM = "energies per atom taken for totals: say energy=eV/atom in --units"


def chains(sizes: list[int], shares: list[float], noise: float, seed: int) -> tuple[Frames, np.ndarray]:
    """Chains of Cu (-4 eV) and Au (-3 eV), and their total energies, which differ by `noise` [eV/atom]."""
    rng = np.random.default_rng(seed)
    made = []
    for n, share in zip(sizes, shares, strict=True):
        numbers = np.where(np.arange(n) < round(share * n), 29, 79)
        made.append(Atoms(numbers, np.arange(3 * n).reshape(n, 3), cell=[40.0] * 3, pbc=True))
    energies = [sum({29: -4.0, 79: -3.0}[z] for z in a.numbers) + noise * len(a) * rng.normal() for a in made]
    return Frames.from_atoms(made), np.array(energies)


def per_atom_lines(frames: Frames, energy: np.ndarray) -> list[str]:
    ids = tuple(f"frame {i}" for i in range(len(frames)))
    return [line for line in doubtful_labels(frames, ids, Labels(energy)) if PER_ATOM in line]


def test_energies_per_atom_are_told_from_totals() -> None:
    """-4 eV/atom for 2, 4 and 8 atoms of copper: a sum fits them by -4 (2 + 4 + 8)/(4 + 16 + 64) = -2/3 eV an atom."""
    frames, totals = chains([2, 4, 8] * 10, [1.0] * 30, 0.0, 0)
    (line,) = per_atom_lines(frames, totals / frames.n_atoms)
    spread = float(np.std(np.array([2, 4, 8]) * 2 / 3))
    assert f"as sums within {spread:.3g} eV" in line
    assert not per_atom_lines(frames, totals)
    alloys, energies = chains([4, 8, 20, 32] * 10, [0.25, 0.5, 0.75, 0.5, 1.0] * 8, 0.1, 1)
    assert per_atom_lines(alloys, energies / alloys.n_atoms)
    energies[::3] = np.nan
    assert per_atom_lines(alloys, energies / alloys.n_atoms)
    assert not per_atom_lines(alloys, energies)


@given(
    sizes=st.lists(st.integers(1, 40), min_size=12, max_size=24),
    noise=st.floats(0.0, 0.5),
    seed=st.integers(0, 1000),
)
def test_totals_and_sets_of_one_size_are_no_doubt(sizes: list[int], noise: float, seed: int) -> None:
    shares = np.random.default_rng(seed).uniform(size=len(sizes)).tolist()
    frames, totals = chains(sizes, shares, noise, seed)
    assert not per_atom_lines(frames, totals)
    one_size, totals = chains([sizes[0]] * len(sizes), shares, noise, seed)
    assert not per_atom_lines(one_size, totals)
    assert not per_atom_lines(one_size, totals / one_size.n_atoms)


@pytest.mark.data
@pytest.mark.parametrize("name", ["Cu", "Si"])
def test_energies_per_atom_of_supercells_and_defects(name: str, reference_data: Path) -> None:
    read = read_structures(next((reference_data / "mlearn").rglob(f"{name}_test.extxyz")))
    assert read.labels.energy is not None
    assert not per_atom_lines(read.frames, read.labels.energy)
    assert per_atom_lines(read.frames, read.labels.energy / read.frames.n_atoms)
