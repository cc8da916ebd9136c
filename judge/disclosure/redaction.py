"""What of a stored record anybody may read: pure functions from what the judge knows to what it shows.

A data set is hidden unless its card says since when it is public. Of hidden tasks nothing is shown that the submission
could have chosen after it saw a structure, nor anything that tells of single structures: exit statuses, runs of
dynamics one by one, parts of few items and what they are told from, and hashes that a guess of the structures could be
held against are left out. Of every task, times, what is made of times, and peaks are cut to two digits, so that no one
can speak through them, and what tells of the judge's machine beyond its hardware class is left out.
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

from judge.records.records import Origin, Peaks, Result
from sandbox.limits import MIB
from sandbox.verdict import Verdict
from scoring.names import SCORES
from submissions.records import Submission
from tasks.datasets.card import Card, DatasetError
from tasks.datasets.dataset import read_card
from tasks.kinds.registry import KINDS
from tasks.metrics.metric import Metric, MetricPart
from tasks.observing.probe_errors import is_probe

LEAST_ITEMS = 5
"""A part of a hidden data set with fewer items would tell of single structures."""

SCORE_DIGITS = 6
"""More than a page shows, for its sorting; a model that answers what it was asked could speak through the rest."""

TIME_DIGITS = 2

_FORMATS = tuple(f".{max(digits - 1, 0)}e" for digits in range(18))  # by digits

# As `sandbox.evidence.exit_words` has it: a number of the submission's own choice.
_EXIT_STATUS = re.compile(r"exit status -?\d+")
# Their sentences quote the image's own words.
_OF_THE_IMAGE = frozenset({Verdict.IMAGE_INVALID, Verdict.POLICY_VIOLATION})


def is_public(card: Card | None, today: date) -> bool:
    """True where a card states a date (2014, 2014-05, 2014-05-01) since which its data set is public, and it is past.

    Only pages and authors are shown less before a date to come: `Card.hidden`, which is about what a model is asked,
    knows no calendar.

    Args:
        card: None where there is none to be read: such a data set is hidden.
    """
    since = "" if card is None else card.public_since
    return bool(since) and since <= today.isoformat()[: len(since)]


def public_sets(data: Path, names: Iterable[str], today: date) -> frozenset[str]:
    """Of the data sets of these names, those that are public by their cards in the data root."""
    return frozenset(name for name, card in read_cards(data, names).items() if is_public(card, today))


def tells_of_single_labels(result: Result, card: Card | None, today: date) -> bool:
    """True where a hidden data set has labels, and a metric is over so few items that it tells of single ones.

    Neither fewer digits nor scores alone would hide them: the error of a model that answers zero is the label itself.

    Args:
        card: None where there is none to be read.
    """
    labelled = KINDS.traits(result.kind).labelled and (card is None or bool(card.label_sets))
    sizes = (metric.n_items for name, metric in result.metrics.items() if not is_probe(name))
    return labelled and any(0 < n < LEAST_ITEMS for n in sizes) and not is_public(card, today)


def read_cards(data: Path, names: Iterable[str]) -> dict[str, Card]:
    """Of the data sets of these names, the cards in the data root that can be read."""
    found = {}
    for name in sorted(set(names)):
        with suppress(DatasetError):
            found[name] = read_card(data / name)
    return found


def rounded(value: float, digits: int = 2) -> float:
    """The value to so many significant digits."""
    return float(format(value, _FORMATS[digits])) if math.isfinite(value) else value


def cut(value: float | None, digits: int = SCORE_DIGITS) -> float | None:
    """`rounded`, of None nothing."""
    return None if value is None else rounded(value, digits)


def score_digits(key: str) -> int:
    """Significant digits of a score that anybody may read: fewer if it is computed from times."""
    return TIME_DIGITS if key in SCORES and SCORES[key].from_times else SCORE_DIGITS


def public_score(key: str, value: float | None) -> float | None:
    """A score as far as anybody may read it."""
    return cut(value, score_digits(key))


def public_peaks(peaks: Peaks | None) -> Peaks | None:
    """Time and memory to two digits, memory in MiB."""
    if peaks is None:
        return None
    memory = peaks.memory_bytes
    return Peaks(
        wall_s=rounded(peaks.wall_s),
        startup_s=None if peaks.startup_s is None else rounded(peaks.startup_s),
        memory_bytes=None if memory is None else round(rounded(memory / MIB)) * MIB,
    )


def public_sentence(verdict: Verdict, sentence: str, *, hidden: bool) -> str:
    """The sentence of a verdict; of a hidden task, in words of our own alone."""
    if not hidden:
        return sentence
    if verdict in _OF_THE_IMAGE:
        return "The image cannot be run as it is: lambench-submit says what to change."
    return _EXIT_STATUS.sub("by itself", sentence).replace(": see its log", ", and its log is withheld")


def public_parts(parts: Iterable[MetricPart], metrics: Mapping[str, Metric], *, hidden: bool) -> tuple[MetricPart, ...]:
    """The parts that may be shown. Their names, of groups and elements, are the maintainer's words.

    Of hidden sets to two digits, and neither one of few items, nor one that all but few items belong to: the whole
    tells of the others. Where those left out of a breakdown have so few items together that the whole and the others
    would tell of them, none of that breakdown is shown.

    Args:
        metrics: over the whole.
    """
    found = tuple(parts)
    if not hidden:
        return _cut_parts(found, SCORE_DIGITS)
    left_out: Counter[tuple[str, str]] = Counter()
    for part in filter(_is_small, found):
        left_out[part.by, part.metric] += part.n_items
    telling = {breakdown for breakdown, n in left_out.items() if 0 < n < LEAST_ITEMS}
    shown = [
        part
        for part in found
        if not (_is_small(part) or _leaves_few(part, metrics) or (part.by, part.metric) in telling)
    ]
    return _cut_parts(shown, TIME_DIGITS)


def _cut_parts(parts: Iterable[MetricPart], digits: int) -> tuple[MetricPart, ...]:
    return tuple([replace(part, value=cut(part.value, digits)) for part in parts])


def _leaves_few(part: MetricPart, metrics: Mapping[str, Metric]) -> bool:
    """Whether of the whole so few items are no part of it that both together would tell of these."""
    whole = metrics.get(part.metric)
    return whole is not None and 0 < whole.n_items - part.n_items < LEAST_ITEMS


def _is_small(part: MetricPart) -> bool:
    return part.n_items < LEAST_ITEMS


def public_origin(origin: Origin) -> Origin:
    """Where it was observed, as a class of machine and no machine in particular."""
    return origin.model_copy(update={"host": "", "engine": "", "gpu": "", "gpu_driver": "", "selftest": ""})


def public_result(result: Result, *, hidden: bool) -> Result:
    """The result as anybody may read it: not what was signed, so without the signature."""
    kept = {"seeds": {}, "frames_sha256": "", "labels_sha256": ""} if hidden else {}
    provenance = result.provenance.model_copy(update={"origin": public_origin(result.provenance.origin), **kept})
    result = _with_public_times(result) if KINDS.traits(result.kind).times else _with_cut_metrics(result)
    return result.model_copy(
        update={
            "sentence": public_sentence(result.verdict, result.sentence, hidden=hidden),
            "parts": public_parts(result.parts, result.metrics, hidden=hidden),
            "peaks": public_peaks(result.peaks),
            "provenance": provenance,
            "signature": None,
        }
    )


def _with_public_times(result: Result) -> Result:
    """The result of a kind that takes times, with these and what is made of them cut."""
    metrics = {
        name: metric if _is_count(name, metric.unit) else _cut_values(metric, TIME_DIGITS)
        for name, metric in result.metrics.items()
    }
    parts = tuple(
        part if _is_count(part.metric, part.unit) else replace(part, value=cut(part.value, TIME_DIGITS))
        for part in result.parts
    )
    return result.model_copy(update={"metrics": metrics, "parts": parts})


def _is_count(metric: str, unit: str) -> bool:
    """Of structures or atoms, and no time."""
    return unit == "atoms" or metric.startswith("n_")


def _with_cut_metrics(result: Result) -> Result:
    metrics = {name: _cut_values(metric, SCORE_DIGITS) for name, metric in result.metrics.items()}
    return result.model_copy(update={"metrics": metrics})


def _cut_values(metric: Metric, digits: int) -> Metric:
    return replace(
        metric,
        value=cut(metric.value, digits),
        charged=cut(metric.charged, digits),
        baseline=cut(metric.baseline),
        failure_cost=cut(metric.failure_cost),
    )


def public_submission(submission: Submission) -> Submission:
    """The submission, its image called as its author calls it, and by no path of a machine."""
    if submission.image.driver != "process":
        return submission
    name = PurePosixPath(submission.image.reference.partition("?")[0]).name
    return submission.model_copy(update={"image": submission.image.model_copy(update={"reference": name})})
