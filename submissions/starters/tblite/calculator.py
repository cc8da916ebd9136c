"""GFN2-xTB by tblite as a submission, for molecules. Written for tblite 0.8.0."""

from ase.calculators.calculator import all_changes
from tblite.ase import TBLite


class Molecule(TBLite):
    """TBLite at the charge and multiplicity that the judge states in `atoms.info` of every structure."""

    def calculate(self, atoms=None, properties=None, system_changes=all_changes):
        """Each call begins anew: what the last structure left behind is of no use for this one."""
        if atoms.pbc.any():
            raise NotImplementedError(
                "tblite samples the Γ point of a crystal alone, which is right for large cells only"
            )
        self._xtb = self._res = None
        self.parameters.update(charge=atoms.info["charge"], multiplicity=atoms.info["spin"])
        super().calculate(atoms, properties, all_changes)


def make_calculator(device="cpu", domain=None):
    """The calculator. It runs on the CPU, whatever is asked."""
    return Molecule(method="GFN2-xTB", verbosity=0)
