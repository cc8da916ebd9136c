"""The leaderboard as data: what the pages are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from judge.records.records import Result
from sandbox.verdict import Verdict
from scoring import Release, Term
from scoring.intervals import Uncertainty
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
    def status(self) -> str:
        """The verdict, or that there is none yet."""
        return NOT_JUDGED if self.result is None else str(self.result.verdict)

    @property
    def ok(self) -> bool:
        """True if the verdict is OK."""
        return self.result is not None and self.result.verdict is Verdict.OK


@dataclass(frozen=True)
class Row:
    """One submission.

    Args:
        rank: from 1; None if it is not ranked: a task of the suite has another verdict than OK, or it is a reference.
        scores: by key (`scoring.names`), those of the schemes that the suite has tasks for.
        as_published: the same results as the authors of each scheme would add them up.
        isolated: False if any of it ran without a container.
        reference: what it is compared for, in a sentence, if it does not take part; empty for all others.
    """

    rank: int | None
    submission: Submission
    scores: Mapping[str, Term]
    as_published: Mapping[str, Term]
    tasks: tuple[TaskLine, ...]
    isolated: bool
    reference: str = ""

    @property
    def n_ok(self) -> int:
        """How many tasks of the suite came to OK."""
        return sum(line.ok for line in self.tasks)

    @property
    def shortfalls(self) -> dict[str, list[str]]:
        """Names of the tasks that did not come to OK, by status."""
        by_status: dict[str, list[str]] = {}
        for line in self.tasks:
            if not line.ok:
                by_status.setdefault(line.status, []).append(line.task.name)
        return by_status

    @property
    def page(self) -> str:
        """Where its page lies in the site."""
        return f"submissions/{self.submission.id}.html"


@dataclass(frozen=True)
class Firmness:
    """Of all submissions together.

    Args:
        intervals: by score and submission; ranks and groups of tied models are among those that are ranked, and no
            other has any.
        weights: by score and submission, the rank under random weights; of those that are ranked.
        without: by score and submission, the rank without single tasks; of those that are ranked.
    """

    intervals: Mapping[str, Mapping[str, Uncertainty]] = field(default_factory=dict)
    weights: Mapping[str, Mapping[str, RankRange]] = field(default_factory=dict)
    without: Mapping[str, Mapping[str, LeftOut]] = field(default_factory=dict)


@dataclass(frozen=True)
class TakenOut:
    """A submission that was withdrawn or disqualified: it has no row and no rank.

    Args:
        word: which of the two.
        reason: in the maintainer's words.
    """

    submission: Submission
    word: str
    when: datetime
    reason: str


@dataclass(frozen=True)
class Leaderboard:
    """All submissions, best first, then those that are not ranked, and then those that are there for comparison.

    Args:
        release: that the ranking is by.
        published: that `Row.as_published` is by.
        firmness: how far scores and ranks would move.
        measured: when the newest number was measured; None where there is none.
        hardware: machines that timings were taken on.
        problems: what could not be read or added up, a line each, for the maintainer.
        taken_out: the last first.
        rowless: those of the problems for which a submission has no row at all.
    """

    suite: Suite
    release: Release
    published: Release
    rows: tuple[Row, ...]
    firmness: Firmness
    measured: datetime | None
    hardware: tuple[str, ...]
    problems: tuple[str, ...] = ()
    taken_out: tuple[TakenOut, ...] = ()
    rowless: tuple[str, ...] = ()

    @property
    def ranked(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.rank is not None)

    @property
    def unranked(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.rank is None and not row.reference)

    @property
    def references(self) -> tuple[Row, ...]:
        """Those that are there for comparison."""
        return tuple(row for row in self.rows if row.reference)

    @property
    def not_isolated(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if not row.isolated)
