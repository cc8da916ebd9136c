"""Scores over time: the best score until each submission, and published scores."""

from __future__ import annotations

from datetime import timedelta

from judge.figures.history import history_figure
from judge.records.manifest import Manifest, ManifestScores
from judge.view.page_context import frame
from judge.view.sources import Sources
from sandbox.verdict import Verdict
from tests.judge.figures.hostile_board import plot_of
from tests.world.board_records import NOON, result, submission
from tests.world.curves import KNOWN, PUBLIC, board_of, frame_of, results_of, three


def test_the_best_until_then_is_a_staircase() -> None:
    figure = history_figure(frame_of(three()))
    traces = plot_of(figure)["data"]
    assert figure is not None
    dots = [(row[0], row[3], row[4]) for row in figure.rows]
    scores = {row.submission.card.name: row.scores["force_field"].value for row in frame_of(three()).board.rows}
    a, b, c = scores["last"], scores["first"], scores["second-of-them"]
    assert dots == [("last", a, a), ("first", b, a), ("second-of-them", c, c)]
    best = next(trace for trace in traces if trace["name"] == "best until then")
    assert best["y"] == [a, a, c]


def manifest(n: int, scores: dict[str, float | None]) -> Manifest:
    none = {"property_error": None, "efficiency": None, "instability": None, "rank": None}
    published = {name: ManifestScores(force_field=score, **none) for name, score in scores.items()}
    stated = {"suite": "small", "release": "1", "judge_version": "1", "judge_commit": "", "previous": ""}
    lists = {"files": {}, "results": {}, "submissions": {}, "events": {}, "selftests": ()}
    return Manifest.model_validate(
        {"n": n, "published": NOON + timedelta(days=30 * n), "scores": published, **stated, **lists}
    )


def test_the_best_are_followed_over_publications() -> None:
    best, second, third = (row.submission.id for row in three().rows)
    manifests = [
        manifest(1, {best: 0.3, second: 0.5, third: None, "withdrawn": 0.01}),
        manifest(2, {best: 0.25, second: None, "withdrawn": 0.01}),
    ]
    figure = history_figure(frame(three(), Sources(public=PUBLIC, manifests=manifests)))
    traces = plot_of(figure)["data"]
    assert figure is not None
    followed = [row for row in figure.rows if row[1] == "published"]
    name = three().rows[0].submission.card.name
    assert [(trace["name"], trace["y"]) for trace in traces[1:-1]] == [(name, [0.3, 0.25])]
    assert followed == [(name, "published", "2025-04-03", 0.3, None), (name, "published", "2025-05-03", 0.25, None)]


def test_a_model_without_a_rank_is_not_drawn() -> None:
    ranked, late = submission("alpha"), submission("beta")
    refused = result(late, KNOWN, {}, Verdict.TIME_LIMIT)
    kept = [each for each in results_of(late, 0.01) if each.task != KNOWN.name]
    figure = history_figure(frame_of(board_of([ranked, late], [*results_of(ranked, 0.2), *kept, refused])))
    assert plot_of(figure)["data"][-1]["text"] == ["alpha"]
    assert history_figure(frame_of(board_of([late], [*kept, refused]))) is None
