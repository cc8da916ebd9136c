"""Timing frames one a message, each at the size planned for it or the largest that fits into memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tasks.kind import Watch
from tasks.model.calculator import BatchCalculator
from tasks.observing.time_budget import Pace
from tasks.simulation.supercells import Counts, largest_that_fits, smaller_repeats
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause, Predictions, Properties
from tasks.timing.timing import Host, asked_for, timed
from tasks.timing.timing_plan import Plan

# Looks at the host while frames are timed, evenly spread, besides those before and after.
LOOKS_BETWEEN = 3


def causes_of(answer: Predictions, frames: Frames, wanted: Properties) -> NDArray[np.int8]:
    """(n,) codes of `Cause`: UNSUPPORTED also where something that was `wanted` of a frame is not in its answer.

    Else a model would be timed on less than it offers by leaving it out.
    """
    missing = np.full(len(frames), "forces" in wanted and answer.forces is None)
    if "stress" in wanted:
        stress = np.full((len(frames), 6), np.nan) if answer.stress is None else answer.stress
        missing |= frames.periodic & ~np.isfinite(stress).all(axis=1)
    return np.where((answer.failure == 0) & missing, Cause.UNSUPPORTED, answer.failure).astype(np.int8)


@dataclass
class Single:
    """What came of one frame.

    Args:
        counts: how often its structure was repeated.
        seconds: NaN where it failed; with those of its timed calls that ran out of memory before one did not, or
            claiming to would be a way to have a slow call measured again.
    """

    counts: Counts
    cause: Cause = Cause.OVER_TIME
    seconds: float = np.nan
    answer: Predictions | None = None

    @property
    def with_stress(self) -> bool:
        """Whether stress was answered, too."""
        stress = None if self.answer is None else self.answer.stress
        return stress is not None and bool(np.isfinite(stress).all())


@dataclass
class SingleFrames:
    """Times the frames of `plan`.

    Attributes:
        sizes: by structure, how often it is repeated: as planned, or what fitted.
        cold: (2,) seconds and atoms of the first call; NaN seconds where it was not answered, all NaN before it.
            Not those of the first that was: failing the first call would hide what a start costs.
    """

    plan: Plan
    model: BatchCalculator
    watch: Watch
    sizes: dict[int, Counts] = field(default_factory=dict)
    cold: Float = field(default_factory=lambda: np.full(2, np.nan))

    def run(self, host: Host) -> list[Single]:
        """All frames in turn; those that could not be finished in the time that is left are OVER_TIME.

        Raises:
            HostTooNoisy: as `host` says.
        """
        n = self.plan.parameters.n_frames
        self.sizes = {int(s): self.plan.counts(int(s)) for s in np.unique(self.plan.sources)}
        found = [Single(self.sizes[int(source)]) for source in self.plan.sources]
        if "forces" not in self.model.properties:  # energies alone would be another, easier task
            return [Single(single.counts, Cause.UNSUPPORTED) for single in found]
        looks = {k * n // (LOOKS_BETWEEN + 1) for k in range(1, LOOKS_BETWEEN + 1)} - {0}
        pace = Pace(self.watch, n)
        for index in range(n):
            if index in looks:
                host.look()
            if not pace.may_go_on(index):
                break
            found[index] = self._single(index)
            self.watch.progress(index + 1, n, "frames")
        return found

    def _single(self, index: int) -> Single:
        source, lost = int(self.plan.sources[index]), 0.0
        while True:
            single = self._at(index, self.sizes[source])
            if single.cause is not Cause.OUT_OF_MEMORY:
                return replace(single, seconds=single.seconds + lost)
            lost += single.seconds
            smaller = self._smaller(index, single.counts)
            if smaller is None:
                return Single(single.counts, single.cause)
            self.sizes[source] = smaller
            if self.watch.clock() > self.watch.deadline:
                return Single(smaller)

    def _at(self, index: int, counts: Counts) -> Single:
        """Frame `index` at that size, after one of its shape. Where it is out of memory, with the seconds that took."""
        pair = self.plan.pair(index, counts)
        wanted = asked_for(self.model, pair.timed)
        first = timed(self.model, pair.untimed, wanted, self.watch.clock)
        if np.isnan(self.cold[1]):
            answered = not causes_of(first.answer, pair.untimed, wanted)[0]
            self.cold = np.array([first.seconds if answered else np.nan, len(pair.untimed.numbers)])
        if first.answer.failure[0] == Cause.OUT_OF_MEMORY:
            return Single(counts, Cause.OUT_OF_MEMORY, 0.0)
        second = timed(self.model, pair.timed, wanted, self.watch.clock)
        cause = Cause(int(causes_of(second.answer, pair.timed, wanted)[0]))
        if cause:
            return Single(counts, cause, second.seconds if cause is Cause.OUT_OF_MEMORY else np.nan)
        return Single(counts, Cause.NONE, second.seconds, second.answer)

    def _smaller(self, index: int, counts: Counts) -> Counts | None:
        """The largest size below `counts` that fits, by bisection; None where none is left to try.

        Where none fits, the smallest, so that the structure's later frames are not searched for again.
        """
        frames, source = self.plan.structures.frames, int(self.plan.sources[index])
        sizes = smaller_repeats(frames.cell[source], frames.pbc[source].tolist(), counts)

        def fits(counts: Counts) -> bool:
            probe = self.plan.probe(index, counts)
            answer = self.model.compute(probe, asked_for(self.model, probe))
            return bool(answer.failure[0] != Cause.OUT_OF_MEMORY)

        return (largest_that_fits(sizes, fits) or sizes[0]) if sizes else None
