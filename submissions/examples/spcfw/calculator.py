"""The flexible water model SPC/Fw by OpenMM, as a submission: a liquid whose density and structure are published.

Y. Wu, H. L. Tepper, G. A. Voth, J. Chem. Phys. 124, 024503 (2006), doi:10.1063/1.2136877. It knows water alone, with
the atoms in the order O, H, H; a periodic box has particle-mesh Ewald sums and must have right angles.
"""

from typing import ClassVar

import numpy as np
import openmm
from ase import Atoms
from ase.calculators.calculator import Calculator, InputError, all_changes
from ase.units import kJ, mol
from openmm import unit

KCAL = 4.184  # kJ
# Lengths in nm, energies in kJ/mol, angles in radians, as OpenMM has them.
OH_LENGTH, OH_CONSTANT = 0.1012, 1059.162 * KCAL * 100
HOH_ANGLE, HOH_CONSTANT = np.deg2rad(113.24), 75.90 * KCAL
SIGMA, EPSILON = 0.3165492, 0.1554253 * KCAL
CHARGES = (-0.82, 0.41, 0.41)
CUTOFF = 0.9


class SPCFw(Calculator):
    """SPC/Fw: energy [eV] and forces [eV/Å] of water."""

    implemented_properties: ClassVar[list[str]] = ["energy", "forces"]

    def __init__(self) -> None:
        super().__init__()
        self._built_for: tuple[int, tuple[float, ...]] | None = None
        self._context: openmm.Context | None = None

    def calculate(
        self,
        atoms: Atoms | None = None,
        properties: list[str] | None = None,
        system_changes: list[str] = all_changes,
    ) -> None:
        super().calculate(atoms, properties, system_changes)
        box = box_of(self.atoms)
        # Boxes of nearly the same size share a context, which is made for the rounded size: an answer depends on the
        # structure alone.
        size = () if box is None else tuple(np.round(box, 1))
        if self._context is None or self._built_for != (len(self.atoms), size):
            system = system_of(self.atoms, np.array(size))
            self._context = openmm.Context(
                system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("CPU")
            )
            self._built_for = (len(self.atoms), size)
        if box is not None:
            self._context.setPeriodicBoxVectors(*np.diag(box))
        self._context.setPositions(self.atoms.positions / 10)
        state = self._context.getState(getEnergy=True, getForces=True)
        energy = state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)
        forces = state.getForces(asNumpy=True).value_in_unit(unit.kilojoule_per_mole / unit.nanometer)
        self.results = {"energy": energy * kJ / mol, "forces": np.asarray(forces) * kJ / mol / 10}


def box_of(atoms: Atoms) -> np.ndarray | None:
    """The edges (3,) of the periodic box [nm]; None for molecules."""
    if not atoms.pbc.any():
        return None
    if not atoms.pbc.all() or np.abs(atoms.cell.array - np.diag(atoms.cell.lengths())).max() > 1e-8:
        raise InputError("the box must be periodic in all directions, with right angles along x, y and z")
    return atoms.cell.lengths() / 10


def system_of(atoms: Atoms, box: np.ndarray) -> openmm.System:
    """The force field of the waters of `atoms`, in a box (3,) [nm]; an empty array stands for no box."""
    if len(atoms) % 3 or not np.array_equal(atoms.numbers, np.tile([8, 1, 1], len(atoms) // 3)):
        raise InputError("this model knows water alone, with the atoms of each molecule in the order O, H, H")
    system, bonds, angles = openmm.System(), openmm.HarmonicBondForce(), openmm.HarmonicAngleForce()
    pairs = openmm.NonbondedForce()
    if box.size:
        pairs.setNonbondedMethod(openmm.NonbondedForce.PME)
        pairs.setCutoffDistance(min(CUTOFF, 0.45 * box.min()))
        system.setDefaultPeriodicBoxVectors(*np.diag(box))
    for oxygen in range(0, len(atoms), 3):
        for charge, sigma, epsilon in zip(CHARGES, (SIGMA, 0.1, 0.1), (EPSILON, 0.0, 0.0), strict=True):
            system.addParticle(1.0)
            pairs.addParticle(charge, sigma, epsilon)
        for hydrogen in (oxygen + 1, oxygen + 2):
            bonds.addBond(oxygen, hydrogen, OH_LENGTH, OH_CONSTANT)
            pairs.addException(oxygen, hydrogen, 0.0, 0.1, 0.0)
        angles.addAngle(oxygen + 1, oxygen, oxygen + 2, HOH_ANGLE, HOH_CONSTANT)
        pairs.addException(oxygen + 1, oxygen + 2, 0.0, 0.1, 0.0)
    for force in (bonds, angles, pairs):
        system.addForce(force)
    return system


def make_calculator(device: str = "cpu", domain: str | None = None) -> SPCFw:
    """SPC/Fw on the CPU, whatever is asked."""
    return SPCFw()
