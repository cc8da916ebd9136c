"""The question-only adversaries, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ase.calculators.calculator import Calculator

from tasks.adversaries.compositions import CompositionOnly
from tasks.adversaries.question_only import QuestionOnly
from tasks.adversaries.springs import KnownSeed, NearestStored, Springs
from tasks.adversaries.volumes import CentredVolumes
from tasks.structures.frames import Frames


class PublicFacts(NamedTuple):
    """What anybody can know of a task's questions beforehand.

    Args:
        stored: the structures of the data set, without labels.
        asked: what is first asked about them if no secret is drawn from.
    """

    stored: Frames
    asked: Frames


class Adversary(NamedTuple):
    """An adversary.

    Args:
        about: in a sentence "a model that knows nothing (…)".
        make: a calculator without memory of earlier tasks.
        recalls_structures: whether it answers from a copy of the structures themselves, which no draw stops where they
            are public: it is memory, not the question.
    """

    about: str
    make: Callable[[PublicFacts], Calculator]
    recalls_structures: bool = False


ADVERSARIES: dict[str, Adversary] = {
    "middle": Adversary("the middle of the volumes", lambda _: CentredVolumes("middle")),
    "mean": Adversary("the mean of the volumes", lambda _: CentredVolumes("mean")),
    "first seen": Adversary("the volume that is asked first", lambda _: CentredVolumes("first")),
    "last seen": Adversary("the volume that is asked last", lambda _: CentredVolumes("last")),
    "no forces": Adversary("energies of springs, without forces", lambda _: Springs(forces=False, stress=False)),
    "zero stress": Adversary("springs, without stress", lambda _: Springs(stress=False)),
    "harmonic": Adversary("springs about the first structure", lambda _: Springs()),
    "known seed": Adversary("the start less a displacement that is no secret", lambda facts: KnownSeed(*facts)),
    "nearest stored": Adversary(
        "the nearest structure of the data set", lambda facts: NearestStored(facts.stored), recalls_structures=True
    ),
    "ideal gas": Adversary("zero for everything", lambda _: QuestionOnly()),
    "composition only": Adversary("energies of the composition", lambda _: CompositionOnly()),
}
