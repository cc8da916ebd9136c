"""`judge score suite`: scores of every scheme, equal to those on the leaderboard, with intervals and robustness."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from judge.cli.scores.explain import scores_of
from judge.ranking.leaderboard import Leaderboard
from judge.ranking.load import read_board
from sandbox.verdict import Verdict
from tasks.suites.suite import load_suite
from tests.world.board_records import SUITE, good_results, refused, save, submission
from tests.world.world import World

A, B, C = (submission(name) for name in ("alpha", "beta", "gamma"))
TASKS = {t.name: t for t in SUITE.tasks}


def write_suite(path: Path) -> None:
    blocks = [
        f'[[tasks]]\nname = "{task.name}"\nkind = "{task.kind}"\ndataset = "{task.dataset}"\n'
        f'domain = "{task.domain}"\ntime_limit_s = 600\n'
        for task in SUITE.tasks
    ]
    path.write_text("\n".join([f'name = "{SUITE.name}"\nversion = "1"\ntitle = "{SUITE.title}"\n', *blocks]))


@pytest.fixture(scope="module")
def judged() -> Iterator[World]:
    """Two models that are ranked, and a third that has crashed in its dynamics."""
    with TemporaryDirectory(prefix="lj") as folder:
        world = World(Path(folder))
        world.write_settings()
        write_suite(world.root / "small.toml")
        crashed = refused(C, TASKS["drift"], Verdict.CRASHED)
        save(world.store, [A, B], good_results(A, 0.25) + good_results(B, 0.5))
        save(world.store, [C], [*(r for r in good_results(C, 0.1) if r.task != "drift"), crashed])
        yield world


def board_of(world: World) -> Leaderboard:
    return read_board(world.store, load_suite(world.settings.suite), lambda _: None)


def models_of(answer: object) -> dict[str, Any]:
    assert isinstance(answer, dict)
    models: dict[str, Any] = answer["models"]
    return models


@pytest.mark.parametrize("variant", [(), ("--as-published",)])
def test_every_number_is_the_boards(judged: World, variant: tuple[str, ...]) -> None:
    status, answer = judged.run_json_here("score", "suite", *variant)
    assert status == 0
    assert isinstance(answer, dict)
    assert (answer["suite"], answer["release"]) == ("small", "lambench-0.3.1" if variant else "corrected")
    board = board_of(judged)
    assert list(models_of(answer)) == [row.submission.id for row in board.rows] == [A.id, B.id, C.id]
    for row in board.rows:
        model = models_of(answer)[row.submission.id]
        assert (model["name"], model["rank"]) == (row.submission.card.name, row.rank)
        expected = scores_of(row, bool(variant))
        assert set(model["scores"]) == set(expected)
        for name, term in expected.items():
            shown = model["scores"][name]
            assert (shown["value"], shown["covered"], shown["total"]) == (term.value, term.covered, term.total)
            assert ("interval" in shown or "rank_without" in shown) <= (not variant)


def test_corrected_scores_have_intervals_and_ranks(judged: World) -> None:
    status, answer = judged.run_json_here("score", "suite")
    assert status == 0
    first, second, third = (models_of(answer)[each.id]["scores"]["force-field"] for each in (A, B, C))
    assert (first["rank"], second["rank"], third["rank"]) == (1, 2, None)
    assert (first["tied_group"], third["tied_group"]) == (None, None)  # there are fewer than 30 independent items
    # All items of a task are in one cluster here: no metric can be resampled, and the output says so.
    assert first["not_resampled"] > 0
    assert first["rank_without"] == {"crystals": 1, "molecules": 1}
    assert first["rank_under_random_weights"] == {"5%": 1, "95%": 1, "best": 1, "worst": 1}
    assert "rank_without" not in third
    assert models_of(answer)[C.id]["scores"]["instability"]["value"] is None


def test_the_tables_show_scores_and_the_robustness_of_ranks(judged: World) -> None:
    status, out, err = judged.run_here("score", "suite", COLUMNS="250")
    assert (status, err) == (0, "")
    assert all(name in out for name in ("alpha", "beta", "gamma", "force-field", "ml-peg", "LAMBench, corrected"))
    assert "robustness of the ranking by force-field error" in out
    status, out, _ = judged.run_here("score", "suite", "--as-published", COLUMNS="250")
    assert status == 0
    assert "LAMBench 0.3.1, as published" in out
    assert "robustness of the ranking" not in out


def test_nothing_judged_and_no_such_suite(tmp_path: Path, judged: World) -> None:
    empty = World(tmp_path)
    empty.write_settings()
    write_suite(empty.root / "small.toml")
    status, out, _ = empty.run_here("score", "suite")
    assert status == 0
    assert "lambench-submit IMAGE" in out
    status, out, err = judged.run_here("score", "suite", "--suite", "nowhere.toml")
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
