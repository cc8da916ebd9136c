"""The leaderboard as data, from which the pages are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from judge.records.items_file import result_path
from judge.records.records import Result
from sandbox.verdict import Verdict
from scoring import Release, Term
from scoring.intervals import Uncertainty
from scoring.order import PairOrder
from scoring.robustness import LeftOut, RankRange
from submissions.records import Submission
from tasks.suites.suite import Suite, Task

NOT_JUDGED = "NOT JUDGED"


@dataclass(frozen=True)
class TaskLine:
    """One submission in one task of the suite; `result` is None if it was not judged."""

    task: Task
    result: Result | None

    @property
    def _stated(self) -> Result | None:
        """The result that the properties below are read from: none of them is secret."""
        return self.result

    @property
    def is_judged(self) -> bool:
        """True if there is a result."""
        return self._stated is not None

    @property
    def key(self) -> str:
        """The key of the result in the store; empty without one."""
        result = self._stated
        return "" if result is None else result_path(result.submission, result.task, result.result_key)

    @property
    def status(self) -> str:
        """The verdict, or `NOT_JUDGED`."""
        return NOT_JUDGED if self._stated is None else str(self._stated.verdict)

    @property
    def ok(self) -> bool:
        """True if the verdict is OK."""
        return self._stated is not None and self._stated.verdict is Verdict.OK

    @property
    def n_items(self) -> int:
        """The number of items of the result; 0 without one."""
        return 0 if self._stated is None else self._stated.n_items

    @property
    def failures(self) -> Mapping[str, int]:
        """How many items failed, by cause."""
        return {} if self._stated is None else self._stated.failures

    @property
    def hardware(self) -> str:
        """The class of hardware of the result; empty without one."""
        return "" if self._stated is None else self._stated.provenance.origin.hardware

    @property
    def limits(self) -> Mapping[str, float]:
        """The limits that the model had, by name."""
        return {} if self._stated is None else self._stated.provenance.limits


@dataclass(frozen=True)
class Row:
    """One submission.

    Args:
        rank: from 1; None if the verdict of a task is not OK, or if the submission is compared only.
        scores: by key (`scoring.names`), for the schemes that the suite has tasks for.
        as_published: the scores of the same results by the published rules of each scheme.
        isolated: False if any task ran without a container.
        reference: why it is compared, in a sentence, if it is compared only; empty for all others.
        made_from: a text that is the same only if all scores are; empty if they have to be compared.
    """

    rank: int | None
    submission: Submission
    scores: Mapping[str, Term]
    as_published: Mapping[str, Term]
    tasks: tuple[TaskLine, ...]
    isolated: bool
    reference: str = ""
    made_from: str = ""

    @property
    def n_ok(self) -> int:
        """How many tasks of the suite have verdict OK."""
        return sum(line.ok for line in self.tasks)

    @property
    def shortfalls(self) -> dict[str, list[str]]:
        """By status, the names of the tasks whose verdict is not OK."""
        by_status: dict[str, list[str]] = {}
        for line in self.tasks:
            if not line.ok:
                by_status.setdefault(line.status, []).append(line.task.name)
        return by_status

    @property
    def page(self) -> str:
        """The path of its page in the site."""
        return f"submissions/{self.submission.id}.html"


@dataclass(frozen=True)
class Robustness:
    """How far scores and ranks may move, by score and submission.

    Args:
        intervals: of all submissions. Only ranked ones have ranks and groups of tied models.
        weights: of ranked submissions, the rank under random weights.
        without: of ranked submissions, the rank without single tasks.
        task_orders: by task in place of score, which submission is better than which in this task alone.
    """

    intervals: Mapping[str, Mapping[str, Uncertainty]] = field(default_factory=dict)
    weights: Mapping[str, Mapping[str, RankRange]] = field(default_factory=dict)
    without: Mapping[str, Mapping[str, LeftOut]] = field(default_factory=dict)
    task_orders: Mapping[str, PairOrder] = field(default_factory=dict)


@dataclass(frozen=True)
class TakenOut:
    """A submission that was withdrawn or disqualified: it has no row and no rank.

    Args:
        word: "withdrawn" or "disqualified".
        reason: in the maintainer's words.
    """

    submission: Submission
    word: str
    when: datetime
    reason: str


@dataclass(frozen=True)
class Leaderboard:
    """All submissions, best first, then those without a rank, then those that are compared only.

    Args:
        release: the rules of the ranking.
        published: the rules of `Row.as_published`.
        measured: when the newest number was measured; None if there is none.
        hardware: machines that timings were taken on.
        problems: one line for each record or metric that could not be read or scored, for the maintainer.
        taken_out: the latest first.
        missing_rows: the problems that leave a submission without a row.
    """

    suite: Suite
    release: Release
    published: Release
    rows: tuple[Row, ...]
    robustness: Robustness
    measured: datetime | None
    hardware: tuple[str, ...]
    problems: tuple[str, ...] = ()
    taken_out: tuple[TakenOut, ...] = ()
    missing_rows: tuple[str, ...] = ()

    @property
    def ranked(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.rank is not None)

    @property
    def unranked(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.rank is None and not row.reference)

    @property
    def references(self) -> tuple[Row, ...]:
        """The rows of submissions that are compared only."""
        return tuple(row for row in self.rows if row.reference)

    @property
    def not_isolated(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if not row.isolated)
