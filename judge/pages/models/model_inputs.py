"""The inputs of a model's page. A page whose inputs are equal to those of the last build is not drawn again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from judge.figures.radar import errors_of, rival_of, spokes
from judge.pages.models.rank_parts import version_ranks
from judge.ranking.leaderboard import Row
from judge.view.page_context import Frame
from judge.view.related_submissions import Related, Version
from judge.view.score_display import RankStatus
from scoring.intervals import Uncertainty


def inputs_of(frame: Frame, row: Row, related: Related, neighbour: Sequence[str]) -> object:
    """Everything that the page of a model depends on, beside its rank parts, code, templates and suite."""
    board, sources, id = frame.board, frame.sources, row.submission.id
    rival = rival_of(frame, row)
    tasks = [(id, line.task.name) for line in row.tasks]
    scores = [] if row.made_from else [sorted(each.items()) for each in (row.scores, row.as_published)]
    return (
        (replace(row, rank=None, tasks=(), scores={}, as_published={}), row.rank is None),
        scores,
        [sources.result_stamps.get((id, line.task.name)) or line for line in row.tasks],
        [(key, _unranked(by_model.get(id))) for key, by_model in board.robustness.intervals.items()],
        neighbour,
        rival and (rival.submission.card, rival.rank, list(errors_of(rival).items())),
        spokes(frame),
        [column._replace(best={}) for column in frame.columns],
        [[_version(frame, version) for version in versions] for versions in (related.versions, related.same_image)],
        related.n_of_team,
        sources.logs.get(id),
        [sources.item_stamps.get(key) or sources.items.get(key) for key in tasks],
        (sorted(sources.public), sources.now),
    )


def inputs_of_rank_parts(frame: Frame, row: Row, related: Related) -> object:
    """Everything that the rank parts of a page depend on, and the rest of the page does not."""
    ranks = list(version_ranks(related).values())
    if row.rank is None:
        return ranks
    status = frame.rank_statuses.get(row.submission.id, RankStatus())
    leader = status.leader and (status.leader.page, status.leader.rank)
    return ranks, row.rank, len(frame.board.ranked), status.ranks, status.ordered, status.tied, leader


def _unranked(uncertainty: Uncertainty | None) -> object:
    """The uncertainty without ranks, or its key."""
    if uncertainty is None or uncertainty.made_from:
        return uncertainty and uncertainty.made_from
    return replace(uncertainty, rank=None, rank_interval=uncertainty.score, group=None)


def _version(frame: Frame, version: Version) -> object:
    """The parts of a related submission that the page shows."""
    card, row = version.submission.card, version.row
    scores = row and (row.page, [column.term(row).value for column in frame.columns])
    twin = version.submission.id if version.submission.id in frame.twins else ""
    return card.name, card.version, version.submission.created, scores, version.out, twin
