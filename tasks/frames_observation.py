"""Observing structures one by one, which most kinds do: ask, store, and read back."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from tasks.calculator import BatchCalculator, compute_in_batches
from tasks.frames import Frames
from tasks.kind import Observation, Watch
from tasks.predictions import Predictions, Properties


def observe_frames(frames: Frames, properties: Properties, model: BatchCalculator, watch: Watch) -> Observation:
    """The model's answers to `frames`: arrays energy, forces, stress (those asked for and offered) and failure.

    Stress is asked for only where a structure is periodic in all directions.
    """
    wanted: Properties = tuple(
        p for p in properties if p in model.properties and (p != "stress" or bool(frames.periodic.any()))
    )

    def progress(done: int) -> None:
        watch.progress(done, len(frames), "frames")

    answer = compute_in_batches(model, frames, wanted, progress, watch.failed_share, watch.in_time)
    arrays: dict[str, NDArray[Any]] = {"energy": answer.energy, "failure": answer.failure}
    if answer.forces is not None and "forces" in wanted:
        arrays["forces"] = answer.forces
    if answer.stress is not None and "stress" in wanted:
        arrays["stress"] = answer.stress
    return Observation(arrays, {"properties": ",".join(wanted)})


def read_frames(observation: Observation, frames: Frames) -> Predictions:
    """What `observe_frames` stored, as `Predictions`.

    Raises:
        ValueError: the observation is not of these structures; the line names the array.
    """
    n, total = len(frames), len(frames.numbers)
    return Predictions(
        energy=observation.array("energy", (n,)),
        forces=observation.array("forces", (total, 3)) if "forces" in observation.arrays else None,
        stress=observation.array("stress", (n, 6)) if "stress" in observation.arrays else None,
        failure=observation.causes(n),
    )
