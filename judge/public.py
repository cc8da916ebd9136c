"""What of a stored record anybody may read: pure functions from what the judge knows to what it shows.

A data set is hidden unless its card says since when it is public. Of hidden tasks nothing is shown that the submission
could have chosen after it saw a structure, nor anything that tells of single structures: exit statuses, names of items
and parts of few items are left out. Of every task, times and peaks are cut to two digits, so that no one can speak
through them, and what tells of the judge's machine beyond its hardware class is left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path, PurePosixPath

from judge.answers import DYNAMICS
from judge.board import Firmness, Leaderboard, OtherScores, Row, Scores, TaskLine
from judge.records import Origin, PartRecord, Peaks, Result
from sandbox.limits import MIB
from sandbox.verdict import Verdict
from scoring import Term
from scoring.intervals import Uncertainty
from scoring.robustness import LeftOut
from submissions.records import Submission
from tasks.card import Card, DatasetError
from tasks.dataset import read_card
from tasks.suite import Task

LEAST_ITEMS = 5
"""A part of a hidden data set with fewer items would tell of single structures."""

SCORE_DIGITS = 6
"""More than a page shows, for its sorting; a model that answers what it was asked could speak through the rest."""

LOG_WITHHELD = (
    "The log is withheld: the structures of this task are hidden, and a container could write them down. "
    "That of the preflight, on public structures, is shown."
)

_DATE = re.compile(r"^\d{4}(-\d\d){0,2}$")
# As `sandbox.evidence.exit_words` has it: a number of the submission's own choice.
_EXIT_STATUS = re.compile(r"exit status -?\d+")
# Their sentences quote the image's own words.
_OF_THE_IMAGE = frozenset({Verdict.IMAGE_INVALID, Verdict.POLICY_VIOLATION})


def is_public(card: Card | None, today: date) -> bool:
    """True where a card states a date (2014, 2014-05, 2014-05-01) since which its data set is public, and it is past.

    Args:
        card: None where there is none to be read: such a data set is hidden.
    """
    since = "" if card is None else card.public_since
    return bool(_DATE.match(since)) and since <= today.isoformat()[: len(since)]


def public_sets(data: Path, names: Iterable[str], today: date) -> frozenset[str]:
    """Of the data sets of these names, those that are public by their cards in the data root."""
    return frozenset(name for name in set(names) if is_public(_card(data / name), today))


def _card(folder: Path) -> Card | None:
    try:
        return read_card(folder)
    except DatasetError:
        return None


def rounded(value: float, digits: int = 2) -> float:
    """The value to so many significant digits."""
    return float(f"{value:.{digits - 1}e}") if math.isfinite(value) else value


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


def public_parts(parts: Iterable[PartRecord], *, hidden: bool) -> tuple[PartRecord, ...]:
    """The parts that may be shown. Their names, of groups and elements, are the maintainer's words."""
    return tuple(part for part in parts if not hidden or part.n_items >= LEAST_ITEMS)


def public_origin(origin: Origin) -> Origin:
    """Where it was observed, as a class of machine and no machine in particular."""
    return origin.model_copy(update={"host": "", "engine": "", "gpu": "", "gpu_driver": "", "selftest": ""})


def public_result(result: Result, *, hidden: bool) -> Result:
    """The result as anybody may read it: not what was signed, so without the signature."""
    provenance = result.provenance.model_copy(
        update={
            "origin": public_origin(result.provenance.origin),
            "seeds": {} if hidden else result.provenance.seeds,
        }
    )
    return result.model_copy(
        update={
            "sentence": public_sentence(result.verdict, result.sentence, hidden=hidden),
            "parts": public_parts(result.parts, hidden=hidden),
            "peaks": public_peaks(result.peaks),
            "provenance": provenance,
            "signature": None,
        }
    )


def public_submission(submission: Submission) -> Submission:
    """The submission, its image called as its author calls it, and by no path of a machine."""
    if submission.image.driver != "process":
        return submission
    name = PurePosixPath(submission.image.reference.partition("?")[0]).name
    return submission.model_copy(update={"image": submission.image.model_copy(update={"reference": name})})


def public_board(board: Leaderboard, public: Collection[str]) -> Leaderboard:
    """The leaderboard as anybody may read it.

    Args:
        public: names of the data sets that are public; every other one is hidden.
    """
    hidden = [task for task in board.suite.tasks if task.dataset not in public]
    names = run_names(board.rows, hidden)
    rows = {row.submission.id: _public_row(row, public, names) for row in board.rows}
    return replace(
        board,
        rows=tuple(rows.values()),
        firmness=_public_firmness(board.firmness, names),
        problems=(),
        taken_out=tuple(replace(one, submission=public_submission(one.submission)) for one in board.taken_out),
    )


def run_names(rows: Iterable[Row], hidden: Iterable[Task]) -> dict[str, str]:
    """What the runs of hidden tasks of dynamics, which have the names of structures, are called instead: numbers."""
    prefixes = {f"{task.name}: ": 0 for task in hidden if task.kind == DYNAMICS}
    names: dict[str, str] = {}
    for row in rows:
        for scores in (row.scores, row.as_published):
            for term in (term for tree in scores.instability.values() for _, term in tree.walk()):
                prefix = next((prefix for prefix in prefixes if term.name.startswith(prefix)), None)
                if prefix is not None and term.name not in names:
                    prefixes[prefix] += 1
                    names[term.name] = f"{prefix}run no. {prefixes[prefix]}"
    return names


def _public_row(row: Row, public: Collection[str], names: Mapping[str, str]) -> Row:
    return replace(
        row,
        submission=public_submission(row.submission),
        scores=_public_scores(row.scores, names),
        as_published=_public_scores(row.as_published, names),
        # What intervals were computed from has the names of clusters, and is of no use any more.
        others=OtherScores(
            {name: _public_term(term, names) for name, term in row.others.corrected.items()},
            {name: _public_term(term, names) for name, term in row.others.as_published.items()},
        ),
        tasks=tuple(_public_line(line, public) for line in row.tasks),
    )


def _public_line(line: TaskLine, public: Collection[str]) -> TaskLine:
    if line.result is None:
        return line
    # What was judged may be another data set than the suite names now.
    hidden = line.task.dataset not in public or line.result.provenance.dataset not in public
    return replace(line, result=public_result(line.result, hidden=hidden))


def _public_scores(scores: Scores, names: Mapping[str, str]) -> Scores:
    return Scores(
        _public_term(scores.force_field, names),
        _public_term(scores.property_error, names),
        _public_term(scores.efficiency, names),
        {at: _public_term(tree, names) for at, tree in scores.instability.items()},
    )


def _public_term(term: Term, names: Mapping[str, str]) -> Term:
    evidence = term.evidence
    return replace(
        term,
        name=names.get(term.name, term.name),
        value=_shown(term.value),
        counted=_shown(term.counted),
        at_worst=_shown(term.at_worst),
        at_best=_shown(term.at_best),
        evidence=evidence and evidence._replace(task=names.get(evidence.task, evidence.task)),
        parts=tuple(_public_term(part, names) for part in term.parts),
    )


def _shown(value: float | None) -> float | None:
    return None if value is None else rounded(value, SCORE_DIGITS)


def _public_firmness(firmness: Firmness, names: Mapping[str, str]) -> Firmness:
    if not names:
        return firmness
    return Firmness(
        {
            score: {key: _renamed_paths(of, names) for key, of in found.items()}
            for score, found in firmness.intervals.items()
        },
        firmness.weights,
        {
            score: {key: _renamed_units(of, names) for key, of in found.items()}
            for score, found in firmness.without.items()
        },
    )


def _renamed_paths(of: Uncertainty, names: Mapping[str, str]) -> Uncertainty:
    nodes = {tuple(names.get(name, name) for name in path): interval for path, interval in of.nodes.items()}
    metrics = {(names.get(task, task), metric): interval for (task, metric), interval in of.metrics.items()}
    return replace(of, nodes=nodes, metrics=metrics)


def _renamed_units(of: LeftOut, names: Mapping[str, str]) -> LeftOut:
    without = {names.get(unit, unit): rank for unit, rank in of.without.items()}
    return replace(of, without=without, decisive=tuple(names.get(unit, unit) for unit in of.decisive))
