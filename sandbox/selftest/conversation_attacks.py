"""Attacks by correct messages that are sent too slowly, too often, in the wrong order or over another connection."""

from __future__ import annotations

import time

from sandbox.evidence import Phase
from sandbox.guest.wire import TimedOut
from sandbox.selftest.attack import Finding, Trial, stated_attacks
from sandbox.selftest.protocol_attacks import (
    LATE_S,
    MALFORMED,
    MESSAGE_S,
    STARTUP_S,
    Refused,
    ask_twice,
    atoms,
    complaint,
    watch,
)
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator


def examine_slowness(trial: Trial) -> Finding:
    """The deadline is for the whole message, not for each byte; for the hello it is the deadline of the start."""
    answer = watch(trial, ask_twice, max_atoms_per_batch=1, message_s=MESSAGE_S)
    hello = watch(trial, ask_twice, max_atoms_per_batch=2, startup_s=STARTUP_S)
    wrong = complaint(answer, Verdict.TIME_LIMIT) or complaint(hello, Verdict.STARTUP_TIMEOUT)
    if wrong:
        return Finding(False, wrong)
    return Finding(
        True, f"given up after {answer.seconds:.1f} s, at a deadline of {MESSAGE_S:g} s for the whole message"
    )


def examine_silence(trial: Trial) -> Finding:
    """The judge does not wait beyond the deadline while it sends a question larger than the kernel's buffers."""
    frames = atoms(100_000)
    given_up: list[float] = []

    def ask(remote: RemoteCalculator) -> None:
        begin = time.monotonic()
        try:
            remote.compute(frames, ("energy",))
        except TimedOut as late:
            if "not taken" in str(late):
                given_up.append(time.monotonic() - begin)
            raise

    outcome = trial.run(ask, message_s=MESSAGE_S)
    if outcome.verdict is not Verdict.TIME_LIMIT or not given_up:
        return Finding(False, f"ended as {outcome.verdict}, or it was read")
    when = f"after {given_up[0]:.1f} s, at a deadline of {MESSAGE_S:g} s"
    if not given_up[0] <= MESSAGE_S + LATE_S:
        return Finding(False, f"sending was given up late: {when}")
    return Finding(True, f"sending was given up {when}")


def examine_sleep(trial: Trial) -> Finding:
    """A start has a deadline."""
    outcome = trial.run(lambda remote: None, startup_s=STARTUP_S)
    asleep = outcome.phase is Phase.START and "asleep" in outcome.private
    if outcome.verdict is not Verdict.STARTUP_TIMEOUT or not asleep:
        return Finding(False, f"ended as {outcome.verdict}, or it did not sleep")
    return Finding(True, f"it was ended at its deadline of {STARTUP_S:g} s: {outcome.verdict}")


def examine_second_connection(trial: Trial) -> Finding:
    """The listener closes behind the first connection."""
    outcome = trial.run(ask_twice)
    if outcome.verdict is not Verdict.OK or outcome.value != [0.0, 0.0]:
        return Finding(False, f"ended as {outcome.verdict}, or a byte came over the second connection")
    return Finding(True, "the first connection was served and no byte came over the second")


def examine_reconnecting(trial: Trial) -> Finding:
    """A submission that closes its connection has ended."""
    outcome = trial.run(ask_twice)
    if outcome.verdict is not Verdict.CRASHED or "refused twenty times" not in outcome.private:
        return Finding(False, f"ended as {outcome.verdict}, or the second connection was not refused")
    return Finding(True, f"the second connection was refused, and the session ended as {outcome.verdict}")


def examine_beside_the_guest(trial: Trial) -> Finding:
    """A forged answer counts as the container's answer; the guest's answer is then one too many."""
    outcome = trial.run(ask_twice)
    if outcome.verdict is not Verdict.PROTOCOL_ERROR:
        return Finding(False, f"ended as {outcome.verdict}")
    return Finding(True, f"two answers under one id ended the session: {outcome.verdict}")


CONVERSATION_ATTACKS = stated_attacks(
    {
        "one-byte-at-a-time": examine_slowness,
        "another-id": Refused([MALFORMED] * 2),
        "early-answer": Refused([MALFORMED]),
        "two-answers": Refused([MALFORMED] * 2),
        "beside-the-guest": examine_beside_the_guest,
        "hello-twice": Refused([MALFORMED]),
        "second-connection": examine_second_connection,
        "reconnecting": examine_reconnecting,
        "never-reads": examine_silence,
        "sleeps-at-start": examine_sleep,
    }
)
