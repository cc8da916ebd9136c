"""Observing structures one by one, which most kinds do: ask, store, and read back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor
from typing import Any

from numpy.typing import NDArray

from tasks.datasets.dataset import Structures
from tasks.kind import Observation, Watch, Work
from tasks.model.calculator import BatchCalculator, compute_in_batches
from tasks.observing.memorisation_probes import Guises, draw_guises, in_guise, split_answers
from tasks.observing.question_order import atoms_of, generator_for, put_back
from tasks.structures.frames import Frames, Int
from tasks.structures.predictions import Predictions, Properties


@dataclass(frozen=True, eq=False)
class Questions:
    """What a model is asked of a data set.

    Args:
        frames: (m,) the structures; of a hidden data set also some of them in other guises, after them.
        order: (m,) in which they are sent.
        guises: None of a public data set.
    """

    frames: Frames
    order: Int
    guises: Guises | None


def questions(structures: Structures, observe_version: int, secret: bytes = b"") -> Questions:
    """What is asked: the same whenever it is asked of the same structures.

    Args:
        secret: of the store (`tasks.kind.Watch`): of hidden structures order and guises are drawn with it.
    """
    frames = structures.frames
    rng = generator_for(structures.frames_sha256, observe_version, secret if structures.hidden else b"")
    guises = draw_guises(frames, rng) if structures.hidden else None
    if guises is not None:
        frames = Frames.concatenate([frames, in_guise(frames, guises)])
    return Questions(frames, rng.permutation(len(frames)), guises)


def observe_structures(
    structures: Structures, observe_version: int, properties: Properties, model: BatchCalculator, watch: Watch
) -> Observation:
    """The model's answers to all structures, as `observe_frames` stores them, asked about in a random order.

    Of a hidden data set also what `tasks.observing.memorisation_probes` names `probe_…`, which is told apart: a guise
    that fails is no failure of its structure, and a task is not stopped for guises alone.
    """
    asked, n = questions(structures, observe_version, watch.secret), len(structures.frames)
    beside = len(asked.frames) - n
    # As many failures as there are guises say nothing of the structures; between two counts, so that no rounding does.
    enough = (floor(watch.failed_share * n) + beside + 0.5) / (n + beside)
    sent = observe_frames(asked.frames.take(asked.order), properties, model, replace(watch, failed_share=enough))
    atoms = atoms_of(asked.frames, asked.order)
    arrays = {name: put_back(a, atoms if name == "forces" else asked.order) for name, a in sent.arrays.items()}
    if asked.guises is not None:
        arrays = split_answers(arrays, structures.frames, asked.guises)
    return Observation(arrays, sent.notes)


def asked_work(structures: Structures, observe_version: int) -> Work:
    """Each structure once, and each guise; their atoms are an estimate, since it is a secret which have guises."""
    return Work.of(questions(structures, observe_version).frames)


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
