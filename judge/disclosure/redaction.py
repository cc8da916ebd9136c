"""Redaction: pure functions from stored records to public ones.

A data set is hidden unless its card states since when it is public. A public record of a hidden task has nothing that
the submission could have chosen after it saw a structure. It has nothing that reveals single structures. So these are
left out:

- exit statuses and single runs of dynamics;
- parts of few items, and parts from which those follow;
- hashes against which a guess of the structures could be checked.

In every task, times, numbers computed from times, and peaks have two digits, so that no submission can encode data in
them. Of the judge's machine only the hardware class is public.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path, PurePosixPath

from judge.images.reference import has_host
from judge.records.few_items import LEAST_ITEMS, is_over_few, n_answered, over_labels
from judge.records.records import Origin, Peaks, Result
from sandbox.limits import MIB
from sandbox.verdict import Verdict
from scoring.names import SCORES
from submissions.records import Submission
from tasks.datasets.card import Card, DatasetError
from tasks.datasets.dataset import read_card
from tasks.kinds.registry import KINDS
from tasks.metrics.metric import Metric, MetricPart

SCORE_DIGITS = 6
"""More digits than a page shows, for its sorting. In the remaining digits a model could encode what it was asked."""

TIME_DIGITS = 2

_FORMATS = tuple(f"%.{max(digits - 1, 0)}e" for digits in range(18))  # by digits

# The words of `sandbox.evidence.exit_words`. The submission chooses the number.
_EXIT_STATUS = re.compile(r"exit status -?\d+")
# Verdicts whose sentences quote text from the image.
_OF_THE_IMAGE = frozenset({Verdict.IMAGE_INVALID, Verdict.POLICY_VIOLATION})


def is_public(card: Card | None, today: date) -> bool:
    """True if the card states a date (2014, 2014-05, 2014-05-01) since which its data set is public, and it is past.

    A date in the future hides the data set only from pages and authors. `Card.hidden`, which decides what a model is
    asked, ignores the current date.

    Args:
        card: None if it cannot be read: such a data set is hidden.
    """
    since = "" if card is None else card.public_since
    return bool(since) and since <= today.isoformat()[: len(since)]


def public_sets(data: Path, names: Iterable[str], today: date) -> frozenset[str]:
    """The names of those data sets that are public by their cards in the data root."""
    return frozenset(name for name, card in read_cards(data, names).items() if is_public(card, today))


def tells_of_single_labels(result: Result, card: Card | None, today: date) -> bool:
    """True if a hidden data set has labels, and a metric is over so few items that it reveals single labels.

    Neither fewer digits nor the publication of scores alone would hide a label: it is the error of a model that answers
    zero.

    Args:
        card: None if it cannot be read.
    """
    over_few = any(0 < metric.n_items < LEAST_ITEMS for metric in over_labels(result.kind, result.metrics))
    return over_few and (card is None or bool(card.label_sets)) and not is_public(card, today)


def read_cards(data: Path, names: Iterable[str]) -> dict[str, Card]:
    """The cards of these data sets in the data root, by name; a card that cannot be read is left out."""
    cards = {}
    for name in sorted(set(names)):
        with suppress(DatasetError):
            cards[name] = read_card(data / name)
    return cards


def rounded(value: float, digits: int = 2) -> float:
    """The value with `digits` significant digits."""
    return float(_FORMATS[digits] % value) if math.isfinite(value) else value  # `format` takes longer


def cut(value: float | None, digits: int = SCORE_DIGITS) -> float | None:
    """The value with `digits` significant digits; None for None."""
    return None if value is None else rounded(value, digits)


def score_digits(key: str) -> int:
    """The significant digits of a public score: fewer if it is computed from times."""
    return TIME_DIGITS if key in SCORES and SCORES[key].from_times else SCORE_DIGITS


def public_score(key: str, value: float | None) -> float | None:
    """A score with the digits that are public; None if it is not finite, because JSON has no infinity."""
    return None if value is None or not math.isfinite(value) else rounded(value, score_digits(key))


def public_peaks(peaks: Peaks | None) -> Peaks | None:
    """The peaks with two digits: times in seconds, memory in whole MiB."""
    if peaks is None:
        return None
    memory = peaks.memory_bytes
    return Peaks(
        wall_s=rounded(peaks.wall_s),
        startup_s=None if peaks.startup_s is None else rounded(peaks.startup_s),
        memory_bytes=None if memory is None else round(rounded(memory / MIB)) * MIB,
    )


def public_sentence(verdict: Verdict, sentence: str, *, hidden: bool) -> str:
    """The sentence of a verdict; for a hidden task without any word or number that the submission chose."""
    if not hidden:
        return sentence
    if verdict in _OF_THE_IMAGE:
        return "The image cannot be run as it is: lambench-submit says what to change."
    return _EXIT_STATUS.sub("by itself", sentence).replace(": see its log", ", and its log is withheld")


def public_parts(parts: Iterable[MetricPart], metrics: Mapping[str, Metric], *, hidden: bool) -> tuple[MetricPart, ...]:
    """The public parts. Their names, of groups and elements, come from the maintainer.

    Parts of a hidden data set have two digits. A part with few answered items is left out. A part with all items but a
    few is left out too: with the metric over the whole it would reveal those few. If the parts left out of a breakdown
    have few items together, the whole breakdown is left out, because the other parts would reveal them.

    Args:
        metrics: over the whole data set.
    """
    parts = tuple(parts)
    if not hidden:
        return _cut_parts(parts, SCORE_DIGITS)
    asked: Counter[tuple[str, str]] = Counter()  # in the parts that are left out
    answered = asked.copy()
    for part in filter(_is_small, parts):
        asked[part.by, part.metric] += part.n_items
        answered[part.by, part.metric] += n_answered(part)
    revealing = {
        breakdown for left_out in (asked, answered) for breakdown, n in left_out.items() if 0 < n < LEAST_ITEMS
    }
    shown = [
        part
        for part in parts
        if not (_is_small(part) or _leaves_few(part, metrics) or (part.by, part.metric) in revealing)
    ]
    return _cut_parts(shown, TIME_DIGITS)


def _cut_parts(parts: Iterable[MetricPart], digits: int) -> tuple[MetricPart, ...]:
    return tuple([_with_cut_value(part, digits) for part in parts])


def _as_failed(metric: Metric) -> Metric:
    """The metric as if no item had an answer."""
    return replace(metric, value=None, charged=None if metric.charged is None else metric.failure_cost)


def _with_cut_value(part: MetricPart, digits: int) -> MetricPart:
    # Without `replace`, which takes twice as long: a board has 100,000 parts, and half as many metrics.
    value = cut(part.value, digits)
    return MetricPart(part.by, part.name, part.metric, value, part.unit, part.n_items, part.n_failed)


def _leaves_few(part: MetricPart, metrics: Mapping[str, Metric]) -> bool:
    """True if so few items are outside the part that whole and part together reveal them."""
    whole = metrics.get(part.metric)
    return whole is not None and 0 < n_answered(whole) - n_answered(part) < LEAST_ITEMS


def _is_small(part: MetricPart) -> bool:
    return n_answered(part) < LEAST_ITEMS


def public_origin(origin: Origin) -> Origin:
    """The origin without anything that identifies the machine; the hardware class stays."""
    return origin.model_copy(update={"host": "", "engine": "", "gpu": "", "gpu_driver": "", "selftest": ""})


def public_result(result: Result, *, hidden: bool) -> Result:
    """The public result. It has no signature, because it differs from what was signed."""
    kept = {"seeds": {}, "frames_sha256": "", "labels_sha256": ""} if hidden else {}
    provenance = result.provenance.model_copy(update={"origin": public_origin(result.provenance.origin), **kept})
    metrics, parts = result.metrics, result.parts
    if KINDS.traits(result.kind).times:
        metrics = {n: m if _is_count(n, m.unit) else _with_cut_values(m, TIME_DIGITS) for n, m in metrics.items()}
        parts = tuple([p if _is_count(p.metric, p.unit) else _with_cut_value(p, TIME_DIGITS) for p in parts])
    else:
        metrics = {name: _with_cut_values(metric, SCORE_DIGITS) for name, metric in metrics.items()}
    if hidden and any(map(is_over_few, over_labels(result.kind, metrics))):
        metrics = {name: _as_failed(metric) if is_over_few(metric) else metric for name, metric in metrics.items()}
    return result.model_copy(
        update={
            "sentence": public_sentence(result.verdict, result.sentence, hidden=hidden),
            "metrics": metrics,
            "parts": public_parts(parts, metrics, hidden=hidden),
            "peaks": public_peaks(result.peaks),
            "provenance": provenance,
            "signature": None,
        }
    )


def _is_count(metric: str, unit: str) -> bool:
    """True for a number of structures or atoms, which is not a time."""
    return unit == "atoms" or metric.startswith("n_")


def _with_cut_values(metric: Metric, digits: int) -> Metric:
    value, charged = cut(metric.value, digits), cut(metric.charged, digits)
    baseline, cost = cut(metric.baseline), cut(metric.failure_cost)
    uncertainty = cut(metric.reference_uncertainty)
    return Metric(value, metric.unit, metric.n_items, metric.n_failed, charged, baseline, cost, uncertainty)


def public_submission(submission: Submission) -> Submission:
    """The submission; of its image's reference only the last name is public: no folder, registry or group of others."""
    reference, arrived = submission.image.reference, submission.arrival.by != "here"
    if submission.image.driver != "process" and not arrived and not has_host(reference):
        return submission
    name = PurePosixPath(reference.partition("?")[0]).name
    return submission.model_copy(update={"image": submission.image.model_copy(update={"reference": name})})
