"""The model as a task sees it, and adapters between it and ASE's calculators."""

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
    """Energies, forces and stresses of a batch of structures: the only questions that a task may ask a model."""

    @property
    def properties(self) -> Properties:
        """The properties that the model offers."""
        ...

    @property
    def max_atoms_per_batch(self) -> int:
        """The atoms that a batch should hold at most."""
        ...

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        """The model's answers, one row a structure.

        If the model fails on a frame, the frame fails. Raises only if the model as a whole is gone.
        """
        ...


class InProcessCalculator:
    """A `BatchCalculator` around any ASE calculator in this process: for tests, baselines and references.

    Args:
        domain: as the guest is told, which decides the spin of structures that state none; see `tasks.model.states`.
    """

    def __init__(self, calculator: Any, max_atoms_per_batch: int = 20_000, domain: str = "") -> None:
        self._loop = AseLoop(calculator, domain=domain)
        self._max_atoms_per_batch = max_atoms_per_batch

    @property
    def properties(self) -> Properties:
        return tuple(p for p in ALL_PROPERTIES if p in self._loop.properties)

    @property
    def max_atoms_per_batch(self) -> int:
        return self._max_atoms_per_batch

    @property
    def stress_asymmetry(self) -> float:
        """The largest |s_ij − s_ji| of a stress that the calculator gave as a matrix [eV/Å³]; 0 if there was none."""
        return self._loop.stress_asymmetry

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        result = self._loop.compute(frames.arrays(), properties)
        failures = [FrameError(Cause(f.cause), f.kind, f.text) for f in result.failures]
        errors = {int(i): failures[int(result.status[i]) - 1] for i in np.flatnonzero(result.status)}
        return Predictions.checked(frames, result.energy, result.forces, result.stress, errors)


class ItemFailed(CalculatorError):
    """An item of a task has no number; `cause` says why."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(f"the model failed on this structure: {cause.word}")
        self.cause = cause


class AseCalculator(Calculator):
    """An ASE `Calculator` around a `BatchCalculator`: ASE optimisers and phonopy run over a container unchanged.

    Args:
        properties: to ask for at each call; stress of fully periodic structures only.

    Raises:
        ItemFailed: the model failed on the structure, or does not offer a property that ASE asks for.
    """

    implemented_properties: ClassVar[list[str]] = ["energy", "free_energy", "forces", "stress"]  # type: ignore[misc]

    def __init__(self, model: BatchCalculator, properties: Properties = ALL_PROPERTIES) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._model = model
        self._wanted = properties
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
        answer = self._model.compute(frames, offered(self._model, frames, self._wanted))
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
        """The changes since the last call, also of charge and spin in `atoms.info`, which ASE overlooks."""
        changes: list[str] = super().check_state(atoms, tol)  # type: ignore[no-untyped-call]
        state = (int(atoms.info.get("charge", 0)), int(atoms.info.get("spin", 0)))
        if state != self._state:
            self._state = state
            changes = list(all_changes)
        return changes


def offered(model: BatchCalculator, frames: Frames, properties: Properties) -> Properties:
    """Those of `properties` that the model offers; stress only if a structure is periodic in all directions."""
    periodic = bool(frames.periodic.any())
    return tuple(p for p in properties if p in model.properties and (p != "stress" or periodic))


def compute_in_batches(
    model: BatchCalculator,
    frames: Frames,
    properties: Properties,
    progress: Callable[[int], None] = lambda done: None,
    failed_share: float = 1.0,
    in_time: Callable[[], bool] = lambda: True,
) -> Predictions:
    """All answers of `model` to `frames`, in batches filled to its atom budget.

    Args:
        progress: called after each batch with the number of structures done.
        failed_share: once more than this share of all structures has failed, the rest is not sent: MISSING.
        in_time: called before each batch but the first: once false, the rest is not sent: OVER_TIME.
    """
    parts: list[Predictions] = []
    failed = 0
    for start, stop in frames.batches(model.max_atoms_per_batch):
        late = bool(parts) and not in_time()
        if late or failed > failed_share * len(frames):
            cause = Cause.OVER_TIME if late else Cause.MISSING
            rest = frames.between(start, len(frames))
            parts.append(Predictions.unanswered(rest, parts[-1].properties, cause))
            break
        parts.append(model.compute(frames.between(start, stop), properties))
        progress(stop)
        failed += int((~parts[-1].ok).sum())
    return Predictions.join(parts)
