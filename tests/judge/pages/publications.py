"""Leaderboards of small models and the manifests that published them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256

from judge.disclosure.public_leaderboard import public_board
from judge.disclosure.published_scores import published_scores, shown_results
from judge.pages import changes_pages
from judge.pages.changes import Changes, changes
from judge.ranking.build import build_leaderboard
from judge.ranking.leaderboard import Leaderboard
from judge.records.items_file import result_path
from judge.records.manifest import Manifest
from judge.records.records import Result
from judge.records.signing import SigningKey
from judge.view.page_context import frame
from judge.view.sources import Sources
from submissions.records import Submission
from tasks.suites.suite import Suite
from tests.world.board_records import NOON, SUITE, good_results, items_of, result, submission

A, B, C = submission("alpha"), submission("beta", version="2"), submission("gamma")
TASKS = {each.name: each for each in SUITE.tasks}
KEY = SigningKey(b"k" * 32)


def board(results: Sequence[Result], *submissions: Submission, suite: Suite = SUITE, **more: object) -> Leaderboard:
    return build_leaderboard(suite, submissions, results, items_of, **more)  # type: ignore[arg-type]


def manifest(leaderboard: Leaderboard, n: int, **more: object) -> Manifest:
    results = {
        result_path(r.submission, r.task, r.result_key): sha256(r.model_dump_json().encode()).hexdigest()
        for r in shown_results(leaderboard)
    }
    fields: dict[str, object] = {
        "n": n,
        "suite": leaderboard.suite.name,
        "release": leaderboard.release.name,
        "published": NOON + timedelta(days=n),
        "judge_version": "1.0",
        "judge_commit": "",
        "files": {},
        "results": results,
        "submissions": {},
        "events": {},
        "scores": published_scores(leaderboard),
        "selftests": (),
        "previous": "",
    }
    return Manifest.model_validate({**fields, **more})


def anew(results: list[Result], model: Submission, name: str, relative: float) -> list[Result]:
    """The results; the result of one task is measured again, with another error."""
    (metrics,) = [r.metrics for r in good_results(model, relative) if r.task == name]
    new = result(model, TASKS[name], metrics, result_key=sha256(b"again").hexdigest())
    return [new if (old.submission, old.task) == (model.id, name) else old for old in results]


def moved(before: Leaderboard, after: Leaderboard, judge: str = "1.0") -> Changes:
    """The changes between a publication and the next one."""
    newest, first = changes(after, [manifest(before, 1)], NOON + timedelta(days=2), judge)
    assert (first.first, newest.first) == (True, False)
    return newest


def drawn(leaderboard: Leaderboard, sources: Sources) -> dict[str, bytes]:
    """The page of changes and the feed."""
    return changes_pages.pages(frame(public_board(leaderboard, sources.public), sources))
