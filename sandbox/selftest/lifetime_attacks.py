"""Attacks that start in another way than the judge chooses, or outlive the session."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from sandbox.driver import Image
from sandbox.rundir import GUEST_NAME
from sandbox.selftest.asking import PATIENCE, report, watched
from sandbox.selftest.attack import Finding, Trial, stated_attacks
from sandbox.selftest.watch import WatchedContainer, containers, host_processes
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import SessionOutcome

HEALTH_S = 3.0
MOMENT_S = 5.0
END_S = 12.0


def named(number: int) -> list[str]:
    """The host's processes with `number` in their command."""
    return [process.command for process in host_processes() if f"lambench-selftest-{number}" in process.command]


def gone(trial: Trial, number: int) -> bool:
    """Whether soon neither a process with that number nor a container of the image is left."""
    until = time.monotonic() + MOMENT_S
    image = trial.image if isinstance(trial.image, Image) else None
    while named(number) or containers(trial.driver, image):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def _stays(answers: bool, **limits: float) -> Callable[[Trial], Finding]:
    """Held if the process that the image leaves behind is seen during its session, and gone after it.

    Args:
        answers: whether the image answers; else it must reach its time limit.
    """

    def examine(trial: Trial) -> Finding:
        number = secrets.randbelow(10**9)
        present: list[bool] = []
        asked_at: list[float] = []

        def look(remote: RemoteCalculator) -> bool:
            seen = WatchedContainer.of(trial)
            try:
                report(remote, number)
            finally:
                present.append(bool(seen.await_command(f"lambench-selftest-{number}")))
                asked_at.append(time.monotonic())
            return True

        outcome = trial.run(look, **limits)
        took_s = time.monotonic() - max(asked_at, default=0.0)
        return _judge_end(outcome, answers, any(present), took_s, gone(trial, number))

    return examine


def _judge_end(outcome: SessionOutcome[bool], answers: bool, present: bool, took_s: float, gone: bool) -> Finding:
    expected = Verdict.OK if answers else Verdict.TIME_LIMIT
    if outcome.verdict is not expected:
        return Finding(False, f"it could not be tried: {outcome.verdict}: {outcome.sentence}")
    if not present:
        return Finding(False, "its process never existed: this proves nothing")
    if not took_s < END_S:
        return Finding(False, f"its session took {took_s:.0f} s to end")
    return Finding(gone, "nothing of it is left" if gone else "a process or container of it is left")


def _health(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    ran, by_hand = report(remote, HEALTH_S)
    if by_hand != 1:
        return Finding(False, "its health check cannot run at all: this proves nothing")
    log = (seen.again().seen["State"].get("Health") or {}).get("Log")  # Podman keeps an empty one
    held = ran == 0 and not log
    return Finding(held, "its health check was never run" if held else "its health check was run")


def _entrypoint(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    ran, by_hand = report(remote)
    if by_hand != 1:
        return Finding(False, "its entrypoint cannot run at all: this proves nothing")
    held = ran == 0 and any(GUEST_NAME in process.command for process in seen.processes())
    return Finding(held, "the guest was started instead" if held else "its own entrypoint was run")


LIFETIME_ATTACKS = stated_attacks(
    {
        "outlive-session": _stays(answers=True, **PATIENCE),
        "ignore-signals": _stays(answers=True, **PATIENCE),
        "freeze": _stays(answers=False, message_s=2),
        "image-healthcheck": watched(_health),
        "image-entrypoint": watched(_entrypoint),
    }
)
