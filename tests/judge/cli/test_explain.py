"""`judge explain`: its numbers add up, down to raw metrics, and equal those of the board."""

from __future__ import annotations

import math
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
from tests.world.board_records import SUITE, good_results, refused, result, save, submission
from tests.world.small_data import save_frames
from tests.world.world import World

A, B = submission("alpha"), submission("beta")
TASKS = {t.name: t for t in SUITE.tasks}
PUBLISHED = 'release = "lambench-0.3.1"\n'
TOLD = "as published: a model without forces and stress gets rmsd 0.01 Å, 0.03 of the baseline"


def suite_text(head: str = "") -> str:
    blocks = [
        f'[[tasks]]\nname = "{task.name}"\nkind = "{task.kind}"\ndataset = "{task.dataset}"\n'
        f'domain = "{task.domain}"\ntime_limit_s = 600\n' + 'mlipaudit = "reactivity"\n' * (task.name == "barriers")
        for task in SUITE.tasks
    ]
    return "\n".join([f'name = "{SUITE.name}"\nversion = "1"\ntitle = "{SUITE.title}"\n{head}', *blocks])


@pytest.fixture(scope="module")
def judged() -> Iterator[World]:
    """Two models from records: A is complete, B has no barriers and one run less."""
    with TemporaryDirectory(prefix="lj") as folder:
        world = World(Path(folder))
        world.write_settings()
        (world.root / "small.toml").write_text(suite_text(PUBLISHED))
        barriers = result(
            A, TASKS["barriers"], good_results(A, 0.25)[2].metrics, notes={"items in": "eV", "starts": TOLD}
        )
        whole = [r for r in good_results(A, 0.25) if r.task != "barriers"]
        rest = [r for r in good_results(B, 0.5) if r.task != "barriers"]
        save(world.store, [A], [*whole, barriers])
        save(world.store, [B], [*rest, refused(B, TASKS["barriers"], Verdict.CRASHED)])
        yield world


def board_of(world: World) -> Leaderboard:
    problems: list[str] = []
    board = read_board(world.store, load_suite(world.settings.suite), problems.append)
    assert problems == []
    return board


def leaves(term: dict[str, Any]) -> Iterator[dict[str, Any]]:
    parts = term.get("parts", [])
    if not parts:
        yield term
    for part in parts:
        yield from leaves(part)


def added_up(term: dict[str, Any]) -> float:
    """The value computed from the leaves alone, with their shares and the mean that the rule names."""
    if "parts" not in term:
        value: float = term["value"]
        return value
    assert sum(part["share"] for part in term["parts"]) == pytest.approx(1.0)
    values = [(part["share"], added_up(part)) for part in term["parts"] if part["share"]]
    if "over the mean time" in term["rule"]:  # a time is in the divisor
        return 1 / sum(share / value for share, value in values)
    if "logarithmic mean" in term["rule"]:
        return math.exp(sum(share * math.log(value) for share, value in values))
    assert "mean" in term["rule"]
    return sum(share * value for share, value in values)


def explain(world: World, *arguments: str) -> dict[str, Any]:
    status, answer = world.run_json_here("explain", *arguments)
    assert status == 0
    assert isinstance(answer, dict)
    return answer


def test_questions_of_a_published_protocol_are_said_beside_the_scores(judged: World) -> None:
    assert explain(judged, A.id)["published_questions"] == {TASKS["barriers"].label: TOLD}
    status, out, _ = judged.run_here("explain", A.id)
    line = f"  asked as stored or published, so that questions tell of the answers: {TASKS['barriers'].label}"
    assert (status, line in out.splitlines()) == (0, True)
    assert f"{TASKS['barriers'].label}: {TOLD}" in judged.run_here("explain", A.id, "--details")[1]
    assert explain(judged, B.id)["published_questions"] == {}


@pytest.mark.parametrize("variant", [(), ("--as-published",)])
def test_the_tree_adds_up_from_its_leaves_to_the_boards_own_number(judged: World, variant: tuple[str, ...]) -> None:
    answer = explain(judged, A.id, *variant)
    row = next(row for row in board_of(judged).rows if row.submission.id == A.id)
    expected = scores_of(row, bool(variant))
    assert set(answer["scores"]) == set(expected) >= {"force-field", "property", "efficiency", "ml-peg", "mlipaudit"}
    assert answer["rank"] == row.rank == 1
    assert answer["release"] == ("lambench-0.3.1" if variant else "corrected")
    assert answer["variant"] == ("as_published" if variant else "corrected")
    for name, tree in answer["scores"].items():
        assert tree["value"] == expected[name].value is not None, name
        assert added_up(tree) == pytest.approx(tree["value"], abs=1e-6), name
        ends = list(leaves(tree))
        assert ends, name
        for leaf in ends:
            assert leaf["evidence"]["task"], name
            assert leaf["evidence"]["value"] is not None
        assert tree["source"], name


def test_every_leaf_says_what_it_is_held_against(judged: World) -> None:
    answer = explain(judged, A.id, "--score", "force-field")
    (tree,) = answer["scores"].values()
    for leaf in leaves(tree):
        raw = leaf["evidence"]
        assert leaf["value"] == pytest.approx(raw["value"] / raw["facts"]["baseline"])
        assert (raw["n_items"], raw["n_failed"]) == (10, 0)
    units = {leaf["evidence"]["metric"]: leaf["evidence"]["unit"] for leaf in leaves(tree)}
    assert units == {"energy_rmse_per_atom": "eV/atom", "force_rmse": "eV/Å", "virial_rmse_per_atom": "eV/atom"}


def test_a_missing_metric_is_explained_at_its_leaf(judged: World) -> None:
    answer = explain(judged, B.id)
    assert answer["rank"] is None
    lacking = next(leaves(answer["scores"]["property"]))
    assert lacking["value"] is None
    assert lacking["evidence"]["value"] is None
    assert lacking["rule"] == "no answer: counted as worst"
    peg = answer["scores"]["ml-peg"]
    assert peg["value"] < peg["at_best"]
    assert "mlipaudit" not in answer["scores"]  # nothing to show in the one benchmark there is


def test_a_suite_of_which_no_task_was_judged_is_not_explained(judged: World) -> None:
    status, out, _ = judged.run_here("explain", A.id, "--suite", "demo", COLUMNS="200")
    assert status == 0
    assert out.splitlines()[-1] == "No task of demo was judged: name the suite that it was judged by with --suite"


def test_depth_cuts_the_tree_in_text_and_json(judged: World) -> None:
    answer = explain(judged, A.id, "--score", "force-field", "--depth", "1")
    (tree,) = answer["scores"].values()
    assert [part["name"] for part in tree["parts"]] == ["Inorganic Materials", "Molecules"]
    assert all("parts" not in part for part in tree["parts"])
    status, text, _ = judged.run_here("explain", A.id, "--score", "force-field", "--depth", "1", COLUMNS="200")
    assert status == 0
    assert "Inorganic Materials" in text
    assert "virial" not in text
    _, summary, _ = judged.run_here("explain", A.id, COLUMNS="200")
    assert len(summary.splitlines()) <= 10
    assert "LAMBench: force-field error" in summary
    assert "virial" not in summary
    _, whole, _ = judged.run_here("explain", A.id, "--details", COLUMNS="200")
    assert whole.startswith(summary)
    assert {"LAMBench: property error", "ML-PEG", "MLIPAudit"} <= {line.strip() for line in whole.splitlines()}
    assert "virial" in whole
    assert "baseline 1" in whole
    assert "source: " in whole


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("gamma",), "gamma"),
        ((A.id, "--score", "charm"), "--score: there is no 'charm', but force-field, property"),
        ((A.id, "--score", "mlipaudit", "--suite", "nowhere.toml", "--json"), "nowhere.toml: cannot be read"),
    ],
)
def test_bad_requests_get_one_line_and_exit_2(judged: World, arguments: tuple[str, ...], complaint: str) -> None:
    status, out, err = judged.run_here("explain", *arguments)
    assert (status, out) == (2, "")
    assert complaint in err
    assert err.count("\n") == 1


def test_a_score_of_what_was_judged_for_real(world: World) -> None:
    """Two data sets: in the second every force component is wrong by 0.1 eV/Å, and so is the error."""
    save_frames(world.root / "data", "Ni", "nickel", shift=0.1)
    world.write_settings()
    model = world.submit("emt")
    world.evaluate()
    answer = explain(world, model.id, "--score", "force-field")
    (tree,) = answer["scores"].values()
    assert added_up(tree) == pytest.approx(tree["value"])
    forces = {leaf["name"]: leaf for leaf in leaves(tree) if leaf["evidence"]["metric"] == "force_rmse"}
    assert set(forces) == {"copper", "nickel"}
    assert forces["nickel"]["evidence"]["value"] == pytest.approx(0.1)
    assert forces["copper"]["value"] == 1e-3  # exact, and so at the floor
