"""The parts of a time: one call on the judge's clock, the share of the wire, and the noise of the host.

A *reference calculator* in the judge's process, EMT on a fixed cell of 32 copper atoms, shows the noise of the host. It
runs before, between and after the timing: a look is `N_REFERENCE` calls. The noise is the largest upper quartile of all
looks over the shortest of all calls. So it shows a host that slows down during the timing, and also a shared one, whose
looks are alike but have interrupted calls; one call in ten that is interrupted (by the kernel, the network) changes
nothing. Of 40 calls of 1.5 ms on two cores the ratio was 1.03 to 1.05 without other load, and 3.7 with four other jobs,
where the shortest calls took as long as without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tasks.kind import HostTooNoisy, Watch
from tasks.model.calculator import BatchCalculator, InProcessCalculator
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Predictions, Properties

N_REFERENCE = 40
N_ECHO = 20

Clock = Callable[[], float]


class TimedCall(NamedTuple):
    """An answer, and the seconds of the call."""

    seconds: float
    answer: Predictions


def timed(model: BatchCalculator, frames: Frames, wanted: Properties, clock: Clock) -> TimedCall:
    """One call of `model`."""
    begin = clock()
    answer = model.compute(frames, wanted)
    return TimedCall(clock() - begin, answer)


def time_reference(clock: Clock) -> Float:
    """(N_REFERENCE,) seconds of calls of EMT in this process on a fixed copper cell of 32 atoms."""
    from ase.build import bulk  # they take long to import, and most commands time nothing
    from ase.calculators.emt import EMT

    atoms = bulk("Cu", cubic=True).repeat(2)
    atoms.rattle(0.05, seed=0)
    model, frames = InProcessCalculator(EMT()), Frames.from_atoms([atoms])
    return np.array([timed(model, frames, ("energy", "forces"), clock).seconds for _ in range(N_REFERENCE)])


def noise_of(looks: Float) -> float:
    """The largest upper quartile over the shortest call, of looks (l, 2): [s] shortest call and upper quartile."""
    shortest, usual = looks[:, 0].min(), looks[:, 1].max()
    return float(usual / shortest) if shortest > 0 else np.inf


class HostNoise:
    """The noise of the host, from the reference calculator.

    Args:
        max_noise: beyond which the host is too noisy.
    """

    def __init__(self, clock: Clock, max_noise: float) -> None:
        self._clock, self._max_noise = clock, max_noise
        self._looks: list[tuple[float, float]] = []

    @property
    def looks(self) -> Float:
        """(l, 2) [s] the shortest call and the upper quartile of each look."""
        return np.array(self._looks, np.float64).reshape(-1, 2)

    def look(self) -> None:
        """Times the reference calculator once more.

        Raises:
            HostTooNoisy: the noise is beyond `max_noise`.
        """
        seconds = time_reference(self._clock)
        self._looks.append((float(seconds.min()), float(np.percentile(seconds, 75))))
        noise = noise_of(self.looks)
        if not noise <= self._max_noise:
            shortest, usual = 1e3 * self.looks[:, 0].min(), 1e3 * self.looks[:, 1].max()
            raise HostTooNoisy(
                f"the reference calculator takes {noise:.2f} times as long as it can ({usual:.3g} ms, not "
                f"{shortest:.3g}; max_noise = {self._max_noise:g}): end other programs on this host, or fix its clock "
                "rate, and run the timing again"
            )


def time_wire(watch: Watch, frames: Frames) -> Float:
    """(k,) seconds of round trips of as many bytes as `frames` has; (0,) without a wire."""
    if watch.echo is None:
        return np.zeros(0)
    nbytes = sum(array.nbytes for array in frames.arrays().values())
    return np.array([watch.echo(nbytes) for _ in range(N_ECHO)])
