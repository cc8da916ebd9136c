"""A fresh start of the model, which is asked about structures and transformed copies in a random order.

It begins as a task with labels does: with structures as data sets have them, in batches. Of all that follows, every
frame is rotated and translated, and its atoms change their order; the answers are transformed back. The random numbers
depend on the secret of the store, so nobody can know the questions or their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from ase.geometry import wrap_positions
from ase.stress import full_3x3_to_voigt_6_stress, voigt_6_to_full_3x3_stress

from tasks.kind import Watch
from tasks.model.calculator import BatchCalculator, compute_in_batches, offered
from tasks.structures.frames import PER_ATOM, Float, Frames, Int
from tasks.structures.predictions import ALL_PROPERTIES, Cause, Predictions
from tasks.structures.rotations import other_order, random_rotation
from tasks.timing.frame_answers import FrameAnswer
from tasks.timing.single_frames import causes_of

FARTHEST = 10.0  # Å, of each component of a translation


class Answered(NamedTuple):
    """An answer as to the original frame; NaN and the cause if there is none."""

    answer: FrameAnswer
    cause: Cause


class Copy(NamedTuple):
    """A transformed copy of one frame.

    Args:
        rotation: (3, 3), x → x Rᵀ.
        order: (n,) for each atom of the copy, its index in the original.
    """

    frame: Frames
    rotation: Float
    order: Int

    @classmethod
    def unchanged(cls, original: Frames) -> Copy:
        """The original."""
        return cls(original, np.eye(3), np.arange(len(original.numbers)))

    @classmethod
    def of(cls, original: Frames, rng: np.random.Generator) -> Copy:
        """A random copy. Translated atoms are wrapped back into the cell in its periodic directions."""
        rotation, order = random_rotation(rng), other_order(len(original.numbers), rng)
        cell, translation = original.cell @ rotation.T, rng.uniform(-FARTHEST, FARTHEST, 3)
        positions = original.positions @ rotation.T + translation
        if original.pbc.any():
            positions = wrap_positions(positions, cell[0], original.pbc[0])
        arrays = original.moved(positions, cell).arrays()
        return cls(
            Frames.from_arrays({**arrays, **{name: arrays[name][order] for name in PER_ATOM if name in arrays}}),
            rotation,
            order,
        )

    def answer(self, answer: Predictions, index: int, atoms: slice, cause: int) -> Answered:
        """Row `index` of `answer`, transformed back."""
        if cause or answer.forces is None:
            return Answered(FrameAnswer.missing(len(self.order)), Cause(cause or Cause.UNSUPPORTED))
        forces, stress = np.empty((len(self.order), 3)), np.full(6, np.nan)
        forces[self.order] = answer.forces[atoms] @ self.rotation
        if answer.stress is not None and self.frame.periodic[0]:
            rotated = voigt_6_to_full_3x3_stress(answer.stress[index])
            stress = full_3x3_to_voigt_6_stress(self.rotation.T @ rotated @ self.rotation)
        return Answered(FrameAnswer(float(answer.energy[index]), forces, stress), Cause.NONE)


class FreshStart:
    """A fresh start of `model`.

    Args:
        rng: of the transformations and of the order.
        n_frames: that it will be asked about in all, for the progress.
    """

    def __init__(self, model: BatchCalculator, watch: Watch, rng: np.random.Generator, n_frames: int) -> None:
        self._model, self._watch, self._rng, self._n_frames = model, watch, rng, n_frames
        self._done = 0

    def ask(self, frames: Sequence[Frames]) -> list[Answered]:
        """The answers to copies of `frames`; each is sent by itself, as in the timing, in a random order."""
        answers: dict[int, Answered] = {}
        for index in self._rng.permutation(len(frames)).tolist():
            (answers[index],) = self._send([Copy.of(frames[index], self._rng)])
        return [answers[index] for index in range(len(frames))]

    def ask_as_labelled(self, frames: Sequence[Frames]) -> list[Answered]:
        """The answers to `frames`; they are sent as they are, in batches and a random order, as labelled frames are."""
        if not frames:
            return []
        order = self._rng.permutation(len(frames)).tolist()
        answers = dict(zip(order, self._send([Copy.unchanged(frames[index]) for index in order]), strict=True))
        return [answers[index] for index in range(len(frames))]

    def _send(self, copies: Sequence[Copy]) -> list[Answered]:
        """The answers to `copies`; OVER_TIME after the deadline."""
        frames, begun = Frames.concatenate([copy.frame for copy in copies]), self._done
        self._done += len(copies)
        if not self._watch.in_time():
            return [Answered(FrameAnswer.missing(int(n)), Cause.OVER_TIME) for n in frames.n_atoms]

        def progress(done: int) -> None:
            self._watch.progress(begun + done, self._n_frames, "frames checked")

        wanted = offered(self._model, frames, ALL_PROPERTIES)
        answer = compute_in_batches(self._model, frames, wanted, progress, in_time=self._watch.in_time)
        causes = causes_of(answer, frames, wanted).tolist()
        return [copy.answer(answer, i, frames.atom_slice(i), causes[i]) for i, copy in enumerate(copies)]
