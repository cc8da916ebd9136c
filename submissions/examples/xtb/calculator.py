"""GFN-xTB by tblite, as a submission: a real electronic-structure method that knows charge and spin.

Molecules are computed with GFN2-xTB. GFN2 has no periodic form in tblite, so everything periodic is computed with
GFN1-xTB. tblite samples the Γ point only: a small cell is therefore replicated until it is at least `MIN_LENGTH`
wide in each periodic direction, and the answer is mapped back to one cell. A direction that is not periodic beside
one that is (a slab) gets vacuum, since tblite knows three periodic directions or none.

Every call starts from scratch, with no wavefunction kept: the answer depends on the structure alone, and a change
of `atoms.info` can give no stale result.
"""

from typing import ClassVar

import numpy as np
from ase import Atoms
from ase.calculators.calculator import CalculationFailed, Calculator, InputError, all_changes
from ase.geometry import complete_cell
from ase.units import Bohr, Hartree
from tblite.interface import Calculator as Hamiltonian

MIN_LENGTH = 7.0  # Å between images of a replicated cell
VACUUM = 15.0  # Å beside a slab, in the directions that are not periodic


def box(atoms: Atoms) -> np.ndarray:
    """The cell (3, 3) [Å] with vacuum in place of each direction that is not periodic."""
    cell = complete_cell(np.where(atoms.pbc[:, None], atoms.cell.array, 0.0))
    for axis in np.flatnonzero(~atoms.pbc):
        # In whole Å, so that small motions do not change the box.
        cell[axis] *= np.ceil(np.ptp(atoms.positions @ cell[axis]) + VACUUM)
    return cell


def replicas(cell: np.ndarray) -> tuple[int, int, int]:
    """How often to repeat the cell for its lattice planes to be `MIN_LENGTH` apart."""
    spacing = 1.0 / np.linalg.norm(np.linalg.inv(cell), axis=0)
    a, b, c = np.ceil(MIN_LENGTH / spacing - 1e-9).astype(int)
    return int(a), int(b), int(c)


class XTB(Calculator):
    """GFN2-xTB for molecules and GFN1-xTB for what is periodic, at `info["charge"]` and `info["spin"]` (2S+1)."""

    implemented_properties: ClassVar[list[str]] = ["energy", "free_energy", "forces", "stress"]

    def check_state(self, atoms: Atoms, tol: float = 1e-15) -> list[str]:
        """What changed since the last call: always something if `info` did, which ASE does not look at."""
        changes = super().check_state(atoms, tol)
        if self.atoms is not None and _charge_and_spin(atoms) != _charge_and_spin(self.atoms):
            changes = [*changes, "initial_charges", "initial_magmoms"]
        return changes

    def calculate(
        self,
        atoms: Atoms | None = None,
        properties: list[str] | None = None,
        system_changes: list[str] = all_changes,
    ) -> None:
        super().calculate(atoms, properties, system_changes)
        atoms = self.atoms
        charge, multiplicity = _charge_and_spin(atoms)
        periodic = bool(atoms.pbc.any())
        cell, n = None, 1
        big = Atoms(atoms.numbers, atoms.positions)
        if periodic:
            big.set_cell(box(atoms))
            big.pbc = True
            repeats = replicas(big.cell.array)
            n = int(np.prod(repeats))
            big = big.repeat(repeats)  # the first cell's atoms come first
            cell = big.cell.array / Bohr
        try:
            hamiltonian = Hamiltonian(
                "GFN1-xTB" if periodic else "GFN2-xTB",
                big.numbers,
                big.positions / Bohr,
                charge=charge * n,
                uhf=(multiplicity - 1) * n if multiplicity else None,
                lattice=cell,
                periodic=np.array([periodic] * 3),
            )
            hamiltonian.set("verbosity", 0)
            answer = hamiltonian.singlepoint()
        except RuntimeError as error:
            raise CalculationFailed(str(error)) from error
        energy = float(answer["energy"]) * Hartree / n
        forces = -answer["gradient"][: len(atoms)] * Hartree / Bohr
        self.results = {"energy": energy, "free_energy": energy, "forces": forces}
        if atoms.pbc.all():
            self.results["stress"] = answer["virial"].flat[[0, 4, 8, 5, 2, 1]] * Hartree / big.get_volume()


def _charge_and_spin(atoms: Atoms) -> tuple[int, int | None]:
    charge, spin = atoms.info.get("charge", 0), atoms.info.get("spin")
    if spin is not None and int(spin) < 1:
        raise InputError(f"spin is the multiplicity 2S+1 and at least 1, not {spin}")
    return int(charge), None if spin is None else int(spin)


def make_calculator(device: str = "cpu", domain: str | None = None) -> XTB:
    """An xTB calculator. The structure alone decides between GFN1 and GFN2; it runs on the CPU, whatever is asked."""
    return XTB()
