"""Ways to ask a calculator of `models`: in this process, and through the real guest in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sandbox.driver import Question
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.limits import Limits
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import SessionOutcome, run_session
from tasks.model.calculator import InProcessCalculator
from tasks.structures.frames import Frames
from tasks.structures.predictions import Predictions
from tests.sandbox.guest.models import models

MODELS = Path(__file__).parent / "models"
LIMITS = Limits(startup_s=60, message_s=60, task_s=120)
Ask = Callable[..., Predictions]


def through_the_guest(
    driver: ProcessDriver, name: str, body: Callable[[RemoteCalculator], Any], domain: str | None = None
) -> SessionOutcome[Any]:
    """The outcome of a session with the model `name`; its log is in `private`."""
    image = driver.resolve(f"{MODELS}?calculator=models:{name}")
    return run_session(driver, image, LIMITS, Question(domain=domain), body)


def asked_by_guest(driver: ProcessDriver, name: str, frames: Frames, domain: str | None = None) -> Predictions:
    """The answers to `frames` of the model `name` behind the guest."""
    outcome = through_the_guest(driver, name, lambda remote: remote.compute(frames, remote.properties), domain)
    assert outcome.verdict is Verdict.OK, outcome.sentence
    predictions: Predictions = outcome.value
    return predictions


def asked_here(name: str, frames: Frames, domain: str | None = None) -> Predictions:
    """The answers to `frames` of the model `name` in this process."""
    model = InProcessCalculator(getattr(models, name)(), domain=domain or "")
    return model.compute(frames, model.properties)
