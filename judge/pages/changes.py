"""What moved in the ranking from one publication to the next, and why: from the manifests, and the board of now."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from judge.disclosure.published_scores import published_scores, shown_results
from judge.pages.change_reasons import Publication, Reason, reasons
from judge.ranking.leaderboard import Leaderboard
from judge.records.items_file import result_path
from judge.records.manifest import Manifest, ManifestScores

_NAMESPACE = uuid.UUID("6f1d4a0e-4f0b-5d4e-9d5c-3c1f5d2f7a10")  # of the identifiers of publications


class Kind(StrEnum):
    """What became of a model."""

    NEW = "new"
    UP = "up"
    DOWN = "down"
    RANKED = "now ranked"
    UNRANKED = "no longer ranked"
    RESCORED = "other scores, same rank"
    GONE = "gone"


class Move(NamedTuple):
    """What became of one model between two publications.

    Args:
        before: None where it was not there.
        after: None where it is there no more.
    """

    id: str
    name: str
    kind: Kind
    before: ManifestScores | None
    after: ManifestScores | None
    why: tuple[Reason, ...]


@dataclass(frozen=True)
class Changes:
    """A publication in which something moved.

    Args:
        urn: the same in every later build, and for no other publication.
        when: None while it is not published.
        first: there was none before it.
        why: what holds for all models.
        moves: by rank, those without one after, those that are gone last.
        n_ranked: of the models then.
    """

    urn: str
    when: datetime | None
    first: bool
    why: tuple[Reason, ...]
    moves: tuple[Move, ...]
    n_ranked: int

    def of(self, *kinds: Kind) -> tuple[Move, ...]:
        """The moves of these kinds."""
        return tuple(move for move in self.moves if move.kind in kinds)


def changes(board: Leaderboard, manifests: Sequence[Manifest], now: datetime | None, judge: str) -> list[Changes]:
    """What moved in each publication, the newest first; those in which nothing did are left out.

    Args:
        manifests: of the suite, the oldest first.
        now: when the board is published; None where it is not: what moved since the last publication is not dated then.
        judge: its version now.
    """
    apart = {row.submission.id for row in board.references}
    made = [_published(manifest, apart) for manifest in manifests] + [_pending(board, now, judge)]
    if now is None and not manifests:
        return []  # there is nothing that the board could differ from
    nothing = Publication(None, made[0].release, made[0].judge, {}, {})
    known = _Known.of(board, apart)
    seen: set[str] = set()
    found = []
    for before, after in pairwise([nothing, *made]):
        one = _between(board.suite.name, before, after, known, seen, first=before is nothing)
        if one.moves:
            found.append(one)
        seen |= after.scores.keys()
    return found[::-1]


def urn(suite: str, when: datetime | None) -> str:
    """The identifier of what was published at a moment: it hangs on nothing that a later build could have otherwise."""
    moment = "pending" if when is None else when.astimezone(UTC).isoformat()
    return uuid.uuid5(_NAMESPACE, f"{suite} {moment}").urn


def _published(manifest: Manifest, apart: Collection[str]) -> Publication:
    return Publication(
        manifest.published,
        manifest.release,
        manifest.judge_version,
        {id: of for id, of in manifest.scores.items() if of.rank is not None or id not in apart},
        manifest.results,
    )


def _pending(board: Leaderboard, now: datetime | None, judge: str) -> Publication:
    apart = {row.submission.id for row in board.references}
    scores = {id: of for id, of in published_scores(board).items() if id not in apart}
    keys = [result_path(result.submission, result.task, result.result_key) for result in shown_results(board)]
    return Publication(now, board.release.name, judge, scores, dict.fromkeys(keys, ""))


class _Known(NamedTuple):
    """What the board of now tells of models.

    Args:
        names: of all that it knows.
        out: why those are no longer there that were taken out, or are there for comparison.
    """

    names: Mapping[str, str]
    out: Mapping[str, Reason]

    @classmethod
    def of(cls, board: Leaderboard, apart: Collection[str]) -> _Known:
        submissions = [row.submission for row in board.rows] + [one.submission for one in board.taken_out]
        names = {each.id: f"{each.card.name} {each.card.version}".strip() for each in submissions}
        out = {one.submission.id: Reason(f"{one.word}: {one.reason}") for one in board.taken_out}
        return cls(names, out | {id: Reason("it is there for comparison now, and takes no part") for id in apart})

    def name(self, id: str) -> str:
        return self.names.get(id, id)


def _between(
    suite: str, before: Publication, after: Publication, known: _Known, seen: Collection[str], *, first: bool
) -> Changes:
    """What moved between two publications.

    Args:
        seen: models that were in any publication before.
    """
    kinds = {
        id: kind
        for id in sorted(before.scores.keys() | after.scores.keys())
        if (kind := _kind(before.scores.get(id), after.scores.get(id)))
    }
    moves = []
    for id, kind in kinds.items():
        own_before, own_after = before.scores.get(id), after.scores.get(id)
        if kind is Kind.GONE:
            why: tuple[Reason, ...] = (known.out.get(id, Reason("its records are no longer shown")),)
        elif kind is Kind.NEW:
            why = (Reason("it is back"),) if id in seen else ()
        else:
            why = reasons(id, before, after, known.name)
        moves.append(Move(id, known.name(id), kind, own_before, own_after, why))
    n_ranked = sum(of.rank is not None for of in after.scores.values())
    general = () if first or not kinds else _general(before, after)
    return Changes(urn(suite, after.when), after.when, first, general, tuple(sorted(moves, key=_order)), n_ranked)


def _kind(before: ManifestScores | None, after: ManifestScores | None) -> Kind | None:
    """What became of a model; None where nothing of it moved."""
    if before is None:
        return Kind.NEW
    if after is None:
        return Kind.GONE
    if before == after:
        return None
    if before.rank == after.rank:
        return Kind.RESCORED
    if before.rank is None:
        return Kind.RANKED
    if after.rank is None:
        return Kind.UNRANKED
    return Kind.UP if after.rank < before.rank else Kind.DOWN


def _order(move: Move) -> tuple[bool, float, float, str]:
    after, before = (side.rank if side else None for side in (move.after, move.before))
    last = float("inf")
    return move.after is None, last if after is None else after, last if before is None else before, move.id


def _general(before: Publication, after: Publication) -> tuple[Reason, ...]:
    """What holds for all models."""
    found = []
    if before.release != after.release:
        found.append(Reason(f"The release of the scoring is {after.release}, before it was {before.release}"))
    if added := sorted(after.tasks - before.tasks):
        found.append(Reason("Judged for the first time:", tuple(added)))
    if gone := sorted(before.tasks - after.tasks):
        found.append(Reason("No longer in the suite, or without any result:", tuple(gone)))
    return tuple(found)
