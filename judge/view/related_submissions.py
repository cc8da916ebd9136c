"""Submissions related to a model: those with the same name, of the same team, or with the same image."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from judge.ranking.leaderboard import Leaderboard, Row
from submissions.card.look_alikes import as_read
from submissions.records import Submission

MAX_AUTHORS = 3


class Version(NamedTuple):
    """One of several related submissions.

    Args:
        row: None if it was taken out of the ranking.
        out: why it was taken out, such as `withdrawn: REASON`; empty if it was not.
        this: True for the submission of the page.
    """

    submission: Submission
    row: Row | None
    out: str
    this: bool


class Related(NamedTuple):
    """The submissions related to one submission; each list has the oldest first.

    Args:
        versions: those with the same name or of the same team, with the submission itself.
        n_of_team: how many submissions the team made, with those taken out; 0 if the team is not known.
        same_image: other submissions of the same image.
    """

    versions: tuple[Version, ...]
    n_of_team: int
    same_image: tuple[Version, ...]


def team_of(submission: Submission) -> str:
    """What submissions of one team have in common: their invitation, else their team's name. It is not shown."""
    return submission.arrival.invitation or team_name(submission)


def team_name(submission: Submission) -> str:
    """The team of a submission as its author states it. The name of an invitation is the maintainer's own."""
    card = submission.card
    authors = ", ".join(card.authors) if len(card.authors) <= MAX_AUTHORS else f"{card.authors[0]} et al."
    return card.affiliation or submission.author or authors


class Submissions:
    """All submissions of a board, with those that were taken out; finds related ones."""

    def __init__(self, board: Leaderboard) -> None:
        rows = [Version(row.submission, row, "", False) for row in board.rows]
        out = [Version(entry.submission, None, f"{entry.word}: {entry.reason}", False) for entry in board.taken_out]
        versions = sorted([*rows, *out], key=_age)
        self._versions = versions
        self._by_name = _grouped(versions, lambda version: version.submission.card.name.casefold())
        self._by_team = _grouped(versions, lambda version: team_of(version.submission).casefold())
        self._by_image = _grouped(versions, lambda version: version.submission.image.id)

    def related(self, submission: Submission) -> Related:
        """The submissions related to `submission`."""
        of_team = self._of_team(submission)
        named = self._by_name.get(submission.card.name.casefold(), ())
        versions = {version.submission.id: version for version in (*of_team, *named)}
        marked = (
            version._replace(this=version.submission.id == submission.id)
            for version in sorted(versions.values(), key=_age)
        )
        same_image = self._by_image.get(submission.image.id, ())
        others = (version for version in same_image if version.submission.id != submission.id)
        return Related(tuple(marked), len(of_team), tuple(others))

    def twins(self) -> frozenset[str]:
        """IDs of the submissions whose name looks like that of another team's submission."""
        by_look = _grouped(self._versions, lambda version: as_read(version.submission.card.name))
        return frozenset(
            version.submission.id
            for alike in by_look.values()
            if len({team_of(version.submission).casefold() for version in alike}) > 1
            for version in alike
        )

    def n_of_team(self, submission: Submission) -> int:
        """How many submissions its team made, with those taken out; 0 if the team is not known."""
        return len(self._of_team(submission))

    def _of_team(self, submission: Submission) -> Sequence[Version]:
        return self._by_team.get(team_of(submission).casefold(), ())


def _age(version: Version) -> tuple[datetime, str]:
    return version.submission.created, version.submission.id


def _grouped(versions: Iterable[Version], key: Callable[[Version], str]) -> Mapping[str, Sequence[Version]]:
    groups: dict[str, list[Version]] = {}
    for version in versions:
        if key(version):
            groups.setdefault(key(version), []).append(version)
    return groups
