"""What a task needs of a model, and the two ways between it and ASE's calculators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator, CalculatorError, all_changes

from tasks.model.ase_loop import AseLoop
from tasks.structures.frames import Frames
from tasks.structures.predictions import ALL_PROPERTIES, Cause, FrameError, Predictions, Properties


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


class ItemFailed(CalculatorError):
    """An item of a task that has no number, and why."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(f"the model failed on this structure: {cause.word}")
        self.cause = cause


class AseCalculator(Calculator):
    """An ASE `Calculator` around a `BatchCalculator`: ASE optimisers and phonopy run over a container unchanged.

    Args:
        properties: what to ask for each time; stress of fully periodic structures only.

    Raises:
        ItemFailed: the model could not do the structure, or does not offer what ASE asks for.
    """

    implemented_properties: ClassVar[list[str]] = ["energy", "free_energy", "forces", "stress"]  # type: ignore[misc]

    def __init__(self, model: BatchCalculator, properties: Properties = ALL_PROPERTIES) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._model = model
        self._wanted: Properties = tuple(p for p in properties if p in model.properties)
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
        periodic = bool(frames.periodic[0])
        answer = self._model.compute(
            frames, self._wanted if periodic else tuple(p for p in self._wanted if p != "stress")
        )
        if not answer.ok[0]:
            raise ItemFailed(Cause(int(answer.failure[0])))
        self.results = {"energy": float(answer.energy[0]), "free_energy": float(answer.energy[0])}
        if answer.forces is not None:
            self.results["forces"] = answer.forces
        if answer.stress is not None and np.isfinite(answer.stress[0]).all():
            self.results["stress"] = answer.stress[0]
        if any(name not in self.results for name in properties or ()):
            raise ItemFailed(Cause.UNSUPPORTED)

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
    failed_share: float = 1.0,
    in_time: Callable[[], bool] = lambda: True,
) -> Predictions:
    """All answers of `model` for `frames`, asked in batches filled to its atom budget.

    Args:
        progress: called after each batch with how many structures are done.
        failed_share: once more than this share of all structures has failed no more are asked: they are MISSING.
        in_time: looked at before each batch but the first: once false no more are asked, they are OVER_TIME.
    """
    parts: list[Predictions] = []
    failed = 0
    for start, stop in frames.batches(model.max_atoms_per_batch):
        late = bool(parts) and not in_time()
        if late or failed > failed_share * len(frames):
            cause = Cause.OVER_TIME if late else Cause.MISSING
            parts.append(_unanswered(frames.between(start, len(frames)), parts[-1], cause))
            break
        parts.append(model.compute(frames.between(start, stop), properties))
        progress(stop)
        failed += int((~parts[-1].ok).sum())
    return Predictions.join(parts)


def _unanswered(frames: Frames, like: Predictions, cause: Cause) -> Predictions:
    """No answer to any of `frames`, with the properties that `like` has."""
    n, total = len(frames), len(frames.numbers)
    return Predictions(
        energy=np.full(n, np.nan),
        forces=None if like.forces is None else np.full((total, 3), np.nan),
        stress=None if like.stress is None else np.full((n, 6), np.nan),
        failure=np.full(n, cause, np.int8),
    )
