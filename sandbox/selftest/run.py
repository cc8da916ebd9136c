"""Runs the selftest: each attack through the real sandbox, and at the end a look at what was left behind."""

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
    images: HostileImages | None = None,
) -> tuple[AttackResult, ...]:
    """What came of each of `attacks`, in their order, and last whether a container was left behind.

    Args:
        on_result: told each result as it comes.
        images: as `hostile_images` says; None: built on the image that it takes by itself.

    Raises:
        JudgeFault: it could not begin; as `hostile_images`.
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
    """What builds the hostile images for `driver`.

    Args:
        base: image with Python, numpy and ASE that they are built on.

    Raises:
        JudgeFault: no engine, no `base`, or a driver that isolates nothing.
    """
    if driver.name != "docker":
        raise JudgeFault(
            FaultCause.DOCKER, f"the {driver.name} driver isolates nothing that a selftest could try: set driver docker"
        )
    return HostileImages(base)


def run_attack(attack: Attack, driver: Driver, images: HostileImages) -> AttackResult:
    """What came of `attack`. Whatever fails in the judge is not held: what could not be tried is not proven."""
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
    except Exception as error:  # noqa: BLE001 - else the selftest would not come to its end
        at = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(at.filename).name}:{at.lineno}"
        return Finding(False, f"our own examination failed ({type(error).__name__}, {place}): report it")
