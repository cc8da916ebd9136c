"""What the pages show beside the scores: how firm they are, and what other schemes make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from judge.ranking.leaderboard import Leaderboard, Row
from judge.view import formatting
from scoring import Release, Term
from scoring.intervals import Interval, Uncertainty
from scoring.lambench.rules import Missing, MissingDomain
from scoring.names import ERRORS, LAMBENCH, SCORES
from scoring.robustness import LeftOut, RankRange

_NAMED = 3  # units that are named in a cell
OTHERS = {key: score.label for key, score in SCORES.items() if score.scheme != LAMBENCH}
"""Labels of the scores of other schemes, by key."""


def uncertainty_of(board: Leaderboard, key: str, row: Row) -> Uncertainty | None:
    """How far a score would move; None where nothing of it was resampled."""
    return board.firmness.intervals.get(key, {}).get(row.submission.id)


def known(interval: Interval | None) -> Interval | None:
    """The interval, None where there is nothing to show."""
    return interval if interval is not None and interval.known else None


def score_interval(board: Leaderboard, key: str, row: Row) -> Interval | None:
    """The interval of a score of a row."""
    found = uncertainty_of(board, key, row)
    return None if found is None else known(found.score)


class RankStatus(NamedTuple):
    """Where a model stands among those that are ranked.

    Args:
        ranks: the interval of its rank.
        tied: it is in a group of several that cannot be told apart from their leader.
        group: number of that group.
        leader: of that group; None where it leads itself, or is in none.
    """

    ranks: Interval | None = None
    tied: bool = False
    group: int = 0
    leader: Row | None = None


def rank_statuses(board: Leaderboard, keys: Sequence[str]) -> dict[str, RankStatus]:
    """By submission, its standing by the score that the ranking is by; nothing of those that are not ranked."""
    key = ranked_by(keys)
    found = {row.submission.id: (row, u) for row in board.ranked if key and (u := uncertainty_of(board, key, row))}
    groups: dict[int, list[tuple[float, str]]] = {}
    for name, (_, uncertainty) in found.items():
        if uncertainty.group is not None:
            groups.setdefault(uncertainty.group, []).append((uncertainty.value, name))
    rank_status = {}
    for name, (_, uncertainty) in found.items():
        ranks, members = known(uncertainty.rank_interval), groups.get(uncertainty.group or 0, [])
        if len(members) > 1:
            leader = min(members)[1]  # as scoring.intervals.tie_groups orders them
            leads = found[leader][0] if leader != name else None
            rank_status[name] = RankStatus(ranks, True, uncertainty.group or 0, leads)
        else:
            rank_status[name] = RankStatus(ranks)
    return rank_status


def ranked_by(keys: Sequence[str]) -> str | None:
    """The score that the ranking is by, of those that the suite has tasks for."""
    return next((key for key in ERRORS if key in keys), None)


class FirmLine(NamedTuple):
    """How far the rank of one model moves. `without` runs from the best to the worst rank without one unit."""

    row: Row
    rank: int | None
    ranks: Interval | None
    weights: RankRange | None
    without: tuple[int, int] | None
    decisive: str


class FirmTable(NamedTuple):
    """The models that are ranked, by one score alone."""

    key: str
    label: str
    unit: str
    lines: tuple[FirmLine, ...]


def firm_tables(board: Leaderboard, keys: Sequence[str]) -> tuple[FirmTable, ...]:
    """How firm the ranks are, a table a score, that which the ranking is by first; none where there is one model."""
    if len(board.ranked) < 2:
        return ()
    first = ranked_by(keys)
    tables = []
    for key in sorted(keys, key=lambda k: k != first):
        lines = tuple(_firm_line(board, key, row) for row in board.ranked)
        placed = sorted(lines, key=lambda line: (line.rank is None, line.rank or 0))
        tables.append(FirmTable(key, SCORES[key].label, SCORES[key].counts, tuple(placed)))
    return tuple(tables)


def _firm_line(board: Leaderboard, key: str, row: Row) -> FirmLine:
    own = uncertainty_of(board, key, row)
    weights = board.firmness.weights.get(key, {}).get(row.submission.id)
    left = board.firmness.without.get(key, {}).get(row.submission.id)
    rank = next((of.rank for of in (own, weights, left) if of is not None), None)
    ranks = None if own is None else known(own.rank_interval)
    if rank is None or left is None or not left.without:
        return FirmLine(row, rank, ranks, weights if rank else None, None, "")
    between = min(left.without.values()), max(left.without.values())
    return FirmLine(row, rank, ranks, weights, between, _decisive(left))


def _decisive(left: LeftOut) -> str:
    """The ranks that it comes to without the units that move it most: `3 without crystals, barriers and 2 more`."""
    by_rank: dict[int, list[str]] = {}
    for unit in left.decisive:
        by_rank.setdefault(left.without[unit], []).append(unit)
    said = []
    for rank, units in sorted(by_rank.items()):
        more = f" and {len(units) - _NAMED} more" if len(units) > _NAMED else ""
        said.append(f"{rank} without {', '.join(units[:_NAMED])}{more}")
    return "; ".join(said)


class PublishedCell(NamedTuple):
    """A score as published, and how much more it is than the corrected one, of the numbers as they are shown."""

    value: float | None
    corrected: float | None
    difference: float | None


class PublishedLine(NamedTuple):
    row: Row
    cells: tuple[PublishedCell, ...]


def published_lines(board: Leaderboard, keys: Sequence[str]) -> tuple[PublishedLine, ...]:
    """Each row's scores as LAMBench itself adds them up."""
    return tuple(PublishedLine(row, tuple(_published(row, key) for key in keys)) for row in board.rows)


def _published(row: Row, key: str) -> PublishedCell:
    there, here = row.as_published[key].value, row.scores[key].value
    both = there is not None and here is not None
    return PublishedCell(there, here, round(there, 3) - round(here, 3) if both else None)  # type: ignore[arg-type]


def published_words(release: Release) -> str:
    """What a release does otherwise than `corrected`, in sentences."""
    force, properties, drift = release.force_field, release.property_error, release.instability
    said = ["Failed items are not charged: an error is that of the items that succeeded"]
    if properties.divided_by_success_rate:
        said[0] += "; those of phonons and moduli are divided by the share that did"
    if force.missing is Missing.UNSCORED:
        said.append("A model that lacks an error of energy, force or virial has no force-field error")
    if properties.missing is Missing.SKIPPED:
        said.append("A property without an answer is left out, and the others share its weight")
    if properties.missing_domain is MissingDomain.DROPPED:
        said.append("A domain in which some model has no property is dropped for all")
    if properties.missing_domain is MissingDomain.SKIPPED:
        said.append("A domain in which a model has no property is left out for that model")
    if force.cap is None or properties.cap is None:
        said.append("An error beyond the trivial model’s counts as it is")
    tolerance = formatting.number(drift.tolerances[0], 2)
    said.append(f"A drift counts from {tolerance} {drift.unit}, and a run that ran out of time as one that blew up")
    return ". ".join(said) + "."


class OtherCell(NamedTuple):
    """A score by another scheme, corrected and as that scheme publishes it; None where there is none."""

    term: Term | None
    published: Term | None
    interval: Interval | None

    @property
    def differs(self) -> bool:
        """True where what would be published reads otherwise."""
        if self.published is None:
            return False
        own = None if self.term is None else self.term.value
        return formatting.decimals(self.published.value) != formatting.decimals(own)


class OtherLine(NamedTuple):
    row: Row
    cells: tuple[OtherCell, ...]


class OtherTable(NamedTuple):
    names: Mapping[str, str]
    lines: tuple[OtherLine, ...]


def other_table(board: Leaderboard) -> OtherTable:
    """Every row by the other schemes of which any row has a score."""
    names = {
        name: label
        for name, label in OTHERS.items()
        if any(name in row.scores or name in row.as_published for row in board.rows)
    }
    return OtherTable(
        names, tuple(OtherLine(row, tuple(_other(board, row, name) for name in names)) for row in board.rows)
    )


def _other(board: Leaderboard, row: Row, name: str) -> OtherCell:
    interval = score_interval(board, name, row)
    return OtherCell(row.scores.get(name), row.as_published.get(name), interval)
