"""What else was submitted that a reader of a model's page should know of: of its name, its team, its image."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from judge.ranking.leaderboard import Leaderboard, Row
from submissions.records import Submission


class Version(NamedTuple):
    """One submission among those that belong together.

    Args:
        row: None where it was taken out of the ranking.
        out: `withdrawn`, and why; empty while it is in.
        this: whether it is the one whose page this is.
    """

    submission: Submission
    row: Row | None
    out: str
    this: bool


class Related(NamedTuple):
    """The submissions that belong to one, each list the oldest first.

    Args:
        versions: of the same name or by the same team, with itself.
        n_of_team: how many submissions the team made, with those taken out; 0: the team is not known.
        same_image: others of the very same image.
    """

    versions: tuple[Version, ...]
    n_of_team: int
    same_image: tuple[Version, ...]


def team_of(submission: Submission) -> str:
    """Whose submission it is: the invitation that it came with, else the affiliation or author it states."""
    return submission.arrival.invitation or submission.card.affiliation or submission.author


class Submissions:
    """All submissions of a board, those that were taken out too, to be asked what belongs to one."""

    def __init__(self, board: Leaderboard) -> None:
        rows = [Version(row.submission, row, "", False) for row in board.rows]
        out = [Version(one.submission, None, f"{one.word}: {one.reason}", False) for one in board.taken_out]
        known = sorted([*rows, *out], key=lambda of: (of.submission.created, of.submission.id))
        self._by_name = _grouped(known, lambda of: of.submission.card.name.casefold())
        self._by_team = _grouped(known, lambda of: team_of(of.submission).casefold())
        self._by_image = _grouped(known, lambda of: of.submission.image.id)

    def related(self, submission: Submission) -> Related:
        """What belongs to `submission`."""
        own = self._of_team(submission)
        named = self._by_name.get(submission.card.name.casefold(), ())
        versions = {of.submission.id: of for of in (*own, *named)}
        ordered = sorted(versions.values(), key=lambda of: (of.submission.created, of.submission.id))
        same = [of for of in self._by_image.get(submission.image.id, ()) if of.submission.id != submission.id]
        marked = (of._replace(this=of.submission.id == submission.id) for of in ordered)
        return Related(tuple(marked), len(own), tuple(same))

    def n_of_team(self, submission: Submission) -> int:
        """How many submissions its team made, with those taken out; 0: the team is not known."""
        return len(self._of_team(submission))

    def _of_team(self, submission: Submission) -> Sequence[Version]:
        return self._by_team.get(team_of(submission).casefold(), ())


def _grouped(known: Iterable[Version], key: Callable[[Version], str]) -> Mapping[str, Sequence[Version]]:
    groups: dict[str, list[Version]] = {}
    for of in known:
        if key(of):
            groups.setdefault(key(of), []).append(of)
    return groups
