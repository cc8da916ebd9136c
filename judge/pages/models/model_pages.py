"""A page for each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judge.pages.models.model_card import card_lines, judged_lines
from judge.pages.models.model_figures import figures_of
from judge.pages.models.model_inputs import inputs_of, inputs_of_rank_parts
from judge.pages.models.model_tasks import domains_of, provenance_of
from judge.pages.models.rank_parts import MARK, rank_parts, with_rank_parts
from judge.pages.models.reproducibility import repeats_of
from judge.pages.models.score_tree import differs_as_published, score_trees
from judge.pages.models.tree_markup import tree_markup
from judge.parallel import drawn_in_parallel
from judge.ranking.leaderboard import Row
from judge.records.few_items import LEAST_ITEMS
from judge.view.earlier_pages import Drawn, contents, digest_of
from judge.view.page_context import Frame
from judge.view.related_submissions import Related, Submissions, team_name


def pages(frame: Frame) -> dict[str, bytes]:
    """`submissions/ID.html` of every model on the board."""
    submissions, rows, earlier = Submissions(frame.board), frame.board.rows, frame.earlier
    known = {row.page: submissions.related(row.submission) for row in rows}
    inputs: dict[str, str] = {}
    ranks: dict[str, str] = {}
    same: dict[str, Mapping[str, bytes]] = {}
    if earlier is not None:
        for row in rows:
            page, related = row.page, known[row.page]
            inputs[page] = digest_of(inputs_of(frame, row, related, _neighbour(frame, row)))
            ranks[page] = digest_of(inputs_of_rank_parts(frame, row, related))
            if (files := earlier.same(page, inputs[page])) is not None:
                if earlier.made[page].apart != ranks[page]:
                    files = {page: with_rank_parts(files[page], rank_parts(frame, row, related))}
                same[page] = files

    def draw(rows: Sequence[Row]) -> dict[str, Mapping[str, bytes]]:
        return {row.page: _files(frame, row, known[row.page]) for row in rows}

    # Another process is begun only for many pages that have changed.
    drawn = same | drawn_in_parallel(draw, [row for row in rows if row.page not in same])
    made = {page: Drawn(drawn[page], inputs.get(page, ""), ranks.get(page, "")) for page in known}
    return contents(earlier, made)


def _files(frame: Frame, row: Row, related: Related) -> dict[str, bytes]:
    """The page of a model by its path."""
    board, sources, card = frame.board, frame.sources, row.submission.card
    about = {column.label: column.about for column in frame.columns}
    trees = score_trees(board, row, frame.keys)
    shared, by_task = provenance_of(row)
    page = frame.draw(
        "submission.html",
        row.page,
        row=row,
        lines=(*card_lines(card, row.submission.preflight), *judged_lines(card, row.tasks)),
        rank_parts=rank_parts(frame, row, related),
        mark=MARK,
        team=team_name(row.submission),
        related=related,
        figures=figures_of(frame, row),
        differs=any(differs_as_published(tree) for tree in trees),
        trees=[tree_markup(tree, about.get(tree.name, "")) for tree in trees],
        domains=domains_of(row, by_task, sources.public),
        provenance=shared,
        repeats=repeats_of(row),
        least_items=LEAST_ITEMS,
        others=_neighbour(frame, row),
        log=sources.logs.get(row.submission.id, ""),
    )
    return {row.page: page}


def _neighbour(frame: Frame, row: Row) -> list[str]:
    """The id of the model before this one in the ranking, or after the first: a comparison begins with it."""
    ranked = frame.board.ranked
    place = next((i for i, other in enumerate(ranked) if other is row), None)
    if place is None or len(ranked) < 2:
        return [other.submission.id for other in ranked[:1]]
    return [ranked[place - 1 if place else 1].submission.id]
