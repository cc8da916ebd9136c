"""Models with one fault each, as an author's `calculator.py`: EMT, and what differs from it."""

from __future__ import annotations

import textwrap

_MODEL = """
import time

import numpy as np
from ase.calculators.calculator import all_changes
from ase.calculators.emt import EMT


class Mine(EMT):
    rng = np.random.default_rng(1)
    {attributes}

    def calculate(self, atoms, properties, system_changes):
        super().calculate(atoms, properties, system_changes)
        results = self.results
        {lines}


def make_calculator():
    return Mine()
"""


def model(lines: str = "", attributes: str = "pass") -> str:
    """The text of a `calculator.py`.

    Args:
        lines: of `calculate`, after EMT's; `results` are EMT's.
        attributes: of the class.
    """
    indented = textwrap.indent(textwrap.dedent(lines).strip(), " " * 8).strip() or "pass"
    return _MODEL.format(lines=indented, attributes=textwrap.indent(attributes, " " * 4).strip())


_IF_STRESS = 'if "stress" in results: results["stress"] = '
_BATCH = """def compute_batch(self, batch, properties):
    answers = []
    for atoms in batch:
        try:
            self.calculate(atoms, properties, all_changes)
            answers.append(dict(self.results))
        except NotImplementedError as error:
            answers.append(error)
    return answers{order}"""

FAULTS = {
    "none": model(),
    "stress in GPa": model(f'{_IF_STRESS}results["stress"] * 160.21766'),
    "stress of opposite sign": model(f'{_IF_STRESS}-results["stress"]'),
    "stress in kbar of opposite sign": model(f'{_IF_STRESS}results["stress"] * -1602.1766'),
    "stress in another order": model(f'{_IF_STRESS}results["stress"][[0, 1, 2, 5, 3, 4]]'),
    "stress as a virial": model(f'{_IF_STRESS}results["stress"] * atoms.get_volume()'),
    "no stress returned": model('results.pop("stress", None)'),
    "stress is zero": model(f"{_IF_STRESS}np.zeros(6)"),
    "NaN for stress": model(f"{_IF_STRESS}np.full(6, np.nan)"),
    "no stress for slabs": model('if 78 in atoms.numbers: results.pop("stress", None)'),
    "forces of opposite sign": model('results["forces"] = -results["forces"]'),
    "forces in kcal/mol/Å": model('results["forces"] = results["forces"] * 23.0605'),
    "an energy per atom": model('results["energy"] = results["energy"] / len(atoms)'),
    "everything per atom": model("for name in results: results[name] = results[name] / len(atoms)"),
    "stress with the sign of det(cell)": model(
        f'{_IF_STRESS}results["stress"] * np.sign(np.linalg.det(atoms.cell.array))'
    ),
    "stress from the lengths of the vectors": model(
        f'{_IF_STRESS}results["stress"] * (1.0 + (np.prod(atoms.cell.lengths()) > 1.1 * atoms.get_volume()))'
    ),
    "left-handed cells refused": model(
        'if np.linalg.det(atoms.cell.array) < 0: raise ValueError("the cell is left-handed")'
    ),
    "stress that is not symmetric": model(
        f'{_IF_STRESS}results["stress"][[[0, 5, 4], [5, 1, 3], [4, 3, 2]]] + [[0, 0.01, 0], [-0.01, 0, 0], [0, 0, 0]]'
    ),
    "charge -1 in info is an error": model(
        'if atoms.info.get("charge") == -1: raise ValueError("unsupported charge -1")'
    ),
    "forces turned": model('results["forces"] = results["forces"][:, [1, 0, 2]]'),
    "energies alone": model(attributes='implemented_properties = ["energy"]'),
    "no stress offered": model(attributes='implemented_properties = ["energy", "forces"]'),
    "noise": model('results["energy"] = results["energy"] + self.rng.normal(0.0, 1e-3)'),
    "a batch in reverse order": model(attributes=_BATCH.format(order="[::-1]")),
    "a batch in order": model(attributes=_BATCH.format(order="")),
    "positions changed": model("atoms.positions += 0.1"),
    "positions changed in a batch": model("atoms.wrap(); atoms.positions += 0.1", _BATCH.format(order="")),
    "the cell changed": model("atoms.set_cell(1.1 * atoms.cell)"),
    "a slow crystal": model("if 29 in atoms.numbers: time.sleep(0.02)"),
    "sees charge and spin": model(
        'results["energy"] = results["energy"] + atoms.info.get("charge", 0) + 0.1 * atoms.info.get("spin", 0)'
    ),
    "sees charge below the noise": model(
        'results["energy"] = results["energy"] + 1e-4 * atoms.info.get("charge", 0) + self.rng.normal(0.0, 1e-3)'
    ),
}
