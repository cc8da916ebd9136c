"""`judge score mlipaudit`, as a person and a script use it; numbers worked by hand."""

from __future__ import annotations

from math import exp

import pytest

from tests.judge.cli.score_tables import FEW, FOUR, FULL, FULL_SCORES, WHOLE, JudgeScore, items, models, number


def test_mlipaudit_overall_with_compatible_beside_it(judge_score: JudgeScore) -> None:
    answer = judge_score("mlipaudit", models(few=FEW, full=FULL), "--json").data
    assert (answer["scheme"], answer["variant"], list(answer["models"])) == ("mlipaudit", "corrected", ["full", "few"])
    full, few = answer["models"]["full"], answer["models"]["few"]
    assert [full["benchmarks"][name]["value"] for name in ("one", "two", "three", "four")] == pytest.approx(FULL_SCORES)
    assert full["overall"]["value"] == pytest.approx(sum(FULL_SCORES) / 4)
    assert full["compatible"]["value"] == pytest.approx((sum(FULL_SCORES) + 0.5) / 4)
    assert few["overall"] == number(0.25, 1, 4)
    assert few["compatible"] == number(pytest.approx(1 / 3), 1, 3)
    assert few["benchmarks"]["four"] == number(None, 0, 1)


def test_mlipaudit_as_published_keeps_its_slips(judge_score: JudgeScore) -> None:
    answer = judge_score("mlipaudit", models(full=FULL), "--json", "--as-published").data
    assert answer["variant"] == "as_published"
    assert answer["models"]["full"]["benchmarks"]["three"]["value"] == pytest.approx(exp(-0.75) / 2)


def test_mlipaudit_for_a_person(judge_score: JudgeScore) -> None:
    answer = judge_score("mlipaudit", models(few=FEW, full=FULL))
    assert answer.row("full")[:2] == ["1", "full"]
    assert answer.row("few") == ["2", "few", "0.25", "0.3333", "1/4"]
    assert answer.row("two") == ["two", "0.5", "not run"]
    assert answer.row("four") == ["four", f"{FOUR:.4g}", "incompatible"]


def test_the_packaged_facts_of_mlipaudit(judge_score: JudgeScore) -> None:
    table = models(one={"results": {"tautomers": {"abs_deviation": items([1.0], "kcal/mol")}}})
    answer = judge_score("mlipaudit", table, "--json", "--packaged").data["models"]["one"]
    assert answer["overall"]["value"] == pytest.approx(1 / 14)  # 1 kcal/mol is 0.043 eV
    answer = judge_score("mlipaudit", table, "--json", "--packaged", "--as-published").data["models"]["one"]
    assert answer["overall"]["value"] == pytest.approx(exp(-57.0) / 14)


def test_the_release_of_mlipaudit_can_be_chosen(judge_score: JudgeScore) -> None:
    planarity = items([None, 0.0], "Å") | {"seen": [0.05, 0.0], "any_error": False}
    table = models(one={"results": {"ring_planarity": {"avg_deviation": planarity}}})
    for how, expected in (((), 0.5), (("--as-published",), 1.0)):
        answer = judge_score("mlipaudit", table, "--json", "--packaged", "--release", "mlipaudit-0.1.8", *how).data
        assert answer["release"] == "mlipaudit-0.1.8"
        assert answer["models"]["one"]["overall"]["value"] == pytest.approx(expected / 18)
    refused = judge_score("mlipaudit", table, "--packaged", "--release", "mlipaudit-9")
    assert "release mlipaudit-9: not known; one of mlipaudit, mlipaudit-0.1.8" in refused.err


@pytest.mark.parametrize(
    ("scheme", "table"), [("ml-peg", {"b": WHOLE, "a": WHOLE}), ("mlipaudit", {"b": FEW, "a": FEW})]
)
def test_equals_share_a_rank_and_stand_by_name(judge_score: JudgeScore, scheme: str, table: dict[str, object]) -> None:
    answer = judge_score(scheme, models(**table), "--json").data["models"]
    assert {name: model["rank"] for name, model in answer.items()} == {"a": 1, "b": 1}
    backwards = models(**dict(reversed(table.items())))
    assert judge_score(scheme, models(**table)) == judge_score(scheme, backwards)


def test_both_scores_of_mlipaudit_are_explained(judge_score: JudgeScore) -> None:
    answer = judge_score("mlipaudit", models(few=FEW), "--explain", "few")
    assert answer.row("MLIPAudit")[1] == "0.25"
    assert answer.row("MLIPAudit, compatible benchmarks")[1] == "0.3333"
    trees = judge_score("mlipaudit", models(few=FEW), "--explain", "few", "--json").data["models"]["few"]["trees"]
    assert {name: tree["total"] for name, tree in trees.items()} == {"overall": 4, "compatible": 3}


def test_more_models_than_fit_side_by_side(judge_score: JudgeScore) -> None:
    answer = judge_score("mlipaudit", models(**{f"model-{i}": FEW for i in range(6)}))
    lines = [line.split() for line in answer.out.splitlines()]
    assert [line for line in lines if line[:1] == ["one"]] == [["one", *"1111"], ["one", *"11"]]
