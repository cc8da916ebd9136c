"""Runs the selftest: each attack through the real sandbox, and at the end a look at what was left behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sandbox.driver import Driver
from sandbox.selftest.attack import Attack, Finding, Trial
from sandbox.selftest.catalog import ATTACKS
from sandbox.selftest.images import CALCULATOR_IMAGE, HostileImages
from sandbox.selftest.watch import containers
from sandbox.verdict import FaultCause, JudgeFault

LEFT_BEHIND = "left-behind"


class AttackResult(NamedTuple):
    """What came of one attack."""

    name: str
    tries: str
    held: bool
    how: str
    seconds: float


def selftest(
    driver: Driver,
    on_result: Callable[[AttackResult], None] = lambda result: None,
    attacks: Sequence[Attack] = ATTACKS,
    base: str = CALCULATOR_IMAGE,
) -> tuple[AttackResult, ...]:
    """What came of each of `attacks`, in their order, and last whether a container was left behind.

    Args:
        on_result: told each result as it comes.
        base: image with Python, numpy and ASE that the hostile ones are built on.

    Raises:
        JudgeFault: it could not begin: no engine, no `base`, or a driver that isolates nothing.
    """
    if driver.name != "docker":
        raise JudgeFault(
            FaultCause.DOCKER, f"the {driver.name} driver isolates nothing that a selftest could try: set driver docker"
        )
    images = HostileImages(base)
    results = []
    for attack in attacks:
        results.append(run_attack(attack, driver, images))
        on_result(results[-1])
    results.append(_left_behind(driver))
    on_result(results[-1])
    return tuple(results)


def run_attack(attack: Attack, driver: Driver, images: HostileImages) -> AttackResult:
    """What came of `attack`. A fault of the judge is not held: what could not be tried is not proven."""
    begin = time.monotonic()
    try:
        finding = attack.examine(Trial(driver, images.of(attack, driver)))
    except JudgeFault as fault:
        finding = Finding(False, f"this machine ({fault.cause}): {fault.mend}")
    return AttackResult(attack.name, attack.tries, finding.held, finding.how, time.monotonic() - begin)


def _left_behind(driver: Driver) -> AttackResult:
    begin = time.monotonic()
    try:
        left = containers(driver)
        finding = Finding(not left, f"{len(left)} containers were left behind" if left else "no container is there")
    except JudgeFault as fault:
        finding = Finding(False, f"this machine ({fault.cause}): {fault.mend}")
    tries = "Any of them still has a container after its session."
    return AttackResult(LEFT_BEHIND, tries, finding.held, finding.how, time.monotonic() - begin)
