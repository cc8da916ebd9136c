"""Attacks by broken messages: each soon ends in its verdict, and costs the judge little memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sandbox.limits import MIB
from sandbox.selftest.attack import Finding, Trial, stated_attacks
from sandbox.selftest.own_memory import watched_memory
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import SessionOutcome
from tasks.structures.frames import Frames

# The memory that an answer to a few atoms may cost the judge: three copies of a header, and the engine's client.
MOST_MEMORY = 16 * MIB
# A breach is detected as soon as its bytes arrive.
MOST_SECONDS = 4.0
MESSAGE_S = 1.0
STARTUP_S = 2.5
# The delay that late wake-ups and the kernel's ticks may add to a deadline.
LATE_S = 2.0


def atoms(count: int = 1) -> Frames:
    """One structure of `count` hydrogen atoms at random places: no two trials send the same."""
    positions = np.random.default_rng().uniform(0.0, 100.0, (count, 3))
    return Frames.from_arrays(
        {
            "n_atoms": np.array([count]),
            "numbers": np.ones(count, np.int64),
            "positions": positions,
            "cell": np.zeros((1, 3, 3)),
            "pbc": np.zeros((1, 3), np.bool_),
            "charge": np.zeros(1, np.int64),
            "multiplicity": np.zeros(1, np.int64),
        }
    )


def ask_twice(remote: RemoteCalculator) -> list[float]:
    """The energies of two structures of one atom."""
    return [float(remote.compute(atoms(), ("energy", "forces")).energy[0]) for _ in range(2)]


class Watched(NamedTuple):
    """A session, the peak of the judge's own memory, and the seconds of the exchange after the hello."""

    outcome: SessionOutcome[Any]
    memory_bytes: int
    seconds: float


def watch(trial: Trial, body: Callable[[RemoteCalculator], Any], **limits: Any) -> Watched:
    """The outcome of a session, and its cost for the judge."""
    seconds = [0.0]

    def timed(remote: RemoteCalculator) -> Any:
        begin = time.monotonic()
        try:
            return body(remote)
        finally:
            seconds[0] = time.monotonic() - begin

    with watched_memory() as memory:
        outcome = trial.run(timed, **limits)
    return Watched(outcome, memory.peak_bytes, seconds[0])


def complaint(seen: Watched, expected: Verdict) -> str:
    """Why a session did not end as expected; empty if it did."""
    if seen.outcome.verdict is not expected:
        return f"ended as {seen.outcome.verdict}, not {expected}"
    if not seen.memory_bytes <= MOST_MEMORY:
        return f"took {seen.memory_bytes / MIB:.0f} MiB of the judge's memory"
    if not seen.seconds <= MOST_SECONDS:
        return f"ended late, after {seen.seconds:.1f} s"
    return ""


@dataclass(frozen=True)
class Refused:
    """Examines an image by its verdicts, one for each of its variants."""

    verdicts: Sequence[Verdict]

    def __call__(self, trial: Trial) -> Finding:
        peak = 0
        for number, expected in enumerate(self.verdicts, start=1):
            seen = watch(trial, ask_twice, max_atoms_per_batch=number)
            wrong = complaint(seen, expected)
            if wrong:
                return Finding(False, f"way {number} of {len(self.verdicts)} {wrong}")
            peak = max(peak, seen.memory_bytes)
        named = " or ".join(sorted(set(self.verdicts)))
        return Finding(True, f"{len(self.verdicts)} of {len(self.verdicts)} ended as {named}; {peak / MIB:.1f} MiB")


def marker_of(frames: Frames) -> str:
    """The file that the judge would have created by unpickling the answer about `frames`."""
    return f"/tmp/lambench-unpickled-{frames.positions[0, :1].tobytes().hex()}"


def examine_pickle(trial: Trial) -> Finding:
    """Four ways to have a pickle loaded: none of them works, and no file is created."""
    verdicts = (Verdict.PROTOCOL_ERROR, Verdict.PROTOCOL_ERROR, Verdict.PROTOCOL_ERROR, Verdict.OK)
    for number, expected in enumerate(verdicts, start=1):
        frames = atoms()

        def ask(remote: RemoteCalculator, frames: Frames = frames) -> bool:
            return bool(remote.compute(frames, ("energy", "forces")).ok[0])

        seen = watch(trial, ask, max_atoms_per_batch=number)
        if os.path.lexists(marker_of(frames)):
            os.unlink(marker_of(frames))
            return Finding(False, f"way {number}: the judge loaded the pickle")
        # As the text of a failure the pickle is only a text: the frame has failed, and nothing else has happened.
        wrong = complaint(seen, expected) or ("was taken for an answer" if seen.outcome.value else "")
        if wrong:
            return Finding(False, f"way {number} of {len(verdicts)} {wrong}")
    return Finding(True, "in four places, and nothing loaded it: no file was created")


def examine_escapes(trial: Trial) -> Finding:
    """Texts of the hello hold only printable characters; those of a failed start do not reach the judge's sentence."""
    greeted = trial.run(lambda remote: None, max_atoms_per_batch=1)
    failed = trial.run(lambda remote: None, max_atoms_per_batch=2)
    hello = greeted.hello
    if hello is None or failed.verdict is not Verdict.STARTUP_FAILED:
        return Finding(False, f"ended as {greeted.verdict} and {failed.verdict}")
    texts = [hello.calculator, hello.device, *hello.versions, *hello.versions.values(), failed.sentence]
    plain = all(text.isprintable() and len(text) <= 400 for text in texts)
    if not plain:
        return Finding(False, "an escape sequence, or an overlong text, came through the hello or a failed start")
    return Finding(True, "no escape sequence was left of the hello, nor of a failed start in the judge's sentence")


MALFORMED, _TOO_LARGE = Verdict.PROTOCOL_ERROR, Verdict.OUTPUT_LIMIT

PROTOCOL_ATTACKS = stated_attacks(
    {
        "pickle": examine_pickle,
        "header-no-json": Refused([MALFORMED] * 5),
        "duplicate-names": Refused([MALFORMED] * 2),
        "numbers-that-are-none": Refused([MALFORMED] * 7),
        "offsets": Refused([MALFORMED] * 5),
        "types-and-shapes": Refused([*[MALFORMED] * 4, Verdict.WRONG_SHAPE]),
        "enormous-message": Refused([_TOO_LARGE, MALFORMED, _TOO_LARGE, _TOO_LARGE]),
        "many-keys": Refused([MALFORMED] * 2),
        "impossible-hello": Refused([MALFORMED, _TOO_LARGE, *[MALFORMED] * 6]),
        "escape-sequences": examine_escapes,
        "impossible-failures": Refused([MALFORMED] * 8),
    }
)
