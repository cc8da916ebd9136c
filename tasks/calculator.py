"""What a task needs of a model, and the two ways between it and ASE's calculators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator, CalculatorError, all_changes

from tasks.ase_loop import AseLoop
from tasks.frames import Frames
from tasks.predictions import ALL_PROPERTIES, Cause, FrameError, Predictions, Properties


class BatchCalculator(Protocol):
    """Energies, forces and stresses of a batch of structures: all that a task may ask of a model."""

    @property
    def properties(self) -> Properties:
        """What the model can be asked for."""
        ...

    @property
    def max_atoms_per_batch(self) -> int:
        """How many atoms a batch should hold at most."""
        ...

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        """The model's answers, one row a structure.

        A frame that the model cannot do is that frame's failure. Raises only where the model as a whole is gone.
        """
        ...


class InProcessCalculator:
    """A `BatchCalculator` around any ASE calculator in this process: for tests, baselines and references."""

    def __init__(self, calculator: Any, max_atoms_per_batch: int = 20_000) -> None:
        self._loop = AseLoop(calculator)
        self._max_atoms_per_batch = max_atoms_per_batch

    @property
    def properties(self) -> Properties:
        return tuple(p for p in ALL_PROPERTIES if p in self._loop.properties)

    @property
    def max_atoms_per_batch(self) -> int:
        return self._max_atoms_per_batch

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        result = self._loop.compute(frames.arrays(), properties)
        failures = [FrameError(Cause(f.cause), f.kind, f.text) for f in result.failures]
        errors = {int(i): failures[int(result.status[i]) - 1] for i in np.flatnonzero(result.status)}
        return Predictions.checked(frames, result.energy, result.forces, result.stress, errors)


class AseCalculator(Calculator):
    """An ASE `Calculator` around a `BatchCalculator`: ASE optimisers and phonopy run over a container unchanged.

    Raises:
        CalculatorError: the model could not do the structure; the text names the cause.
    """

    implemented_properties: ClassVar[list[str]] = ["energy", "free_energy", "forces", "stress"]  # type: ignore[misc]

    def __init__(self, model: BatchCalculator) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._model = model
        self._state = (0, 0)

    def calculate(
        self,
        atoms: Atoms | None = None,
        properties: list[str] | None = None,
        system_changes: list[str] = all_changes,
    ) -> None:
        super().calculate(atoms, properties, system_changes)  # type: ignore[no-untyped-call]
        if self.atoms is None:
            raise CalculatorError("there is no structure to calculate")
        frames = Frames.from_atoms([self.atoms])
        wanted: Properties = ("energy", "forces", "stress") if frames.periodic[0] else ("energy", "forces")
        answer = self._model.compute(frames, tuple(p for p in wanted if p in self._model.properties))
        if not answer.ok[0]:
            raise CalculatorError(f"the model failed on this structure: {Cause(int(answer.failure[0])).word}")
        self.results = {"energy": float(answer.energy[0]), "free_energy": float(answer.energy[0])}
        if answer.forces is not None:
            self.results["forces"] = answer.forces
        if answer.stress is not None and np.isfinite(answer.stress[0]).all():
            self.results["stress"] = answer.stress[0]

    def check_state(self, atoms: Atoms, tol: float = 1e-15) -> list[str]:
        """What changed since the last call, charge and spin in `atoms.info` among it, which ASE itself overlooks."""
        changes: list[str] = super().check_state(atoms, tol)  # type: ignore[no-untyped-call]
        state = (int(atoms.info.get("charge", 0)), int(atoms.info.get("spin", 0)))
        if state != self._state:
            self._state = state
            changes = list(all_changes)
        return changes


def compute_in_batches(
    model: BatchCalculator,
    frames: Frames,
    properties: Properties,
    progress: Callable[[int], None] = lambda done: None,
) -> Predictions:
    """All answers of `model` for `frames`, asked in batches filled to its atom budget.

    Args:
        progress: called after each batch with how many structures are done.
    """
    parts = []
    for start, stop in frames.batches(model.max_atoms_per_batch):
        parts.append(model.compute(frames.between(start, stop), properties))
        progress(stop)
    return Predictions.join(parts)
