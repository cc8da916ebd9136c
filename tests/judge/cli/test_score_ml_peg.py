"""`judge score ml-peg`, as a person and a script use it; numbers worked by hand."""

from __future__ import annotations

import pytest

from tests.judge.cli.score_tables import NEITHER, PART, WHOLE, JudgeScore, metric, models, number


def test_ml_peg_shows_both_values_of_an_incomplete_score_and_ranks_by_the_lower(judge_score: JudgeScore) -> None:
    answer = judge_score("ml-peg", models(part=PART, whole=WHOLE, neither=NEITHER), "--json").data
    assert (answer["scheme"], answer["release"], answer["variant"]) == ("ml-peg", "small", "corrected")
    assert list(answer["models"]) == ["whole", "part", "neither"]  # part would be first by the upper
    assert [model["rank"] for model in answer["models"].values()] == [1, 2, 3]
    assert answer["models"]["whole"]["overall"] == number(0.46875, 2, 2)
    assert answer["models"]["part"]["overall"] == number(0.0625, 1, 2, at_best=0.9375)
    assert answer["models"]["part"]["categories"] == {
        "A": number(0.125, 1, 1, at_best=0.875),
        "B": number(0.0, 0, 1, at_best=1.0),
    }
    assert answer["models"]["neither"]["overall"] == number(0.0, 0, 2, at_best=1.0)


def test_ml_peg_for_a_person(judge_score: JudgeScore) -> None:
    answer = judge_score("ml-peg", models(part=PART, whole=WHOLE, neither=NEITHER))
    assert "Small [facts], corrected" in answer.out
    assert answer.row("whole") == ["1", "whole", "0.4688", "2/2", "1"]
    assert answer.row("part") == ["2", "part", "0.0625 (up to 0.9375)", "1/2", "1"]
    assert answer.row("neither") == ["3", "neither", "0 (up to 1)", "0/2", "–"]
    assert answer.row("A") == ["A", "0.6875", "0.125 (up to 0.875)", "0 (up to 1)"]
    assert answer.err == ""


def test_ml_peg_flags_metrics_held_against_another_level_of_theory(judge_score: JudgeScore) -> None:
    answer = judge_score("ml-peg", models(part=PART, whole=WHOLE, neither=NEITHER), "--json").data["models"]
    flags = {name: model.get("other_level_of_theory") for name, model in answer.items()}
    pair = ["benchmark", "metric", "metric_level", "model_level"]
    assert [[flag[key] for key in pair] for flag in flags["whole"]] == [["b", "f", "CCSD(T)", "PBE"]]
    assert flags["whole"][0]["gap"] == "a higher level of theory"
    # It states no level, which differs from PBE; a metric without a value is not compared.
    assert [[flag[key] for key in pair] for flag in flags["part"]] == [["a", "e", "PBE", ""]]
    assert flags["neither"] is None


def test_ml_peg_as_published_leaves_out_what_is_missing_and_gives_none_for_nan(judge_score: JudgeScore) -> None:
    nan = {"metrics": {"a": {"e": metric(float("nan"), "eV"), "r": metric(1.0, "-")}}}
    table = models(part=PART, whole=WHOLE, nan=nan, neither=NEITHER)
    answer = judge_score("ml-peg", table, "--json", "--as-published").data
    ranks = {name: (model["rank"], model["overall"]["value"]) for name, model in answer["models"].items()}
    assert ranks == {"part": (1, 0.5), "whole": (2, 0.46875), "nan": (None, None), "neither": (None, None)}
    assert answer["variant"] == "as_published"
    shown = judge_score("ml-peg", table, "--as-published")
    assert shown.row("nan") == ["–", "nan", "–", "1/2", "–"]
    corrected = judge_score("ml-peg", table, "--json").data["models"]["nan"]
    assert corrected["overall"] == number(0.375, 1, 2, at_best=1.0)


def test_ml_peg_weighs_by_a_preset(judge_score: JudgeScore) -> None:
    answer = judge_score("ml-peg", models(whole=WHOLE), "--json", "--preset", "only-A").data
    assert answer["preset"] == "only-A"
    assert answer["models"]["whole"]["overall"]["value"] == 0.6875
    assert "preset only-A" in judge_score("ml-peg", models(whole=WHOLE), "--preset", "only-A").out


def test_benchmarks_that_no_model_has_count_and_are_named(judge_score: JudgeScore) -> None:
    alone = judge_score("ml-peg", models(part=PART))
    note = "1 of 2 benchmarks have no metric of any model; they count 0, and 1 in the upper value: b"
    assert alone.err.strip() == note
    assert judge_score("ml-peg", models(part=PART), "--as-published").err.strip().endswith("left out: b")
    assert judge_score("ml-peg", models(part=PART), "--json").data["notes"] == [alone.err.strip()]


def test_the_packaged_facts_of_ml_peg(judge_score: JudgeScore) -> None:
    table = models(one={"metrics": {"X23": {"MAE": metric(25.0, "kJ/mol")}}})
    answer = judge_score("ml-peg", table, "--json", "--packaged").data["models"]["one"]
    # 0.75, one of three molecular crystals, one of nine categories that weigh something
    assert answer["categories"]["Molecular Crystals"]["value"] == pytest.approx(0.25)
    assert answer["overall"]["value"] == pytest.approx(0.25 / 9)
    assert answer["overall"]["at_best"] == pytest.approx((8 + (0.75 + 2) / 3) / 9)


def test_a_score_is_explained_down_to_its_metrics(judge_score: JudgeScore) -> None:
    table = models(whole=WHOLE, part=PART)
    answer = judge_score("ml-peg", table, "--explain", "whole")
    assert answer.row("e")[:3] == ["e", "0.5", "0.25"]
    words = " ".join(answer.out.split())  # a long rule goes on in the next line
    assert "linear from 0 at 5 to 1 at 1 eV, capped: 3 eV; good 1" in words
    assert "2 of 10 failed, 2.5 without them" in words
    assert "level of theory CCSD(T); level of theory of the model PBE" in words
    data = judge_score("ml-peg", table, "--explain", "part", "--json").data["models"]
    assert list(data) == ["part"]
    assert data["part"]["rank"] == 2  # among all
    assert data["part"]["trees"]["overall"]["parts"][0]["parts"][0]["parts"][0]["evidence"]["value"] == 3.0


def test_names_are_shown_as_they_are(judge_score: JudgeScore) -> None:
    answer = judge_score("ml-peg", {"models": {"[bold]x[/]": WHOLE}})
    assert answer.row("[bold]x[/]")[0] == "1"
