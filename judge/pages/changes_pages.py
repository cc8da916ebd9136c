"""How the ranking changed, and why: a page, and an Atom feed (RFC 4287)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from judge.pages.changes import Changes, Move, MoveKind, changes, urn
from judge.records.manifest import ManifestScores
from judge.version import judge_version
from judge.view.columns import Column
from judge.view.formatting import count
from judge.view.page_context import Frame
from scoring.names import ERRORS

PAGE, FEED = "changes.html", "changes.atom"
N_ON_PAGE, N_IN_FEED = 100, 30
N_FIRST = 20  # models of the first publication that the page lists
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)  # a feed without entries was never updated


def pages(frame: Frame) -> dict[str, bytes]:
    """`changes.html` and `changes.atom`."""
    sources = frame.sources
    publications = changes(frame.board, sources.manifests, sources.now, judge_version())
    page = frame.draw(
        PAGE,
        PAGE,
        publications=publications[:N_ON_PAGE],
        n_older=max(0, len(publications) - N_ON_PAGE),
        n_first=N_FIRST,
        feed=FEED,
        shown_rows={row.submission.id: row for row in frame.board.rows},
        score_moves=score_moves,
        headline=headline,
    )
    return {PAGE: page, FEED: _feed(frame, [changed for changed in publications if changed.when is not None])}


def headline(changed: Changes) -> str:
    """The changes of a publication in a line."""
    if changed.first:
        return f"First publication: {count(len(changed.moves), 'model')}, {changed.n_ranked} ranked"
    return ", ".join(f"{n} {kind}" for kind in MoveKind if (n := changed.count(kind)))


def score_moves(move: Move, columns: Sequence[Column]) -> list[tuple[Column, float | None, float | None]]:
    """The scores of a model that changed, before and after; for a new model the scores that determine its rank."""
    moves = []
    for column in columns:
        before, after = (_score(side, column.key) for side in (move.before, move.after))
        wanted = move.before is not None or column.key in ERRORS
        if wanted and before != after and move.after is not None:
            moves.append((column, before, after))
    return moves


def _score(side: ManifestScores | None, key: str) -> float | None:
    value: float | None = getattr(side, key) if side is not None else None
    return value


def _feed(frame: Frame, publications: Sequence[Changes]) -> bytes:
    """The feed of publications. It has links only if the site's address is known, since relative links mean nothing
    to a feed reader.
    """
    board, sources = frame.board, frame.sources
    first = sources.manifests[0].published if sources.manifests else sources.now
    newest = publications[0].when if publications else None
    return frame.draw(
        "changes.atom.xml",
        FEED,
        publications=publications[:N_IN_FEED],
        n_first=N_FIRST,
        feed_id=urn(f"{board.suite.name} feed", first),
        updated=newest or first or board.measured or _NEVER,
        site=sources.site_url,
        page=PAGE,
        feed=FEED,
        score_moves=score_moves,
        headline=headline,
        xml=allowed_in_xml,
        instant=lambda when: when.astimezone(UTC).isoformat().replace("+00:00", "Z"),
    )


def allowed_in_xml(text: str) -> str:
    """The text without characters that XML 1.0 cannot write. A name of a model may have such characters."""
    return "".join(
        c for c in text if c in "\t\n" or "\x20" <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff"
    )
