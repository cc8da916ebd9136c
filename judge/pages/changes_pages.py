"""What moved in the ranking and why: a page, and a feed (Atom, RFC 4287)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from judge.pages.changes import Changes, Kind, Move, changes, urn
from judge.records.manifest import ManifestScores
from judge.version import judge_version
from judge.view.columns import Column
from judge.view.page_context import Frame
from scoring.names import ERRORS

PAGE, FEED = "changes.html", "changes.atom"
N_ON_PAGE, N_IN_FEED = 100, 30
N_FIRST = 20  # models of the first publication that are named
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)  # of a feed in which nothing ever happened


def pages(frame: Frame) -> dict[str, bytes]:
    """`changes.html` and `changes.atom`."""
    sources = frame.sources
    found = changes(frame.board, sources.manifests, sources.now, judge_version())
    page = frame.draw(
        PAGE,
        PAGE,
        found=found[:N_ON_PAGE],
        n_older=max(0, len(found) - N_ON_PAGE),
        n_first=N_FIRST,
        feed=FEED,
        shown_rows={row.submission.id: row for row in frame.board.rows},
        score_moves=score_moves,
        headline=headline,
    )
    return {PAGE: page, FEED: _feed(frame, [one for one in found if one.when is not None])}


def headline(one: Changes) -> str:
    """What moved, in a line."""
    if one.first:
        n = len(one.moves)
        return f"First publication: {n} model{'' if n == 1 else 's'}, {one.n_ranked} of them ranked"
    said = []
    for kinds, words in (
        ((Kind.NEW,), "new"),
        ((Kind.UP,), "up"),
        ((Kind.DOWN,), "down"),
        ((Kind.RANKED,), "now ranked"),
        ((Kind.UNRANKED,), "no longer ranked"),
        ((Kind.RESCORED,), "with other scores"),
        ((Kind.GONE,), "gone"),
    ):
        if n := len(one.of(*kinds)):
            said.append(f"{n} {words}")
    return ", ".join(said)


def score_moves(move: Move, columns: Sequence[Column]) -> list[tuple[Column, float | None, float | None]]:
    """The scores of a model that moved, before and after; of a new one those that it is ranked by."""
    found = []
    for column in columns:
        before, after = (_score(side, column.key) for side in (move.before, move.after))
        wanted = move.before is not None or column.key in ERRORS
        if wanted and before != after and move.after is not None:
            found.append((column, before, after))
    return found


def _score(side: ManifestScores | None, key: str) -> float | None:
    value: float | None = getattr(side, key) if side is not None else None
    return value


def _feed(frame: Frame, found: Sequence[Changes]) -> bytes:
    """The feed of what was published. It has links only where the site's address is known: a reader of feeds has no
    page that they could be relative to.
    """
    board, sources = frame.board, frame.sources
    first = sources.manifests[0].published if sources.manifests else sources.now
    newest = found[0].when if found else None
    return frame.draw(
        "changes.atom.xml",
        FEED,
        found=found[:N_IN_FEED],
        n_first=N_FIRST,
        feed_id=urn(f"{board.suite.name} feed", first),
        updated=newest or first or board.measured or _BEGINNING,
        site=sources.site_url,
        page=PAGE,
        feed=FEED,
        score_moves=score_moves,
        headline=headline,
        xml=allowed_in_xml,
        instant=lambda when: when.astimezone(UTC).isoformat().replace("+00:00", "Z"),
    )


def allowed_in_xml(text: str) -> str:
    """The text without the characters that XML 1.0 has no way to write, which names of models may have all the same."""
    return "".join(
        c for c in text if c in "\t\n" or "\x20" <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff"
    )
