"""Small data sets of structures to relax, and models with a known fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from ase import Atoms
from ase.build import add_adsorbate, bulk, fcc111
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT

from tasks.datasets.card import Card, Difference, LabelSet, Summand, Table
from tasks.datasets.dataset import Dataset
from tasks.datasets.geometries import Geometries
from tasks.kind import Watch
from tasks.kinds.relaxed_structures import RelaxedStructures, RelaxedStructuresParameters
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import BatchCalculator, InProcessCalculator
from tasks.structures.frames import Frames

KIND, PBE = RelaxedStructures(), "PBE"
TIGHT = {"optimizer": "BFGS", "fmax": 1e-4, "max_steps": 200}


def crystal() -> Atoms:
    """Displaced and stretched copper."""
    atoms = bulk("Cu", cubic=True, a=3.7)
    atoms.rattle(0.05, seed=1)
    return atoms


def slab() -> Atoms:
    """Nitrogen on copper."""
    atoms = fcc111("Cu", (2, 2, 3), vacuum=6.0, periodic=True)
    add_adsorbate(atoms, "N", 1.2, "fcc")
    atoms.info.clear()
    return atoms


def carbon_monoxide() -> Atoms:
    return Atoms("CO", [(0, 0, 0), (0.2, 0.1, 1.3)])


def held() -> list[int]:
    """The lower layer of `slab`."""
    return np.flatnonzero(slab().positions[:, 2] < slab().positions[:, 2].min() + 0.1).tolist()


def relaxation_set(
    structures: Sequence[Atoms],
    references: Sequence[Atoms | None] = (),
    differences: Sequence[Difference] = (),
    conditions: Mapping[str, Any] | None = None,
    **card: Any,
) -> Dataset:
    """A data set; `references` of structures, None for none."""
    names = tuple(f"s{i}" for i in range(len(structures)))
    frames = Frames.from_atoms(list(structures))
    geometries = {}
    if references:
        pairs = zip(structures, references, strict=True)
        positions = [np.full((len(s), 3), np.nan) if r is None else r.positions for s, r in pairs]
        cell = [np.full((3, 3), np.nan) if r is None else r.cell.array for r in references]
        geometries[PBE] = Geometries(np.concatenate(positions), np.array(cell))
    stated = Card(
        name="relaxed",
        version="1",
        title="Relaxed",
        domain="Catalysis",
        periodic=bool(frames.periodic.all()),
        label_sets={PBE: LabelSet(theory=PBE, dispersion=False)},
        default_label_set=PBE,
        **card,
    )
    table = Table(id=names, group=("",) * len(names), cluster=names, differences=tuple(differences))
    return Dataset(stated, frames, table, {}, conditions or {}, geometries)


def difference(reference: float, *coefficients: float, **more: Any) -> Difference:
    """Σ coefficient × energy, structure by structure."""
    terms = tuple(Summand(structure=i, coefficient=c) for i, c in enumerate(coefficients) if c)
    return Difference(**{"id": "difference", "terms": terms, "reference": {PBE: reference}} | more)


def parameters(**values: Any) -> RelaxedStructuresParameters:
    return RelaxedStructuresParameters.model_validate({"relaxation": TIGHT} | values)


def relax(dataset: Dataset, model: BatchCalculator | None = None, **values: Any) -> Measurement:
    """Observed with EMT, or with `model`, and measured."""
    settings = parameters(**values)
    model = model or InProcessCalculator(EMT())
    observation = KIND.observe(dataset.structures, settings, model, Watch(clock=lambda: 0.0))
    return KIND.measure(observation, dataset, settings, None)


class Constant(Calculator):
    """The same force on every atom but the last, which has the opposite of the sum; zero energy, or what is given."""

    implemented_properties: ClassVar = ["energy", "forces", "stress"]

    def __init__(self, force: float = 0.0, energy: float = 0.0, stress: float = 0.0) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.force, self.energy, self.stress = force, energy, stress

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)  # type: ignore[no-untyped-call]
        forces = np.full((len(atoms), 3), self.force)
        forces[-1] -= forces.sum(axis=0)
        self.results = {
            "energy": self.energy,
            "forces": forces,
            "stress": self.stress * np.array([1.0] * 3 + [0.0] * 3),
        }


class Biased(EMT):
    """EMT with a force on the first atom, and its opposite on the second, that obeys no symmetry."""

    def calculate(self, atoms: Any = None, properties: Any = ("energy",), system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)  # type: ignore[no-untyped-call]
        bias = np.array([0.1, 0.05, -0.02])
        self.results["forces"] = self.results["forces"].copy()
        self.results["forces"][0] += bias
        self.results["forces"][1] -= bias
