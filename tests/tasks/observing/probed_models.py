"""Models that are probed for memorised structures, and the results of the probes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from ase import Atoms
from ase.build import bulk, fcc111, molecule
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT

from tasks.datasets.dataset import Dataset
from tasks.kind import Kind, Observation, Watch, Work
from tasks.kinds.registry import KINDS
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import InProcessCalculator
from tasks.observing.memorisation_probes import Probe
from tasks.structures.frames import Frames
from tasks.structures.predictions import Labels, Predictions, Properties
from tests.tasks.made_up import make_dataset

WATCH = Watch(clock=lambda: 0.0)
FRAMES = KINDS["labelled_frames"]
ENERGIES = [f"probe_{probe}_max" for probe in Probe]
INVARIANT = ENERGIES[:3]
FORCES = [name.replace("_max", "_force_max") for name in INVARIANT]
EXACT = 1e-9  # eV/atom and eV/Å: rounding


FORMULAS = ("H2O", "CH3CH2OH", "NH3")


def molecules(n: int = 12, formulas: Sequence[str] = FORMULAS) -> list[Atoms]:
    made = []
    for k in range(n):
        atoms = molecule(formulas[k % len(formulas)])
        # EMT's forces stay below 10 eV/Å, so that no displacement of 0.01 Å changes its energy by 100 meV/atom.
        atoms.rattle(0.01, seed=k)
        # The structures' hash seeds the draws, so it must be the same on every processor.
        atoms.positions = atoms.positions.round(9)
        made.append(atoms)
    return made


def all_sorts(n: int = 12) -> list[Atoms]:
    """Molecules, crystals and slabs, one of them with one atom."""
    made = molecules(n)
    for k in range(0, n, 3):
        made[k] = bulk("Cu", cubic=True) if k % 2 else fcc111("Pt", (2, 2, 2), vacuum=6.0)
        made[k].rattle(0.05, seed=k)
    return [bulk("Al"), *made]


def labelled(structures: list[Atoms], **card: Any) -> Dataset:
    frames, rng = Frames.from_atoms(structures), np.random.default_rng(0)
    labels = Labels(rng.normal(size=len(frames)), rng.normal(size=(len(frames.numbers), 3)))
    return make_dataset(frames, labels, **card)


class Seen(NamedTuple):
    observation: Observation
    measured: Measurement
    calls: int

    def value(self, name: str) -> float:
        value = self.measured.metrics[name].value
        assert value is not None, name
        return value


class Counting(InProcessCalculator):
    """Counts the structures and atoms that are sent to it."""

    def __init__(self, calculator: Any) -> None:
        super().__init__(calculator, max_atoms_per_batch=40)
        self.work = Work.none()

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        self.work += Work.of(frames)
        return super().compute(frames, properties)


def see(calculator: Any, dataset: Dataset, kind: Kind = FRAMES, watch: Watch = WATCH) -> Seen:
    model = Counting(calculator)
    observation = kind.observe(dataset.structures, kind.parameters(), model, watch)
    return Seen(observation, kind.measure(observation, dataset, kind.parameters(), None), int(model.work.frames))


class Wrong(Calculator):
    """EMT with an added energy [eV] that the forces do not contain; optionally without forces."""

    def __init__(self, added: Callable[[Atoms], float], forces: bool = True) -> None:
        super().__init__()
        self.implemented_properties = ["energy", "forces"] if forces else ["energy"]
        self._emt, self._added = EMT(), added

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        plain = atoms.copy()
        plain.calc = self._emt
        self.results = {"energy": plain.get_potential_energy() + self._added(atoms), "forces": plain.get_forces()}


def key(atoms: Atoms) -> bytes:
    return atoms.numbers.tobytes() + atoms.positions.tobytes() + atoms.cell.array.tobytes()


OFF, FORCE_OFF = 0.3, 3.0  # eV/atom, eV/Å: the errors of remembered answers


class Memory(Wrong):
    """Remembers some structures; it computes the others, or fails at them."""

    def __init__(self, known: list[Atoms], computes: bool = True) -> None:
        super().__init__(lambda atoms: 0.0)
        self._known, self._computes = {key(atoms) for atoms in known}, computes

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        if key(atoms) in self._known:
            self.results["energy"] += OFF * len(atoms)
            self.results["forces"] = self.results["forces"] + FORCE_OFF
        elif not self._computes:
            raise ValueError("never seen before")
