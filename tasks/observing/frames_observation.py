"""Observing structures one by one, as most kinds do: send, store, and read back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor

from tasks.datasets.dataset import Structures
from tasks.kind import Observation, Parameters, Watch, Work
from tasks.model.calculator import BatchCalculator, compute_in_batches, offered
from tasks.observing.memorisation_probes import TransformedCopies, draw_copies, split_answers, transformed
from tasks.observing.question_order import generator_for, put_back
from tasks.structures.frames import Frames, Int
from tasks.structures.predictions import Predictions, Properties


class AsksEachStructure:
    """The shared part of kinds that send each structure once."""

    observe_version: int
    asks_for: Properties = ("energy",)

    def observe(
        self, structures: Structures, parameters: Parameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """The answers to all structures, also to those without references, which may be added later."""
        return observe_structures(structures, self.observe_version, self.asks_for, model, watch)

    def work(self, structures: Structures, parameters: Parameters) -> Work:
        """Each structure once, and each copy. The atoms are an estimate, since the choice of copies is secret."""
        return Work.of(questions(structures, self.observe_version).frames)


@dataclass(frozen=True, eq=False)
class Questions:
    """The structures that a model is asked about.

    Args:
        frames: the m structures; for a hidden data set, transformed copies of some follow the structures themselves.
        order: (m,) in which they are sent.
        copies: None for a public data set.
    """

    frames: Frames
    order: Int
    copies: TransformedCopies | None


def questions(structures: Structures, observe_version: int, secret: bytes = b"") -> Questions:
    """The questions about the structures of a data set: always the same for the same arguments.

    Args:
        secret: of the store (`tasks.kind.Watch`): order and copies of hidden structures depend on it.
    """
    frames = structures.frames
    rng = generator_for(structures.frames_sha256, observe_version, secret if structures.hidden else b"")
    copies = draw_copies(frames, rng) if structures.hidden else None
    if copies is not None:
        frames = Frames.concatenate([frames, transformed(frames, copies)])
    return Questions(frames, rng.permutation(len(frames)), copies)


def observe_structures(
    structures: Structures, observe_version: int, properties: Properties, model: BatchCalculator, watch: Watch
) -> Observation:
    """The answers of the model to all structures, as `observe_frames` stores them, asked in a random order.

    For a hidden data set, answers to transformed copies are stored as `probe_…`: see
    `tasks.observing.memorisation_probes`. A failed copy is no failure of its structure, and failed copies alone never
    stop a task.
    """
    to_send, n = questions(structures, observe_version, watch.secret), len(structures.frames)
    n_copies = len(to_send.frames) - n
    # Failures of copies do not count as failures of structures. The half keeps the bound between two counts, so that
    # rounding cannot decide.
    allowed = (floor(watch.failed_share * n) + n_copies + 0.5) / (n + n_copies)
    sent = observe_frames(to_send.frames.take(to_send.order), properties, model, replace(watch, failed_share=allowed))
    atoms = to_send.frames.atom_indices(to_send.order)
    arrays = {name: put_back(a, atoms if name == "forces" else to_send.order) for name, a in sent.arrays.items()}
    if to_send.copies is not None:
        arrays = split_answers(arrays, structures.frames, to_send.copies)
    return Observation(arrays, sent.notes)


def observe_frames(frames: Frames, properties: Properties, model: BatchCalculator, watch: Watch) -> Observation:
    """The answers of the model to `frames`: arrays energy, forces, stress (if asked for and offered) and failure.

    Stress is asked for only if a structure is periodic in all directions.
    """
    wanted = offered(model, frames, properties)

    def progress(done: int) -> None:
        watch.progress(done, len(frames), "frames")

    answer = compute_in_batches(model, frames, wanted, progress, watch.failed_share, watch.in_time)
    return Observation(answer.arrays(wanted), {"properties": ",".join(wanted)})


def read_frames(observation: Observation, frames: Frames) -> Predictions:
    """The arrays that `observe_frames` stored, as `Predictions`.

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
