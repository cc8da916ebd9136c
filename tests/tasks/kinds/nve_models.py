"""Structures for dynamics, and a model that fails."""

from __future__ import annotations

from typing import Any

import numpy as np
from ase.build import bulk, fcc111, molecule
from ase.calculators.calculator import all_changes
from ase.calculators.emt import EMT

from tasks.kind import Observation, Watch
from tasks.kinds.nve import Nve, NveParameters
from tasks.structures.frames import Frames
from tests.tasks.made_up import make_dataset


def observe(frames: Frames, model: Any, parameters: NveParameters, watch: Watch) -> Observation:
    return Nve().observe(make_dataset(frames, None).structures, parameters, model, watch)


class FailsOn(EMT):
    """EMT that fails at platinum, after some calls."""

    def __init__(self, after: int, how: str) -> None:
        super().__init__()
        self.left, self.how = after, how

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, all_changes)
        if atoms is None or "Pt" not in atoms.symbols:
            return
        self.left -= 1
        if self.left < 0 and self.how == "raise":
            raise RuntimeError("no more platinum")
        if self.left < 0:
            self.results["forces"] = self.results["forces"] * (np.nan if self.how == "nan" else 1e6)


def three() -> Frames:
    slab = fcc111("Pt", (2, 2, 1), vacuum=5.0)
    return Frames.from_atoms([bulk("Cu", cubic=True), molecule("CH4"), slab])
