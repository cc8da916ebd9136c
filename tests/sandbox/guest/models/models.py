"""Calculators of authors, each with one habit that the guest must get along with."""

import sys

import numpy as np
from ase.calculators.calculator import Calculator, all_changes
from ase.neighborlist import neighbor_list


class OfState(Calculator):
    """The energy tells charge and spin: 100 × charge + spin, and the number of atoms in the first decimal."""

    implemented_properties = ("energy", "forces")

    def calculate(self, atoms=None, properties=None, system_changes=all_changes):
        if self.results and not system_changes:
            return
        charge, spin = self.state(atoms.info)
        self.results = {"energy": 100.0 * charge + spin + 0.1 * len(atoms), "forces": np.zeros((len(atoms), 3))}

    def state(self, info):
        if type(info["charge"]) is not int or type(info["spin"]) is not int:
            raise TypeError("charge and spin must be Python's integers")
        return info["charge"], info["spin"]


class WithoutState(OfState):
    """Does not look at `info`."""

    def state(self, info):
        return 0, 0


class AgainstState(OfState):
    """Knows no charge and no spin, and says so."""

    def state(self, info):
        raise ValueError("unexpected keys in atoms.info: " + ", ".join(sorted(info)))


class InBatches(OfState):
    """Answers whole batches."""

    def compute_batch(self, structures, properties):
        return [self.answer(atoms, properties) for atoms in structures]

    def answer(self, atoms, properties):
        self.calculate(atoms, properties, all_changes)
        return self.results


def leave(atoms):
    """Ends the program at structures with helium, in the way that their number of atoms chooses."""
    if 2 in atoms.numbers:
        if len(atoms) == 1:
            sys.exit("helium is not for me")
        if len(atoms) == 2:
            raise KeyboardInterrupt
        raise GeneratorExit


class Leaves(WithoutState):
    def calculate(self, atoms=None, properties=None, system_changes=all_changes):
        leave(atoms)
        super().calculate(atoms, properties, system_changes)


class LeavesInBatches(InBatches):
    def answer(self, atoms, properties):
        leave(atoms)
        return super().answer(atoms, properties)


class Unprintable(Exception):
    def __str__(self):
        raise SystemExit("not even a text")


class RaisesUnprintable(WithoutState):
    def calculate(self, atoms=None, properties=None, system_changes=all_changes):
        if len(atoms) == 1:
            raise Unprintable
        super().calculate(atoms, properties, system_changes)


class StressMatrix(WithoutState):
    """A stress as a matrix whose element xy differs from yx by 0.002 × the number of atoms."""

    implemented_properties = ("energy", "forces", "stress")

    def calculate(self, atoms=None, properties=None, system_changes=all_changes):
        super().calculate(atoms, properties, system_changes)
        stress = np.array([[1.0, 0.4, 0.5], [0.4, 2.0, 0.6], [0.5, 0.6, 3.0]])
        stress[0, 1] += 0.001 * len(atoms)
        stress[1, 0] -= 0.001 * len(atoms)
        self.results["stress"] = stress


class Committee(WithoutState):
    """Three members in the names of MACE; a dipole that crystals do not have; wrong shapes for single atoms."""

    implemented_properties = (
        "energy",
        "forces",
        "energies",
        "energy_var",
        "forces_comm",
        "dipole",
        "charges",
        "magmoms",
    )
    num_models = 3

    def calculate(self, atoms=None, properties=None, system_changes=all_changes):
        n = len(atoms)
        if "dipole" in properties and n == 3:
            raise RuntimeError("no dipole of three atoms")
        super().calculate(atoms, properties, system_changes)
        if "forces_comm" not in properties:
            return
        self.results["energies"] = np.array([1.0, 2.0, 6.0])
        self.results["energy_var"] = 4.0
        self.results["forces_comm"] = np.arange(3.0)[:, None, None] + np.arange(float(n))[None, :, None] * np.ones(3)
        self.results["dipole"] = np.full(3, 0.5)
        self.results["charges"] = np.zeros(1 + n) if n == 1 else np.linspace(-1, 1, n)
        self.results["magmoms"] = atoms.get_initial_magnetic_moments() * 2


class Small(InBatches):
    """Has memory for 100 atoms at a time, and never for a structure with uranium."""

    def __init__(self):
        super().__init__()
        self.tried = []

    def compute_batch(self, structures, properties):
        size = sum(map(len, structures))
        self.tried.append(size)
        if size > 100 or any(92 in atoms.numbers for atoms in structures):
            raise MemoryError("no more")
        return super().compute_batch(structures, properties)


class NestedErrors(WithoutState):
    def calculate(self, atoms=None, properties=None, system_changes=all_changes):
        try:
            try:
                {}["the weights of this element"]
            except KeyError as error:
                raise ValueError("the first reason") from error
        except ValueError:
            try:
                raise OSError("a secret detour")
            except OSError:
                raise RuntimeError("what the author should read") from None


class Exchange(Calculator):
    """Neighbours within 2.8 Å: springs of 2 eV/Å² whose rest length is 2.5 Å + 0.01 Å m_i m_j, and 0.1 eV m_i m_j.

    The moments m are the initial ones [μB].
    """

    implemented_properties = ("energy", "forces")

    def calculate(self, atoms=None, properties=None, system_changes=all_changes):
        moments = atoms.get_initial_magnetic_moments()
        first, second, apart, vectors = neighbor_list("ijdD", atoms, 2.8)
        products = moments[first] * moments[second]
        stretch = apart - 2.5 - 0.01 * products
        forces = np.zeros((len(atoms), 3))
        np.add.at(forces, first, (2.0 * stretch / apart)[:, None] * vectors)
        self.results = {"energy": float((stretch**2 + 0.1 * products).sum()) / 2, "forces": forces}
