"""Runs the selftest: each attack through the real sandbox, and at the end a check for containers left behind."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from sandbox.driver import Driver
from sandbox.selftest.attack import Attack, Finding, Trial
from sandbox.selftest.catalog import ATTACKS
from sandbox.selftest.images import CALCULATOR_IMAGE, HostileImages
from sandbox.selftest.watch import containers
from sandbox.verdict import FaultCause, JudgeFault

LEFT_BEHIND = "left-behind"


class AttackResult(NamedTuple):
    """The result of one attack."""

    name: str
    tries: str
    held: bool
    how: str
    seconds: float


def selftest(
    driver: Driver,
    on_result: Callable[[AttackResult], None] = lambda result: None,
    attacks: Sequence[Attack] = ATTACKS,
    images: HostileImages | None = None,
) -> tuple[AttackResult, ...]:
    """The results of `attacks`, in their order, and last whether a container was left behind.

    Args:
        on_result: called with each result when it is known.
        images: from `hostile_images`; None: built on its default base.

    Raises:
        JudgeFault: the selftest could not begin, for a reason that `hostile_images` names.
    """
    images = images or hostile_images(driver)
    results = []
    for attack in attacks:
        results.append(run_attack(attack, driver, images))
        on_result(results[-1])
    results.append(_left_behind(driver))
    on_result(results[-1])
    return tuple(results)


def hostile_images(driver: Driver, base: str = CALCULATOR_IMAGE) -> HostileImages:
    """The builder of the hostile images for `driver`.

    Args:
        base: an image with Python, numpy and ASE, on which they are built.

    Raises:
        JudgeFault: no engine, no `base`, or a driver that isolates nothing.
    """
    if driver.name != "docker":
        raise JudgeFault(
            FaultCause.DOCKER, f"the {driver.name} driver isolates nothing that a selftest could try: set driver docker"
        )
    return HostileImages(base)


def run_attack(attack: Attack, driver: Driver, images: HostileImages) -> AttackResult:
    """The result of `attack`. An error in the judge counts as not held, since nothing was proven."""
    begin = time.monotonic()
    finding = _found(lambda: attack.examine(Trial(driver, images.of(attack, driver))))
    return AttackResult(attack.name, attack.tries, finding.held, finding.how, time.monotonic() - begin)


def _left_behind(driver: Driver) -> AttackResult:
    begin = time.monotonic()

    def look() -> Finding:
        left = containers(driver)
        return Finding(not left, f"{len(left)} containers were left behind" if left else "no container is there")

    finding = _found(look)
    tries = "Any of them still has a container after its session."
    return AttackResult(LEFT_BEHIND, tries, finding.held, finding.how, time.monotonic() - begin)


def _found(look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except JudgeFault as fault:
        return Finding(False, f"this machine ({fault.cause}): {fault.remedy}")
    except Exception as error:  # noqa: BLE001 - the other attacks must still be tried
        at = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(at.filename).name}:{at.lineno}"
        return Finding(False, f"the judge's own examination failed ({type(error).__name__}, {place}): report it")
