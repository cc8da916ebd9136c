"""Timing single frames, one per message, each at the planned size or the largest that fits into memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tasks.kind import Watch
from tasks.model.calculator import BatchCalculator, offered
from tasks.observing.time_budget import TimeBudget
from tasks.simulation.supercells import Counts, largest_that_fits, smaller_repeats
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import ALL_PROPERTIES, Cause, Predictions, Properties
from tasks.timing.timing import HostNoise, timed
from tasks.timing.timing_plan import TimingPlan

# Measurements of the host's noise while frames are timed, evenly spread, besides those before and after.
LOOKS_BETWEEN = 3


def causes_of(answer: Predictions, frames: Frames, wanted: Properties) -> NDArray[np.int8]:
    """(n,) codes of `Cause`: UNSUPPORTED also if the answer to a frame lacks a property that was `wanted`.

    Otherwise a model could omit a property that it offers, and be timed on less work.
    """
    missing = np.full(len(frames), "forces" in wanted and answer.forces is None)
    if "stress" in wanted:
        stress = np.full((len(frames), 6), np.nan) if answer.stress is None else answer.stress
        missing |= frames.periodic & ~np.isfinite(stress).all(axis=1)
    return np.where((answer.failure == 0) & missing, Cause.UNSUPPORTED, answer.failure).astype(np.int8)


@dataclass
class TimedFrame:
    """The timing of one frame.

    Args:
        counts: repeats of its structure.
        seconds: NaN where it failed. They include the timed calls that ran out of memory before: otherwise a model
            could claim that and have a slow call measured again.
    """

    counts: Counts
    cause: Cause = Cause.OVER_TIME
    seconds: float = np.nan
    answer: Predictions | None = None

    @property
    def with_stress(self) -> bool:
        """Whether stress was answered as well."""
        stress = None if self.answer is None else self.answer.stress
        return stress is not None and bool(np.isfinite(stress).all())


@dataclass
class SingleFrameTimer:
    """Times the frames of `plan`.

    Attributes:
        sizes: by structure, its repeats: as planned, or the largest that fit.
        cold: (2,) seconds and atoms of the first call; NaN seconds if it was not answered, all NaN before it. Never
            those of a later call: a model could fail the first one to hide the cost of its start.
    """

    plan: TimingPlan
    model: BatchCalculator
    watch: Watch
    sizes: dict[int, Counts] = field(default_factory=dict)
    cold: Float = field(default_factory=lambda: np.full(2, np.nan))

    def run(self, host: HostNoise) -> list[TimedFrame]:
        """All frames in turn; those that do not finish in the remaining time are OVER_TIME.

        Raises:
            HostTooNoisy: from `host`.
        """
        n = self.plan.parameters.n_frames
        self.sizes = {int(s): self.plan.counts(int(s)) for s in np.unique(self.plan.sources)}
        frames = [TimedFrame(self.sizes[int(source)]) for source in self.plan.sources]
        if "forces" not in self.model.properties:  # energies alone are an easier task
            return [TimedFrame(frame.counts, Cause.UNSUPPORTED) for frame in frames]
        looks = {k * n // (LOOKS_BETWEEN + 1) for k in range(1, LOOKS_BETWEEN + 1)} - {0}
        budget = TimeBudget(self.watch, n)
        for index in range(n):
            if index in looks:
                host.look()
            if not budget.allows_step(index):
                break
            frames[index] = self._time(index)
            self.watch.progress(index + 1, n, "frames")
        return frames

    def _time(self, index: int) -> TimedFrame:
        source, lost = int(self.plan.sources[index]), 0.0
        while True:
            frame = self._time_at(index, self.sizes[source])
            if frame.cause is not Cause.OUT_OF_MEMORY:
                return replace(frame, seconds=frame.seconds + lost)
            lost += frame.seconds
            smaller = self._smaller(index, frame.counts)
            if smaller is None:
                return TimedFrame(frame.counts, frame.cause)
            self.sizes[source] = smaller
            if self.watch.clock() > self.watch.deadline:
                return TimedFrame(smaller)

    def _time_at(self, index: int, counts: Counts) -> TimedFrame:
        """Frame `index` at that size, after one of the same shape; if out of memory, with the seconds of the call."""
        pair = self.plan.pair(index, counts)
        wanted = offered(self.model, pair.timed, ALL_PROPERTIES)
        first = timed(self.model, pair.untimed, wanted, self.watch.clock)
        if np.isnan(self.cold[1]):
            answered = not causes_of(first.answer, pair.untimed, wanted)[0]
            self.cold = np.array([first.seconds if answered else np.nan, len(pair.untimed.numbers)])
        if first.answer.failure[0] == Cause.OUT_OF_MEMORY:
            return TimedFrame(counts, Cause.OUT_OF_MEMORY, 0.0)
        second = timed(self.model, pair.timed, wanted, self.watch.clock)
        cause = Cause(int(causes_of(second.answer, pair.timed, wanted)[0]))
        if cause:
            return TimedFrame(counts, cause, second.seconds if cause is Cause.OUT_OF_MEMORY else np.nan)
        return TimedFrame(counts, Cause.NONE, second.seconds, second.answer)

    def _smaller(self, index: int, counts: Counts) -> Counts | None:
        """The largest size below `counts` that fits, by bisection; None if there is no smaller size.

        If none fits, the smallest: later frames of the structure then need no search.
        """
        frames, source = self.plan.structures.frames, int(self.plan.sources[index])
        sizes = smaller_repeats(frames.cell[source], frames.pbc[source].tolist(), counts)

        def fits(counts: Counts) -> bool:
            probe = self.plan.probe(index, counts)
            answer = self.model.compute(probe, offered(self.model, probe, ALL_PROPERTIES))
            return bool(answer.failure[0] != Cause.OUT_OF_MEMORY)

        return (largest_that_fits(sizes, fits) or sizes[0]) if sizes else None
