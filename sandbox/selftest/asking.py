"""Ask a hostile image to try its attack, and read its report; see `hostile/report.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from ase import Atoms

from sandbox.selftest.attack import Finding, Trial
from sandbox.selftest.watch import WatchedContainer
from sandbox.verdict import SubmissionFault, Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import SessionOutcome
from tasks.structures.frames import Frames

N_NUMBERS = 24
# Limits for `Trial.run`: an attempt may walk through the whole image, on a busy machine.
PATIENCE: Mapping[str, float] = {"startup_s": 60.0, "message_s": 30.0, "task_s": 60.0}

Look = Callable[[RemoteCalculator, WatchedContainer], Finding]


def report(remote: RemoteCalculator, *given: float) -> tuple[float, ...]:
    """The numbers with which the image reports its attempt.

    Args:
        given: the numbers that are sent to the image, at most `N_NUMBERS`.

    Raises:
        SubmissionFault: the attempt itself failed.
    """
    positions = np.zeros((N_NUMBERS, 3))
    positions[: len(given), 0] = given
    positions[:, 1] = np.arange(N_NUMBERS)
    answer = remote.compute(Frames.from_atoms([Atoms(f"H{N_NUMBERS}", positions)]), ("energy", "forces"))
    if not answer.ok.all() or answer.forces is None:
        causes = ", ".join(f"{error.kind}: {error.text}" for error in answer.errors.values())
        raise SubmissionFault(Verdict.CRASHED, "the image could not try it", causes)
    return tuple(answer.forces[: int(answer.energy[0]), 0].tolist())


def watched(look: Look, **limits: Any) -> Callable[[Trial], Finding]:
    """An examination in which `look` asks the image and sees the container from outside.

    Args:
        limits: as `Trial.run` takes them.
    """

    def examine(trial: Trial) -> Finding:
        return found(trial.run(lambda remote: look(remote, WatchedContainer.of(trial)), **{**PATIENCE, **limits}))

    return examine


def found(outcome: SessionOutcome[Finding]) -> Finding:
    """The finding of the body; not held if the attack could not be tried."""
    return outcome.value or Finding(False, f"it could not be tried: {outcome.verdict}: {outcome.sentence}")
