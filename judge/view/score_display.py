"""Data that the pages show beside the scores: uncertainty, robustness of ranks, and scores of other schemes."""

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
from tasks.suites.suite import Suite

_NAMED = 3  # a cell names so many units
OTHERS = {key: score.label for key, score in SCORES.items() if score.scheme != LAMBENCH}
"""Labels of the scores of other schemes, by key."""


def uncertainty_of(board: Leaderboard, key: str, row: Row) -> Uncertainty | None:
    """The uncertainty of a score of a row; None if nothing of it was resampled."""
    return board.robustness.intervals.get(key, {}).get(row.submission.id)


def known(interval: Interval | None) -> Interval | None:
    """The interval; None if it is unknown."""
    return interval if interval is not None and interval.known else None


def score_interval(board: Leaderboard, key: str, row: Row) -> Interval | None:
    """The interval of a score of a row; None if it is unknown."""
    uncertainty = uncertainty_of(board, key, row)
    return None if uncertainty is None else known(uncertainty.score)


class RankStatus(NamedTuple):
    """The certainty of a model's rank.

    Args:
        ranks: the interval of its rank.
        tied: True if it is in a group of several models that cannot be distinguished from their leader.
        group: number of that group.
        leader: the first model of that group; None if the model leads it or is in no group.
        ordered: False if the score has too few independent items for an order.
    """

    ranks: Interval | None = None
    tied: bool = False
    group: int = 0
    leader: Row | None = None
    ordered: bool = True


def rank_statuses(board: Leaderboard, keys: Sequence[str]) -> dict[str, RankStatus]:
    """The rank status of each ranked model, by submission and by the score that orders the ranking."""
    key = ranked_by(keys)
    by_id = {row.submission.id: (row, u) for row in board.ranked if key and (u := uncertainty_of(board, key, row))}
    groups: dict[int, list[tuple[float, str]]] = {}
    for name, (_, uncertainty) in by_id.items():
        if uncertainty.group is not None:
            groups.setdefault(uncertainty.group, []).append((uncertainty.value, name))
    rank_status = {}
    for name, (_, uncertainty) in by_id.items():
        ranks, members = known(uncertainty.rank_interval), groups.get(uncertainty.group or 0, [])
        if len(members) > 1:
            leader = min(members)[1]  # as scoring.intervals.tie_groups orders them
            leads = by_id[leader][0] if leader != name else None
            rank_status[name] = RankStatus(ranks, True, uncertainty.group or 0, leads)
        else:
            rank_status[name] = RankStatus(ranks, ordered=uncertainty.has_order)
    return rank_status


def ranked_by(keys: Sequence[str]) -> str | None:
    """The key of the score that orders the ranking, one of `keys`; None if there is none."""
    return next((key for key in ERRORS if key in keys), None)


class RobustnessLine(NamedTuple):
    """The possible ranks of one model, and its score on other test sets.

    Args:
        without: the best and the worst rank without one unit.
        with_unseen: the interval of the score with failures that the items do not show; None if it is not known.
        like_these: the same on test sets like these.
        carries_over: see `scoring.intervals.Uncertainty`.
    """

    row: Row
    rank: int | None
    ranks: Interval | None
    weights: RankRange | None
    without: tuple[int, int] | None
    decisive: str
    with_unseen: Interval | None = None
    like_these: Interval | None = None
    carries_over: bool | None = None


class RobustnessTable(NamedTuple):
    """The ranked models, by one score alone."""

    key: str
    label: str
    unit: str
    lines: tuple[RobustnessLine, ...]


def robustness_tables(board: Leaderboard, keys: Sequence[str]) -> tuple[RobustnessTable, ...]:
    """The certainty of the ranks, a table for each score, that of the ranking first; none for fewer than two models."""
    if len(board.ranked) < 2:
        return ()
    first = ranked_by(keys)
    tables = []
    for key in sorted(keys, key=lambda k: k != first):
        lines = tuple(_robustness_line(board, key, row) for row in board.ranked)
        placed = sorted(lines, key=lambda line: (line.rank is None, line.rank or 0))
        tables.append(RobustnessTable(key, SCORES[key].label, SCORES[key].counts, tuple(placed)))
    return tuple(tables)


def _robustness_line(board: Leaderboard, key: str, row: Row) -> RobustnessLine:
    uncertainty = uncertainty_of(board, key, row)
    weights = board.robustness.weights.get(key, {}).get(row.submission.id)
    left_out = board.robustness.without.get(key, {}).get(row.submission.id)
    rank = next((source.rank for source in (uncertainty, weights, left_out) if source is not None), None)
    ranks = None if uncertainty is None else known(uncertainty.rank_interval)
    wider: tuple[Interval | None, Interval | None, bool | None] = (None, None, None)
    if uncertainty is not None:
        wider = known(uncertainty.with_unseen), known(uncertainty.like_these), uncertainty.carries_over
    if rank is None or left_out is None or not left_out.without:
        return RobustnessLine(row, rank, ranks, weights if rank else None, None, "", *wider)
    between = min(left_out.without.values()), max(left_out.without.values())
    return RobustnessLine(row, rank, ranks, weights, between, _decisive(left_out, board.suite), *wider)


def _decisive(left_out: LeftOut, suite: Suite) -> str:
    """The ranks without the units whose removal changes them most: `3 without Crystals, Barriers and 2 more`."""
    by_rank: dict[int, list[str]] = {}
    for unit in left_out.decisive:
        by_rank.setdefault(left_out.without[unit], []).append(suite.label_of(unit))
    ranks = []
    for rank, units in sorted(by_rank.items()):
        more = f" and {len(units) - _NAMED} more" if len(units) > _NAMED else ""
        ranks.append(f"{rank} without {', '.join(units[:_NAMED])}{more}")
    return "; ".join(ranks)


class PublishedCell(NamedTuple):
    """A score as published, the corrected one, and the difference of both, rounded as the pages show them."""

    value: float | None
    corrected: float | None
    difference: float | None


class PublishedLine(NamedTuple):
    row: Row
    cells: tuple[PublishedCell, ...]


def published_lines(board: Leaderboard, keys: Sequence[str]) -> tuple[PublishedLine, ...]:
    """Each row's scores by the rules of LAMBench itself."""
    return tuple(PublishedLine(row, tuple(_published(row, key) for key in keys)) for row in board.rows)


def _published(row: Row, key: str) -> PublishedCell:
    published, corrected = row.as_published[key].value, row.scores[key].value
    if published is None or corrected is None:
        return PublishedCell(published, corrected, None)
    return PublishedCell(published, corrected, round(published, 3) - round(corrected, 3))


def published_words(release: Release) -> str:
    """The differences of a release from the corrected rules, in sentences."""
    force, properties, drift = release.force_field, release.property_error, release.instability
    sentences = ["Failed items are not penalised: an error is that of the items that succeeded"]
    if properties.divided_by_success_rate:
        sentences[0] += "; errors of phonons and moduli are divided by the share of items that succeeded"
    if force.missing is Missing.UNSCORED:
        sentences.append("A model that lacks an error of energy, force or virial has no force-field error")
    if properties.missing is Missing.SKIPPED:
        sentences.append("A property without an answer is left out, and the others share its weight")
    if properties.missing_domain is MissingDomain.DROPPED:
        sentences.append("A domain in which some model has no property is dropped for all")
    if properties.missing_domain is MissingDomain.SKIPPED:
        sentences.append("A domain in which a model has no property is left out for that model")
    if force.cap is None or properties.cap is None:
        sentences.append("An error beyond the trivial model’s counts as it is")
    tolerance = formatting.number(drift.tolerances[0], 2)
    sentences.append(
        f"A drift counts from {tolerance} {drift.unit}, and a run that ran out of time as one that blew up"
    )
    return ". ".join(sentences) + "."


class OtherCell(NamedTuple):
    """A score of another scheme, corrected and by that scheme's own rules; None if there is none."""

    term: Term | None
    published: Term | None
    interval: Interval | None

    @property
    def differs(self) -> bool:
        """True if the score as published differs in the digits shown."""
        if self.published is None:
            return False
        corrected = None if self.term is None else self.term.value
        return formatting.decimals(self.published.value) != formatting.decimals(corrected)


class OtherLine(NamedTuple):
    row: Row
    cells: tuple[OtherCell, ...]


class OtherTable(NamedTuple):
    names: Mapping[str, str]
    lines: tuple[OtherLine, ...]


def other_table(board: Leaderboard) -> OtherTable:
    """The scores of all rows by the other schemes; a scheme in which no row has a score is left out."""
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
