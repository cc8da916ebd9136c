"""GFN2-xTB by tblite, as a submission: a real electronic-structure method that knows charge and spin.

Molecules only. tblite samples the Γ point of a crystal alone, which is right for large cells only and slow there; a
model that says what it does not know is judged on what it does. Every call starts from scratch, with no wavefunction
kept: the answer depends on the structure alone, and a change of `atoms.info` can give no stale result.
"""

from typing import ClassVar

from ase import Atoms
from ase.calculators.calculator import CalculationFailed, Calculator, InputError, all_changes
from ase.units import Bohr, Hartree
from tblite.interface import Calculator as Hamiltonian


class XTB(Calculator):
    """GFN2-xTB for molecules, at `info["charge"]` and `info["spin"]` (2S+1)."""

    implemented_properties: ClassVar[list[str]] = ["energy", "free_energy", "forces"]

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
        if atoms.pbc.any():
            raise NotImplementedError("this submission is for molecules: the structure is periodic")
        charge, multiplicity = _charge_and_spin(atoms)
        uhf = None if multiplicity is None else multiplicity - 1
        try:
            hamiltonian = Hamiltonian("GFN2-xTB", atoms.numbers, atoms.positions / Bohr, charge=charge, uhf=uhf)
            hamiltonian.set("verbosity", 0)
            answer = hamiltonian.singlepoint()
        except RuntimeError as error:
            raise CalculationFailed(str(error)) from error
        energy = float(answer["energy"]) * Hartree
        self.results = {"energy": energy, "free_energy": energy, "forces": -answer["gradient"] * Hartree / Bohr}


def _charge_and_spin(atoms: Atoms) -> tuple[int, int | None]:
    charge, spin = atoms.info.get("charge", 0), atoms.info.get("spin")
    if spin is not None and int(spin) < 1:
        raise InputError(f"spin is the multiplicity 2S+1 and at least 1, not {spin}")
    return int(charge), None if spin is None else int(spin)


def make_calculator(device: str = "cpu", domain: str | None = None) -> XTB:
    """An xTB calculator. It runs on the CPU, whatever is asked."""
    return XTB()
