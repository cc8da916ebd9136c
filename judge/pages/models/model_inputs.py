"""The inputs of a model's page. A page whose inputs are equal to those of the last build is not drawn again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from judge.figures.radar import errors_of, rival_of, spokes
from judge.ranking.leaderboard import Row
from judge.view.page_context import Frame
from judge.view.related_submissions import Related, Version
from judge.view.score_display import RankStatus
from scoring.intervals import Uncertainty


def inputs_of(frame: Frame, row: Row, related: Related, neighbour: Sequence[str]) -> object:
    """Everything that the page of a model depends on, beside code, templates and suite."""
    board, sources, id = frame.board, frame.sources, row.submission.id
    status = frame.rank_statuses.get(id, RankStatus())
    rival = rival_of(frame, row)
    tasks = [(id, line.task.name) for line in row.tasks]
    scores = [] if row.made_from else [sorted(each.items()) for each in (row.scores, row.as_published)]
    return (
        replace(row, tasks=(), scores={}, as_published={}),
        scores,
        [sources.result_stamps.get((id, line.task.name)) or line for line in row.tasks],
        [(key, _moves(by_model.get(id))) for key, by_model in board.robustness.intervals.items()],
        (status.ranks, status.ordered, status.tied, status.leader and (status.leader.page, status.leader.rank)),
        (len(board.ranked), neighbour),
        rival and (rival.submission.card, rival.rank, list(errors_of(rival).items())),
        spokes(frame),
        [column._replace(best={}) for column in frame.columns],
        [[_version(frame, version) for version in versions] for versions in (related.versions, related.same_image)],
        related.n_of_team,
        sources.logs.get(id),
        [sources.item_stamps.get(key) or sources.items.get(key) for key in tasks],
        (sorted(sources.public), sources.now),
    )


def _moves(uncertainty: Uncertainty | None) -> object:
    """The uncertainty, or its key with what the key leaves out."""
    if uncertainty is None or not uncertainty.made_from:
        return uncertainty
    return uncertainty.made_from, uncertainty.rank, uncertainty.rank_interval, uncertainty.group


def _version(frame: Frame, version: Version) -> object:
    """The parts of a related submission that the page shows."""
    card, row = version.submission.card, version.row
    scores = row and (row.page, row.rank, [column.term(row).value for column in frame.columns])
    twin = version.submission.id if version.submission.id in frame.twins else ""
    return card.name, card.version, version.submission.created, scores, version.out, twin
