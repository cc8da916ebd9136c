"""An attack: an image that tries one thing, and the function that examines whether the sandbox held."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, NamedTuple, TypeVar

from sandbox.driver import Driver, Image, Question
from sandbox.limits import MIB, Limits
from sandbox.training import TrainedModel
from sandbox.verdict import SubmissionFault
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import SessionOutcome, run_session
from sandbox.wire.training import TrainingOrder, run_training

T = TypeVar("T")

LIMITS = Limits(
    memory_bytes=384 * MIB,
    tmp_bytes=32 * MIB,
    shm_bytes=8 * MIB,
    pids=64,
    open_files=256,
    cpus=1,
    log_bytes=256 * 1024,
    startup_s=20,
    message_s=5,
    task_s=15,
)
"""Limits of all attacks: small, so that an attack that fills them ends soon."""


class Finding(NamedTuple):
    """Whether the sandbox held, and the evidence.

    Args:
        how: one short sentence, in the judge's words.
    """

    held: bool
    how: str


@dataclass(frozen=True)
class Trial:
    """The driver and the image of one attack.

    Args:
        image: as the driver resolved it, or the fault with which it refused it.
    """

    driver: Driver
    image: Image | SubmissionFault
    limits: Limits = LIMITS

    def run(self, body: Callable[[RemoteCalculator], T], **limits: Any) -> SessionOutcome[T]:
        """The outcome of one session of the image; for a refused image, its refusal.

        Args:
            limits: fields of `Limits` that differ from those of all attacks.

        Raises:
            JudgeFault: the engine or the disk failed.
        """
        if isinstance(self.image, SubmissionFault):
            return SessionOutcome.refused(self.image)
        changed = Limits.model_validate({**self.limits.model_dump(), **limits})
        return run_session(self.driver, self.image, changed, Question(), body)

    def train(self, order: TrainingOrder) -> SessionOutcome[TrainedModel]:
        """The outcome of one training of the image. Raises as `run`."""
        if isinstance(self.image, SubmissionFault):
            return SessionOutcome.refused(self.image)
        return run_training(self.driver, self.image, self.limits, Question(), order)

    def ask(self, model: TrainedModel, body: Callable[[RemoteCalculator], T]) -> SessionOutcome[T]:
        """The outcome of a session of the image with a model that it left. Raises as `run`."""
        if isinstance(self.image, SubmissionFault):
            return SessionOutcome.refused(self.image)
        return run_session(self.driver, self.image, self.limits, Question(has_model=True), body, model.place)


Examine = Callable[[Trial], Finding]


@dataclass(frozen=True)
class Attack:
    """One thing that a submission may try.

    Args:
        name: in kebab-case, unique.
        tries: what the image tries, one sentence.
        factory: `module:function` of the hostile image, as its label names it.
        dockerfile: further lines of the image's Dockerfile, such as ENV, VOLUME or USER root.
        settings: of the image's configuration, such as WorkingDir, that no Dockerfile can state.
        own_server: whether the image runs the function of its module as a server, in place of the guest.
        trainer: `module:function` of a hostile trainer, as its label names it.
    """

    name: str
    tries: str
    factory: str
    examine: Examine
    dockerfile: Sequence[str] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    own_server: bool = False
    trainer: str = ""


def stated_attacks(examinations: Mapping[str, Examine]) -> tuple[Attack, ...]:
    """The attacks of these names, which `attacks.toml` states, each with its examination."""
    return tuple(Attack(name, examine=examine, **_table()[name]) for name, examine in examinations.items())


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(resources.files("sandbox.selftest").joinpath("attacks.toml").read_text(encoding="utf-8"))
