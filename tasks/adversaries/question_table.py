"""The cells of a table of adversaries: how far below a baseline a model without chemistry comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tasks.adversaries.family import ADVERSARIES, PublicFacts
from tasks.adversaries.run_adversary import (
    AdversaryTask,
    MeanOverSecrets,
    mean_over_secrets,
    measured,
    public_facts,
    shares,
)
from tasks.kind import Kind, ScoreFamily
from tasks.metrics.published_questions import STORED_STARTS, published_note

LABELS_AS_GIVEN = "labels as given: nothing to draw"
PUBLISHED = "published protocol"
STORED = "starts as stored: nothing is drawn"
LAW = "a law, which springs keep"
PUBLIC_COPY = "a copy of public structures"


class AdversaryCell(NamedTuple):
    """A metric of an adversary in a task.

    Args:
        mark: why the value may be below 1; empty: it may not.
    """

    metric: str
    interval: MeanOverSecrets
    mark: str


def is_judged_by_baseline(kind: Kind) -> bool:
    """Whether a score divides errors of the kind by a baseline: not of times, of drifts and of laws."""
    return kind.traits.score in (ScoreFamily.FORCE_FIELD, ScoreFamily.PROPERTY)


def cells_of(
    task: AdversaryTask, adversary: str, secrets: Sequence[bytes], facts: PublicFacts | None = None
) -> list[AdversaryCell]:
    """By scored metric, the penalised value of an adversary over the baseline, in the mean over secrets.

    Args:
        secrets: at least one; the first alone where nothing is drawn.
        facts: as from `public_facts`, for a caller with many adversaries.

    Raises:
        ValueError: kind, parameters and data set do not fit.
    """
    traits, copies = task.kind.traits, ADVERSARIES[adversary].recalls_structures
    known = public_facts(task) if facts is None else facts
    asked = secrets if traits.draws else secrets[:1]
    values: dict[str, list[float]] = {}
    mark = PUBLIC_COPY if copies and not task.dataset.card.hidden else ""
    mark = mark if traits.draws else LABELS_AS_GIVEN
    for secret in asked:
        measurement = measured(task, adversary, secret, known)
        if published_note(measurement.notes):
            mark = STORED if STORED_STARTS in measurement.notes else PUBLISHED
        found = shares(measurement)
        names = traits.scored(found) if traits.score is ScoreFamily.PROPERTY else found
        for name in names:
            values.setdefault(name, []).append(found[name])
        if mark in (STORED, PUBLISHED):
            break  # nothing is drawn
    laws = {metric.name for metric in traits.metrics if metric.law}
    return [
        AdversaryCell(name, mean_over_secrets(of_secrets), LAW if name in laws else mark)
        for name, of_secrets in values.items()
    ]
