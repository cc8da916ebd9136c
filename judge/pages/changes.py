"""How the ranking changed from one publication to the next, and why: from the manifests and the current board."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from judge.disclosure.published_scores import published_scores
from judge.pages.change_reasons import Publication, Reason, reasons
from judge.ranking.leaderboard import Leaderboard
from judge.records.manifest import Manifest, ManifestScores

_NAMESPACE = uuid.UUID("6f1d4a0e-4f0b-5d4e-9d5c-3c1f5d2f7a10")  # of publications


class MoveKind(StrEnum):
    """How a model changed."""

    NEW = "new"
    UP = "up"
    DOWN = "down"
    RANKED = "now ranked"
    UNRANKED = "no longer ranked"
    RESCORED = "with other scores"
    REMOVED = "removed"


class Move(NamedTuple):
    """The change of one model between two publications.

    Args:
        before: None if the earlier publication does not have the model.
        after: None if the later publication does not have the model.
    """

    id: str
    name: str
    kind: MoveKind
    before: ManifestScores | None
    after: ManifestScores | None
    why: tuple[Reason, ...]


@dataclass(frozen=True)
class Changes:
    """A publication in which a rank or a score changed.

    Args:
        urn: an identifier that is the same in every later build.
        when: the time of publication; None if it is not published yet.
        first: whether it is the first publication.
        why: reasons that hold for all models.
        moves: ranked models by rank, then models without a rank, then removed models.
        n_ranked: how many models have a rank.
    """

    urn: str
    when: datetime | None
    first: bool
    why: tuple[Reason, ...]
    moves: tuple[Move, ...]
    n_ranked: int

    def count(self, kind: MoveKind) -> int:
        """How many moves are of this kind."""
        return sum(move.kind is kind for move in self.moves)


def changes(board: Leaderboard, manifests: Sequence[Manifest], now: datetime | None, judge: str) -> list[Changes]:
    """The changes of each publication, the newest first. A publication without changes is left out.

    Args:
        manifests: of the suite, the oldest first.
        now: when the board is published; None if it is not: changes since the last publication then have no date.
        judge: the current version of the judge.
    """
    if now is None and not manifests:
        return []  # there is no publication to compare with
    references = {row.submission.id for row in board.references}
    publications = [_published(manifest, references) for manifest in manifests] + [_pending(board, now, judge)]
    nothing = Publication(None, publications[0].release, publications[0].judge, {}, {})
    models = BoardModels.of(board, references)
    seen: set[str] = set()
    by_publication = []
    for before, after in pairwise([nothing, *publications]):
        changed = _between(board.suite.name, before, after, models, seen, first=before is nothing)
        if changed.moves:
            by_publication.append(changed)
        seen |= after.scores.keys()
    return by_publication[::-1]


def urn(suite: str, when: datetime | None) -> str:
    """The identifier of a publication. It depends on nothing that a later build can change."""
    moment = "pending" if when is None else when.astimezone(UTC).isoformat()
    return uuid.uuid5(_NAMESPACE, f"{suite} {moment}").urn


def _published(manifest: Manifest, references: Collection[str]) -> Publication:
    return Publication(
        manifest.published,
        manifest.release,
        manifest.judge_version,
        {id: scores for id, scores in manifest.scores.items() if scores.rank is not None or id not in references},
        manifest.results,
    )


def _pending(board: Leaderboard, now: datetime | None, judge: str) -> Publication:
    references = {row.submission.id for row in board.references}
    scores = {id: of_model for id, of_model in published_scores(board).items() if id not in references}
    keys = [line.key for row in board.rows for line in row.tasks if line.is_judged]
    return Publication(now, board.release.name, judge, scores, dict.fromkeys(keys, ""))


class BoardModels(NamedTuple):
    """The models of the current board.

    Args:
        names: of all models, those included that were taken out.
        titles: of the tasks of the suite.
        removed: why a model is no longer ranked: it was taken out, or it is there for comparison.
    """

    names: Mapping[str, str]
    titles: Mapping[str, str]
    removed: Mapping[str, Reason]

    @classmethod
    def of(cls, board: Leaderboard, references: Collection[str]) -> BoardModels:
        submissions = [row.submission for row in board.rows] + [model.submission for model in board.taken_out]
        names = {each.id: f"{each.card.name} {each.card.version}".strip() for each in submissions}
        removed = {model.submission.id: Reason(f"{model.word}: {model.reason}") for model in board.taken_out}
        titles = {task.name: task.label for task in board.suite.tasks}
        return cls(
            names, titles, removed | {id: Reason("now only for comparison, without a rank") for id in references}
        )

    def name(self, id: str) -> str:
        return self.names.get(id, id)

    def title(self, task: str) -> str:
        """The title of a task; of one that the suite has no longer, its name."""
        return self.titles.get(task, task)


def _between(
    suite: str, before: Publication, after: Publication, models: BoardModels, seen: Collection[str], *, first: bool
) -> Changes:
    """The changes between two publications.

    Args:
        seen: the models of all earlier publications.
    """
    kinds = {
        id: kind
        for id in sorted(before.scores.keys() | after.scores.keys())
        if (kind := _kind(before.scores.get(id), after.scores.get(id)))
    }
    moves = []
    for id, kind in kinds.items():
        if kind is MoveKind.REMOVED:
            why: tuple[Reason, ...] = (models.removed.get(id, Reason("its records are no longer shown")),)
        elif kind is MoveKind.NEW:
            why = (Reason("the model is back"),) if id in seen else ()
        else:
            why = reasons(id, before, after, models.name, models.title)
        moves.append(Move(id, models.name(id), kind, before.scores.get(id), after.scores.get(id), why))
    n_ranked = sum(scores.rank is not None for scores in after.scores.values())
    general = () if first or not kinds else _general(before, after, models)
    return Changes(urn(suite, after.when), after.when, first, general, tuple(sorted(moves, key=_order)), n_ranked)


def _kind(before: ManifestScores | None, after: ManifestScores | None) -> MoveKind | None:
    """How a model changed; None if it did not."""
    if before is None:
        return MoveKind.NEW
    if after is None:
        return MoveKind.REMOVED
    if before == after:
        return None
    if before.rank == after.rank:
        return MoveKind.RESCORED
    if before.rank is None:
        return MoveKind.RANKED
    if after.rank is None:
        return MoveKind.UNRANKED
    return MoveKind.UP if after.rank < before.rank else MoveKind.DOWN


def _order(move: Move) -> tuple[bool, float, float, str]:
    after, before = (side.rank if side else None for side in (move.after, move.before))
    last = float("inf")
    return move.after is None, last if after is None else after, last if before is None else before, move.id


def _general(before: Publication, after: Publication, models: BoardModels) -> tuple[Reason, ...]:
    """Reasons that hold for all models."""
    general = []
    if before.release != after.release:
        general.append(Reason(f"The scoring release changed from {before.release} to {after.release}"))
    if added := sorted(after.tasks - before.tasks):
        general.append(Reason("Judged for the first time:", tuple(map(models.title, added))))
    if gone := sorted(before.tasks - after.tasks):
        general.append(Reason("No longer in the suite, or without a result:", tuple(map(models.title, gone))))
    return tuple(general)
