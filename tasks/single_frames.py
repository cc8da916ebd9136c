"""Timing frames one a message, each at the size planned for it or the largest that fits into memory."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tasks.calculator import BatchCalculator
from tasks.frames import Float
from tasks.kind import Watch
from tasks.pace import Pace
from tasks.predictions import Cause, Predictions
from tasks.replicate import Counts, largest_that_fits, smaller_repeats
from tasks.timing import Host, asked_for, timed
from tasks.timing_plan import Plan

# Looks at the host while frames are timed, evenly spread, besides those before and after.
LOOKS_BETWEEN = 3


@dataclass
class Single:
    """What came of one frame.

    Args:
        counts: how often its structure was repeated.
        seconds: NaN where it failed.
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
        cold: (2,) seconds and atoms of the first call that was answered; NaN before.
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
        source = int(self.plan.sources[index])
        while True:
            single = self._at(index, self.sizes[source])
            if single.cause is not Cause.OUT_OF_MEMORY:
                return single
            smaller = self._smaller(index, single.counts)
            if smaller is None:
                return single
            self.sizes[source] = smaller
            if self.watch.clock() > self.watch.deadline:
                return Single(smaller)

    def _at(self, index: int, counts: Counts) -> Single:
        """Frame `index` at that size, after one of its shape."""
        pair = self.plan.pair(index, counts)
        wanted = asked_for(self.model, pair.timed)
        first = timed(self.model, pair.untimed, wanted, self.watch.clock)
        if first.answer.ok[0] and np.isnan(self.cold[0]):
            self.cold = np.array([first.seconds, len(pair.untimed.numbers)])
        if first.answer.failure[0] == Cause.OUT_OF_MEMORY:
            return Single(counts, Cause.OUT_OF_MEMORY)
        second = timed(self.model, pair.timed, wanted, self.watch.clock)
        if not second.answer.ok[0]:
            return Single(counts, Cause(int(second.answer.failure[0])))
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
