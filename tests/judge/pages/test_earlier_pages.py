"""A model's page of the last build is used again only if nothing that it shows has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from judge.pages.models import model_pages
from judge.pages.models.rank_parts import MARK
from judge.pages.tasks import task_pages
from judge.ranking.leaderboard import Leaderboard, Row, TakenOut, TaskLine
from judge.view.earlier_pages import EarlierPages, contents, digest_of
from judge.view.leaderboard_export import task_page
from judge.view.page_context import Frame, frame
from judge.view.score_display import RankStatus
from judge.view.sources import Sources
from scoring import Term
from scoring.intervals import Interval
from scoring.names import EFFICIENCY, FORCE_FIELD
from scoring.tree import AsItIs, How
from submissions.records import Submission
from tests.judge.pages.page_reader import page_frame
from tests.world import curves
from tests.world.board_records import NOON, SUITE, good_results, submission

Change = Callable[[Frame], Frame]


@cache
def board() -> Frame:
    """Four ranked models of two teams."""
    models = [
        submission("first", affiliation="Team"),
        submission("second", affiliation="Team"),
        submission("third", affiliation="Other team"),
        submission("fourth", affiliation="Other team"),
    ]
    results = [each for k, model in enumerate(models) for each in good_results(model, 0.1 * (k + 1))]
    made = page_frame(SUITE, models, results, Sources(public=frozenset({"crystals@1"})))
    assert [row.rank for row in made.board.rows] == [1, 2, 3, 4]
    return made


@cache
def board_with_curves() -> Frame:
    dynamics, pairs = curves.dynamics(curves.drifting(6)), curves.pairs(curves.wells())
    rows = curves.three().rows
    tasks = {curves.KNOWN: dynamics, curves.SECRET: dynamics, curves.LAWS: pairs}
    items = {(row.submission.id, task.name): table for row in rows for task, table in tasks.items()}
    return curves.frame_of(curves.three(), items)


def with_board(change: Callable[[Leaderboard], Leaderboard]) -> Change:
    """A change of the board; columns and ranks follow from it."""
    return lambda made: frame(change(made.board), made.sources)


def with_row(index: int, change: Callable[[Row], Row]) -> Change:
    def changed(made: Leaderboard) -> Leaderboard:
        rows = list(made.rows)
        rows[index] = change(rows[index])
        return replace(made, rows=tuple(rows))

    return with_board(changed)


def with_result(index: int, **changes: object) -> Change:
    def changed(line: TaskLine) -> TaskLine:
        assert line.result is not None
        return replace(line, result=line.result.model_copy(update=changes))

    return with_row(index, lambda row: replace(row, tasks=(changed(row.tasks[0]), *row.tasks[1:])))


def with_submission(index: int, change: Callable[[Submission], Submission]) -> Change:
    return with_row(index, lambda row: replace(row, submission=change(row.submission)))


def with_card(index: int, **changes: object) -> Change:
    return with_submission(index, lambda s: s.model_copy(update={"card": s.card.model_copy(update=changes)}))


def with_score(index: int, key: str, change: Callable[[Term], Term], scores: str = "scores") -> Change:
    def changed(row: Row) -> Row:
        of_row = getattr(row, scores)
        return replace(row, **{scores: {**of_row, key: change(of_row[key])}})

    return with_row(index, changed)


def deepest(change: Callable[[Term], Term]) -> Callable[[Term], Term]:
    """A change of the first leaf of a tree."""

    def changed(term: Term) -> Term:
        return replace(term, parts=(changed(term.parts[0]), *term.parts[1:])) if term.parts else change(term)

    return changed


def with_interval(made: Frame) -> Frame:
    """Another interval of a metric deep in the tree of the second model."""
    robustness, id = made.board.robustness, made.board.rows[1].submission.id
    of_models = robustness.intervals[FORCE_FIELD]
    nodes = {path: Interval(0.123, 0.456) for path in of_models[id].nodes}
    changed = {**of_models, id: replace(of_models[id], nodes=nodes)}
    intervals = {**robustness.intervals, FORCE_FIELD: changed}
    return frame(replace(made.board, robustness=replace(robustness, intervals=intervals)), made.sources)


def with_sources(**changes: object) -> Change:
    return lambda made: replace(made, sources=replace(made.sources, **changes))


def with_log(made: Frame) -> Frame:
    return replace(made, sources=replace(made.sources, logs={made.board.rows[2].submission.id: "Loading weights"}))


def with_status(status: Callable[[Frame], RankStatus]) -> Change:
    """Another status of the third model."""
    return lambda made: replace(made, rank_statuses={made.board.rows[2].submission.id: status(made)})


def with_one_taken_out(reason: str) -> Change:
    other = submission("zero", affiliation="Team")
    return with_board(lambda made: replace(made, taken_out=(TakenOut(other, "withdrawn", NOON, reason),)))


def with_the_image_of_the_first(made: Frame) -> Frame:
    image = made.board.rows[0].submission.image
    return with_submission(3, lambda s: s.model_copy(update={"image": image}))(made)


def with_renamed_part(term: Term) -> Term:
    part = term.parts[0]
    renamed = replace(part, node=replace(part.node, name="Elsewhere"))
    return replace(term, parts=(renamed, *term.parts[1:]))


def without_ranks(made: Leaderboard) -> Leaderboard:
    return replace(made, rows=tuple(replace(row, rank=None) for row in made.rows))


def other_items(made: Frame) -> Frame:
    items = dict(made.sources.items)
    first = next(iter(items))
    items[first] = curves.dynamics(curves.drifting(6, seed=1))
    return replace(made, sources=replace(made.sources, items=items))


CHANGES: dict[str, Change] = {
    "a twin of another team": with_card(2, name="f\u0456rst"),
    "a sentence of a result": with_result(1, sentence="It took long."),
    "a time of a result": with_result(3, measured=NOON),
    "a result less": with_row(2, lambda row: replace(row, tasks=(replace(row.tasks[0], result=None), *row.tasks[1:]))),
    "a value deep in a score": with_score(1, FORCE_FIELD, deepest(lambda term: replace(term, value=0.987))),
    "a weight in a score": with_score(1, FORCE_FIELD, deepest(lambda term: replace(term, share=0.123))),
    "a rule": with_score(1, FORCE_FIELD, deepest(lambda t: replace(t, node=replace(t.node, rule="another rule")))),
    "a value as published": with_score(
        1, FORCE_FIELD, deepest(lambda term: replace(term, value=0.987)), scores="as_published"
    ),
    "a rank": with_row(3, lambda row: replace(row, rank=5)),
    "no rank: the others count one less": with_row(3, lambda row: replace(row, rank=None)),
    "not isolated": with_row(1, lambda row: replace(row, isolated=False)),
    "for comparison only": with_row(3, lambda row: replace(row, rank=None, reference="To compare with.")),
    "for another comparison": with_row(3, lambda row: replace(row, rank=None, reference="To compare with others.")),
    "the description of a card": with_card(2, description="A model."),
    "the name of the best, in the radar of the others": with_card(0, name="renamed"),
    "the rank of the best, in the radar of the others": with_row(0, lambda row: replace(row, rank=2)),
    "a namesake": with_card(3, name="third"),
    "a namesake of another team": with_card(3, name="third", affiliation="Elsewhere"),
    "the version of a related submission": with_card(3, version="2"),
    "the time of a related submission": with_submission(
        3, lambda s: s.model_copy(update={"created": NOON.replace(year=2026)})
    ),
    "the address of a related submission": with_submission(
        3, lambda s: s.model_copy(update={"id": "other-0123456789ab"})
    ),
    "the rank of a related submission": with_row(3, lambda row: replace(row, rank=6)),
    "the error of the best, in the radar of the others": with_score(
        0, FORCE_FIELD, lambda term: replace(term, parts=(replace(term.parts[0], value=0.5), *term.parts[1:]))
    ),
    "the best efficiency: all bars are shorter": with_score(2, EFFICIENCY, lambda term: replace(term, value=9.0)),
    "the score of a related submission": with_score(3, FORCE_FIELD, lambda term: replace(term, value=0.5)),
    "the order of the ranking": with_board(
        lambda made: replace(made, rows=(*made.rows[:2], made.rows[3], made.rows[2]))
    ),
    "an interval": with_interval,
    "an interval of the rank": with_status(lambda made: RankStatus(Interval(1, 4))),
    "tied": with_status(lambda made: RankStatus(Interval(1, 4), True, 1, None)),
    "tied with another": with_status(lambda made: RankStatus(Interval(1, 4), True, 1, made.board.rows[1])),
    "tied with a third one of that rank": with_status(
        lambda made: RankStatus(Interval(1, 4), True, 1, replace(made.board.rows[0], rank=2))
    ),
    "tied with another of another rank": with_status(
        lambda made: RankStatus(Interval(1, 4), True, 1, replace(made.board.rows[1], rank=7))
    ),
    "a related submission that was withdrawn": with_one_taken_out("a mistake"),
    "another reason": with_one_taken_out("another mistake"),
    "the same image": with_the_image_of_the_first,
    "a log": with_log,
    "published": with_sources(now=NOON),
}


def drawn(made: Frame, earlier: EarlierPages | None = None) -> dict[str, bytes]:
    """The pages of models and of tasks."""
    made = replace(made, earlier=earlier)
    return model_pages.pages(made) | task_pages.pages(made)


def check(before: Frame, after: Frame) -> None:
    """The pages of `after` are the same if those of `before` may be used again, and not all of them are as before."""
    remembered = EarlierPages()
    pages = drawn(before, remembered)
    fresh = drawn(after)
    assert drawn(after, EarlierPages(remembered.drawn, pages.get)) == fresh
    assert fresh != pages


@pytest.mark.parametrize("name", CHANGES)
def test_a_page_is_drawn_again_if_any_input_changed(name: str) -> None:
    check(board(), CHANGES[name](board()))


def test_each_change_differs_from_the_one_before_it() -> None:
    """So a test of `a` after `b` finds what a test after the plain board does not."""
    made = [CHANGES[name](board()) for name in CHANGES]
    for before, after in pairwise(made):
        check(before, after)


def test_a_page_is_drawn_again_if_curves_or_what_is_public_changed() -> None:
    made = board_with_curves()
    check(made, other_items(made))
    check(made, replace(made, sources=replace(made.sources, public=made.sources.public - {curves.KNOWN.dataset})))
    check(made, replace(made, sources=replace(made.sources, items={})))


def test_the_axes_of_the_radar_are_those_of_the_first_model_even_if_none_is_ranked() -> None:
    unranked = with_board(without_ranks)(board())
    check(unranked, with_score(0, FORCE_FIELD, with_renamed_part)(unranked))


def test_a_page_with_equal_inputs_is_not_drawn() -> None:
    remembered = EarlierPages()
    pages = drawn(board(), remembered)
    assert remembered.drawn.keys() == pages.keys()
    again = EarlierPages(remembered.drawn, lambda path: b"as it was")
    assert set(drawn(board(), again).values()) == {b"as it was"}
    assert again.drawn == remembered.drawn
    changed = with_result(1, sentence="It took long.")(board())
    line = changed.board.rows[1].tasks[0]
    after = drawn(changed, EarlierPages(remembered.drawn, lambda path: b"as it was"))
    expected = {changed.board.rows[1].page, task_page(line.task.name)}
    assert {path for path, content in after.items() if content != b"as it was"} == expected


def test_a_rank_that_moves_changes_the_marked_parts_alone() -> None:
    remembered, mark = EarlierPages(), MARK.encode()
    pages = drawn(board(), remembered)

    def kept(path: str) -> bytes:
        parts = pages[path].split(mark)
        parts[::2] = [b"as it was"] * len(parts[::2])
        return mark.join(parts)

    moved = CHANGES["a rank"](board())
    page = model_pages.pages(replace(moved, earlier=EarlierPages(remembered.drawn, kept)))[moved.board.rows[3].page]
    assert set(page.split(mark)[::2]) == {b"as it was"}
    assert b"<strong>Rank 5</strong>" in page


def test_the_pages_of_other_tasks_stay_if_the_ranking_changes() -> None:
    """A model that is judged in one task more may change its rank, and the order of all models."""
    remembered = EarlierPages()
    drawn(board(), remembered)
    reordered = with_board(lambda made: replace(made, rows=(made.rows[0], *reversed(made.rows[1:]))))(board())
    again = EarlierPages(remembered.drawn, lambda path: b"as it was")
    assert set(task_pages.pages(replace(reordered, earlier=again)).values()) == {b"as it was"}
    assert task_pages.pages(reordered) == task_pages.pages(board())


def test_a_page_that_is_gone_is_drawn() -> None:
    remembered = EarlierPages()
    pages = drawn(board(), remembered)
    assert drawn(board(), EarlierPages(remembered.drawn)) == pages


def test_a_page_is_drawn_if_a_file_beside_it_is_gone() -> None:
    earlier = EarlierPages()
    files = {"page.html": b"page", "run.json": b"run"}
    contents(earlier, {"page.html": earlier.page("page.html", ["inputs"], lambda: files)})
    kept = EarlierPages(earlier.drawn, files.get)
    assert kept.page("page.html", ["inputs"], dict).files == files
    gone = EarlierPages(earlier.drawn, {"page.html": b"page"}.get)
    assert gone.page("page.html", ["inputs"], lambda: {"page.html": b"drawn"}).files == {"page.html": b"drawn"}


def fields_of(term: Term) -> Iterator[Term]:
    """The tree with another value in each field of its first leaf, one at a time."""
    leaf = term.node.leaf
    if leaf is None:
        for part in fields_of(term.parts[0]):
            yield replace(term, parts=(part, *term.parts[1:]))
        yield replace(term, parts=term.parts[:-1])
        return
    for name in ("value", "covered", "total", "share", "counted", "at_worst", "at_best"):
        yield replace(term, **{name: 0.123})
    for name in ("rule", "weight", "absent", "unit", "pool", "decimals", "source"):
        yield replace(term, node=replace(term.node, **{name: "other"}))
    yield replace(term, node=replace(term.node, how=How.HARMONIC_MEAN))
    leaves = [replace(leaf, raw=leaf.raw._replace(**{name: "other"})) for name in leaf.raw._fields]
    (scale_number, *_) = leaf.scale.numbers()
    leaves += [replace(leaf, scale=scale) for scale in (AsItIs(), replace(leaf.scale, **{scale_number: 0.123}))]
    for other in (*leaves, replace(leaf, left_out=True)):
        yield replace(term, node=replace(term.node, leaf=other))


def test_every_field_of_a_tree_enters_its_digest() -> None:
    tree = board().board.rows[0].scores[FORCE_FIELD]
    assert digest_of(deepcopy(tree)) == digest_of(tree)
    changed = list(fields_of(tree))
    assert len({digest_of(tree), *map(digest_of, changed)}) == len(changed) + 1 > 26


def test_what_has_no_digest_is_refused() -> None:
    with pytest.raises(TypeError, match="object is no input of a page"):
        digest_of([object()])
    with pytest.raises(TypeError):
        digest_of({("a", "b"): 1})
