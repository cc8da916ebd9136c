"""What trainings came to, as far as it is public: pure functions of a result, its task and its items.

A trainer saw labels, and a trained model could encode them in its errors. So of a hidden data set only few numbers of
each training are public: the mean error of forces and that of energies over its seeds, to two digits. They are means
over at least `LEAST_ITEMS` answered frames: a model may leave frames unanswered, but not more than the task's share of
failures. Errors by element of single trainings, spreads over seeds, and which training failed with which sentence are
public for public data alone.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from judge.disclosure.public_curves import PUBLIC_DIGITS, is_hidden
from judge.disclosure.redaction import TIME_DIGITS, cut
from judge.ranking.leaderboard import TaskLine
from judge.records.few_items import LEAST_ITEMS
from judge.records.records import Result
from tasks.kinds.learned_models import FORCE, LEARNED, LearningParameters
from tasks.kinds.registry import KINDS
from tasks.learning.learning_curve import RATIO
from tasks.learning.training import LEARNED_SHARE, Learning, Training
from tasks.metrics.contributions import baseline_column
from tasks.metrics.measurement import Items
from tasks.metrics.metric import MetricPart
from tasks.suites.suite import Task

BY_TRAINING = "training"
"""The criterion of parts that tell each training."""

_NOTE, _GROUPED = "training ", "failed trainings "
_COUNTED = re.compile(r"(\d+): (.*)", re.DOTALL)
_BY_THE_JUDGE = ("Nothing lies in out_dir at the end; ", "The model cannot be kept: ")
_MODEL_FAILED = " Its model then failed: "
_FAILED, _THEN_FAILED = "The training failed.", "A model was left, and then failed."


class SeedErrors(NamedTuple):
    """The error of the trainings that differ by their seed alone.

    Args:
        mean: over the seeds that left a model; None if none did.
        se: the standard error of `mean`; None for fewer than two seeds, and for hidden data.
        n, n_failed: seeds, and those without a model.
        baseline: of composition alone; None if it is not known.
    """

    mean: float | None
    se: float | None
    n: int
    n_failed: int
    baseline: float | None = None


class PublicTraining(NamedTuple):
    """What the trainings that differ by their seed alone came to.

    Args:
        name: of all of them, such as `n200`.
        training: that of the first seed.
        molecule: that was asked about; empty: all that the training asks about.
        errors: by property, of forces [eV/Å] and of energies [eV/atom].
        of_element: by symbol, of forces [eV/Å]; empty for hidden data.
    """

    name: str
    training: Training
    molecule: str
    errors: Mapping[str, SeedErrors]
    of_element: Mapping[str, SeedErrors]


class FailedTrainings(NamedTuple):
    """Trainings that left no model that answers, for one reason.

    Args:
        sentence: of the judge.
        names: of the trainings; empty for hidden data.
    """

    sentence: str
    n: int
    names: tuple[str, ...]


def learns(task: Task) -> bool:
    """Whether models are trained for this task."""
    return isinstance(task.parameters, LearningParameters) and isinstance(KINDS[task.kind], Learning)


def trainings_of(task: Task) -> Sequence[Training]:
    """All trainings of a task; none if its models are not trained."""
    kind = KINDS[task.kind]
    return kind.trainings(task.parameters) if learns(task) and isinstance(kind, Learning) else ()


def seedless(training: Training) -> str:
    """The name that a training shares with those of the other seeds."""
    return training.name.removesuffix(f"-s{training.seed}")


def public_learned(stored: Result, shown: Result, task: Task) -> Result:
    """The public result of a task whose data are hidden, with the parts and notes of trainings that are public.

    Args:
        shown: what `redaction.public_result` made of `stored`.
    """
    if not learns(task):
        return shown
    others = tuple(part for part in shown.parts if part.by != BY_TRAINING)
    parts = (*others, *_public_parts(stored.parts, task))
    return shown.model_copy(update={"parts": parts, "notes": _public_notes(shown.notes)})


def _public_parts(parts: Iterable[MetricPart], task: Task) -> tuple[MetricPart, ...]:
    """Of the parts by training the mean errors, to two digits, if they are over enough frames."""
    if _fewest_answered(task) < LEAST_ITEMS:
        return ()
    kept = (part for part in parts if part.by == BY_TRAINING and part.metric in LEARNED.values())
    return tuple(replace(part, value=cut(part.value, TIME_DIGITS)) for part in kept)


def _fewest_answered(task: Task) -> int:
    """How many frames of a molecule a trained model has answered at least."""
    asked = getattr(task.parameters, "n_asked", 0)
    if not asked:  # all of the last tenth of a trajectory from whose other frames so many could be taken
        longest = max((t.n_frames / (t.stop - t.start) for t in trainings_of(task)), default=0.0)
        asked = math.floor((1 - LEARNED_SHARE) * longest)
    return math.floor((1 - task.failed_share) * asked)


def _public_notes(notes: Mapping[str, str]) -> dict[str, str]:
    """The notes; failed trainings are counted by sentences of the judge alone, without the trainings' names."""
    kept = {name: text for name, text in notes.items() if not name.startswith(_NOTE)}
    counts = Counter(_plain_sentence(text) for name, text in notes.items() if name.startswith(_NOTE))
    grouped = enumerate(sorted(counts.items(), key=lambda each: (-each[1], each[0])), 1)
    return kept | {f"{_GROUPED}{number}": f"{n}: {sentence}" for number, (sentence, n) in grouped}


def _plain_sentence(sentence: str) -> str:
    """The sentence without any word or number that a submission could choose."""
    if _MODEL_FAILED in sentence:
        return _THEN_FAILED
    return sentence if sentence.startswith(_BY_THE_JUDGE) else _FAILED


def failed_trainings(notes: Mapping[str, str]) -> tuple[FailedTrainings, ...]:
    """The failed trainings of a public result by the judge's sentence, the most frequent first."""
    by_sentence: dict[str, list[str]] = {}
    for name, text in notes.items():
        if name.startswith(_NOTE):
            by_sentence.setdefault(text or _FAILED, []).append(name.removeprefix(_NOTE))
    failed = [FailedTrainings(sentence, len(names), tuple(names)) for sentence, names in by_sentence.items()]
    counted = (_COUNTED.fullmatch(text) for name, text in notes.items() if name.startswith(_GROUPED))
    failed += [FailedTrainings(match[2], int(match[1]), ()) for match in counted if match]
    return tuple(sorted(failed, key=lambda each: (-each.n, each.sentence)))


def without_trainings(notes: Mapping[str, str]) -> dict[str, str]:
    """The notes that are not about single failed trainings."""
    return {name: text for name, text in notes.items() if not name.startswith((_NOTE, _GROUPED))}


def public_trainings(line: TaskLine, items: Items | None, public: Collection[str]) -> tuple[PublicTraining, ...]:
    """What the trainings of a task came to, those of all seeds together; empty if there is nothing public.

    Args:
        line: of the public board.
        items: None: there is nothing by element.
        public: names of the public data sets.
    """
    if line.result is None:
        return ()
    first = {seedless(training): training for training in reversed(trainings_of(line.task))}
    parts: dict[str, dict[str, MetricPart]] = {}
    for part in line.result.parts:
        if part.by == BY_TRAINING:
            parts.setdefault(part.name, {})[part.metric] = part
    shown = None if is_hidden(line, public) else items
    found = []
    for name, by_metric in parts.items():
        training, _, molecule = name.partition(":")
        if training in first:
            errors = {stem: _errors(by_metric, stem) for stem, metric in LEARNED.items() if metric in by_metric}
            of_element = {} if shown is None else _of_element(shown, name)
            found.append(PublicTraining(name, first[training], molecule, errors, of_element))
    return tuple(found)


def _errors(parts: Mapping[str, MetricPart], stem: str) -> SeedErrors:
    part, spread, ratio = (parts.get(name) for name in (LEARNED[stem], f"{LEARNED[stem]}_se", RATIO.format(stem)))
    assert part is not None
    baseline = None
    if part.value is not None and ratio is not None and ratio.value:
        # The ratio is a geometric mean over seeds, the error an arithmetic one: the same but for their spread.
        baseline = part.value / ratio.value
    return SeedErrors(part.value, spread.value if spread else None, part.n_items, part.n_failed, baseline)


def _of_element(items: Items, name: str) -> dict[str, SeedErrors]:
    """By element, over the seeds of the trainings of that name."""
    rows = [index for index, group in enumerate(items.group) if group == name]
    suffix, prefix = "_count", f"{FORCE}_"
    symbols = [c[len(prefix) : -len(suffix)] for c in items.columns if c.startswith(prefix) and c.endswith(suffix)]
    found = {}
    for symbol in filter(None, symbols):
        sums, counts, trivial = (
            items.columns[column][rows]
            for column in (f"{prefix}{symbol}_abs", f"{prefix}{symbol}_count", baseline_column(f"{prefix}{symbol}"))
        )
        there = trivial > 0  # the molecule has such atoms
        if there.any():
            found[symbol] = _over_seeds(sums[there], counts[there], float(trivial[there].mean()))
    return found


def _over_seeds(sums: np.ndarray, counts: np.ndarray, baseline: float) -> SeedErrors:
    answered = (counts > 0) & np.isfinite(sums)
    means = sums[answered] / counts[answered]
    n, known = len(sums), len(means)
    mean = cut(float(means.mean()), PUBLIC_DIGITS) if known else None
    se = cut(float(means.std(ddof=1) / np.sqrt(known)), PUBLIC_DIGITS) if known > 1 else None
    return SeedErrors(mean, se, n, n - known, cut(baseline, PUBLIC_DIGITS))


def elements_in(trainings: Iterable[PublicTraining]) -> list[str]:
    """The elements of trainings, in alphabetical order."""
    return sorted({symbol for each in trainings for symbol in each.of_element})
