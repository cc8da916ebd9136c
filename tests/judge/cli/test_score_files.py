"""`judge score ml-peg` and `judge score mlipaudit`, as a person and a script meet them; numbers worked by hand."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator
from math import exp
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from judge.cli.main import main

ML_PEG = """
name = "small"
title = "Small [facts]"
source = "worked by hand"
[presets.only-A]
others = 0.0
categories = { A = 1.0 }
[benchmarks.a]
category = "A"
metrics.e = { good = 1.0, bad = 5.0, unit = "eV", level_of_theory = "PBE" }
metrics.r = { good = 1.0, bad = -1.0, unit = "-", weight = 3.0 }
[benchmarks.b]
category = "B"
metrics.f = { good = 0.0, bad = 10.0, unit = "GPa", level_of_theory = "CCSD(T)" }
"""
MLIPAUDIT = """
name = "small"
title = "Small"
source = "worked by hand"
alpha = 3.0
[benchmarks.one]
title = "One"
category = "A"
metrics.x = { unit = "eV", threshold = 2.0, source = "here" }
[benchmarks.two]
title = "Two"
category = "B"
elements_per_item = true
metrics.y = { unit = "1", threshold = 1.0, source = "here" }
[benchmarks.three]
title = "Three"
category = "B"
metrics.z = { unit = "1", threshold = 0.5, larger_is_better = true, over_frames = "maximum", source = "here" }
[benchmarks.four]
title = "Four"
category = "B"
metrics.g = { unit = "1", threshold = 1.0, by_group = "scores averaged", source = "here" }
[[slips]]
name = "means"
benchmark = "three"
metrics = ["z"]
text = "the mean over the frames"
corrected = "the maximum"
source = "here"
as_published = { over_frames = "mean" }
"""


class Said(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        assert self.status == 0, self.err
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))

    def row(self, name: str) -> list[str]:
        """The cells of the first line of that name, of any table."""
        assert self.status == 0, self.err
        lines = [re.split(r" {2,}", line.strip()) for line in self.out.splitlines()]
        return next(cells for cells in lines if name in cells)


Judge = Callable[..., Said]


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Judge]:
    """Runs `judge score SCHEME` in a folder with facts.toml and, as table.json, what it is given."""
    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGTERM)

    def run(scheme: str, table: object, *options: str) -> Said:
        Path("facts.toml").write_text(ML_PEG if scheme == "ml-peg" else MLIPAUDIT, encoding="utf-8")
        Path("table.json").write_text(table if isinstance(table, str) else json.dumps(table), encoding="utf-8")
        facts = () if "--packaged" in options else ("--facts", "facts.toml")
        given = [option for option in options if option != "--packaged"]
        monkeypatch.setattr("sys.argv", ["judge", "score", scheme, "table.json", *facts, *given])
        with pytest.raises(SystemExit) as done:
            main()
        said = capsys.readouterr()
        return Said(int(done.value.code or 0), said.out, said.err)

    yield run
    signal.signal(signal.SIGTERM, before)


def metric(value: float | None, unit: str, **more: object) -> dict[str, object]:
    return {"value": value, "unit": unit, **more}


WHOLE = {
    # a: (0.5 + 3 × 0.75)/4 = 0.6875; b: 0.25
    "metrics": {
        "a": {"e": metric(3.0, "eV", n_items=10, n_failed=2, uncharged=2.5), "r": metric(0.5, "-")},
        "b": {"f": metric(7.5, "GPa")},
    },
    "levels": {"A": "PBE", "b": "PBE"},
}
# a: 0.5/4, or with r perfect (0.5 + 3)/4; b: 0 or 1
PART = {"metrics": {"a": {"e": metric(3.0, "eV"), "r": metric(None, "-")}}, "levels": {}}
NEITHER: dict[str, object] = {"metrics": {}}


def models(**of: object) -> dict[str, object]:
    return {"models": of}


def number(value: object, covered: int, total: int, **more: float) -> dict[str, object]:
    return {"value": value, "covered": covered, "total": total, **more}


def test_ml_peg_shows_both_values_of_an_incomplete_score_and_ranks_by_the_lower(judge: Judge) -> None:
    said = judge("ml-peg", models(part=PART, whole=WHOLE, neither=NEITHER), "--json").data
    assert (said["scheme"], said["release"], said["variant"]) == ("ml-peg", "small", "corrected")
    assert list(said["models"]) == ["whole", "part", "neither"]  # part would be first by the upper
    assert [model["rank"] for model in said["models"].values()] == [1, 2, 3]
    assert said["models"]["whole"]["overall"] == number(0.46875, 2, 2)
    assert said["models"]["part"]["overall"] == number(0.0625, 1, 2, at_best=0.9375)
    assert said["models"]["part"]["categories"] == {
        "A": number(0.125, 1, 1, at_best=0.875),
        "B": number(0.0, 0, 1, at_best=1.0),
    }
    assert said["models"]["neither"]["overall"] == number(0.0, 0, 2, at_best=1.0)


def test_ml_peg_for_a_person(judge: Judge) -> None:
    said = judge("ml-peg", models(part=PART, whole=WHOLE, neither=NEITHER))
    assert "Small [facts], corrected" in said.out
    assert said.row("whole") == ["1", "whole", "0.4688", "2/2", "1"]
    assert said.row("part") == ["2", "part", "0.0625 (up to 0.9375)", "1/2", "1"]
    assert said.row("neither") == ["3", "neither", "0 (up to 1)", "0/2", "–"]
    assert said.row("A") == ["A", "0.6875", "0.125 (up to 0.875)", "0 (up to 1)"]
    assert said.err == ""


def test_ml_peg_flags_metrics_held_against_another_level_of_theory(judge: Judge) -> None:
    said = judge("ml-peg", models(part=PART, whole=WHOLE, neither=NEITHER), "--json").data["models"]
    flags = {name: model.get("other_level_of_theory") for name, model in said.items()}
    pair = ["benchmark", "metric", "metric_level", "model_level"]
    assert [[flag[key] for key in pair] for flag in flags["whole"]] == [["b", "f", "CCSD(T)", "PBE"]]
    assert flags["whole"][0]["gap"] == "a higher level of theory"
    # It states no level, which differs from PBE; what it has no value of is not held against anything.
    assert [[flag[key] for key in pair] for flag in flags["part"]] == [["a", "e", "PBE", ""]]
    assert flags["neither"] is None


def test_ml_peg_as_published_leaves_out_what_is_missing_and_gives_none_for_nan(judge: Judge) -> None:
    nan = {"metrics": {"a": {"e": metric(float("nan"), "eV"), "r": metric(1.0, "-")}}}
    table = models(part=PART, whole=WHOLE, nan=nan, neither=NEITHER)
    said = judge("ml-peg", table, "--json", "--as-published").data
    found = {name: (model["rank"], model["overall"]["value"]) for name, model in said["models"].items()}
    assert found == {"part": (1, 0.5), "whole": (2, 0.46875), "nan": (None, None), "neither": (None, None)}
    assert said["variant"] == "as_published"
    shown = judge("ml-peg", table, "--as-published")
    assert shown.row("nan") == ["–", "nan", "–", "1/2", "–"]
    corrected = judge("ml-peg", table, "--json").data["models"]["nan"]
    assert corrected["overall"] == number(0.375, 1, 2, at_best=1.0)


def test_ml_peg_weighs_by_a_preset(judge: Judge) -> None:
    said = judge("ml-peg", models(whole=WHOLE), "--json", "--preset", "only-A").data
    assert said["preset"] == "only-A"
    assert said["models"]["whole"]["overall"]["value"] == 0.6875
    assert "preset only-A" in judge("ml-peg", models(whole=WHOLE), "--preset", "only-A").out


def test_benchmarks_that_no_model_has_count_and_are_named(judge: Judge) -> None:
    alone = judge("ml-peg", models(part=PART))
    assert alone.err.strip() == "1 of 2 benchmarks are of no model, they count 0, and 1 beside it: b"
    assert judge("ml-peg", models(part=PART), "--as-published").err.strip().endswith("left out: b")
    assert judge("ml-peg", models(part=PART), "--json").data["notes"] == [alone.err.strip()]


def test_the_packaged_facts_of_ml_peg(judge: Judge) -> None:
    one = {"metrics": {"X23": {"MAE": metric(25.0, "kJ/mol")}}}
    said = judge("ml-peg", models(one=one), "--json", "--packaged").data["models"]["one"]
    # 0.75, one of three molecular crystals, one of eight categories that weigh something
    assert said["categories"]["Molecular Crystals"]["value"] == pytest.approx(0.25)
    assert said["overall"]["value"] == pytest.approx(0.25 / 8)
    assert said["overall"]["at_best"] == pytest.approx((7 + (0.75 + 2) / 3) / 8)


def items(values: list[Any], unit: str = "1", **more: object) -> dict[str, object]:
    return {"values": values, "unit": unit, **more}


FULL = {
    "results": {
        "one": {"x": items([2.0, 3.0, None], "eV", n_failed=1)},  # (1 + exp(−1.5))/4
        "two": {"y": items([0.5], n_unsupported=1)},  # 1/2; compatible 1
        "three": {"z": items([[0.5, 0.25], [0.25, None]])},  # (1 + 0)/2; the mean of 0.375 gives exp(−0.75)
        "four": {"g": items([0.5, 2.0, 1.0], groups=["ALA", "ALA", "GLY"])},  # ((1 + exp(−3))/2 + 1)/2
    }
}
FOUR = ((1 + exp(-3.0)) / 2 + 1) / 2
FULL_SCORES = [(1 + exp(-1.5)) / 4, 0.5, 0.5, FOUR]
FEW = {"results": {"one": {"x": items([1.0], "eV")}}, "incompatible": ["four"]}


def test_mlipaudit_overall_with_compatible_beside_it(judge: Judge) -> None:
    said = judge("mlipaudit", models(few=FEW, full=FULL), "--json").data
    assert (said["scheme"], said["variant"], list(said["models"])) == ("mlipaudit", "corrected", ["full", "few"])
    full, few = said["models"]["full"], said["models"]["few"]
    assert [full["benchmarks"][name]["value"] for name in ("one", "two", "three", "four")] == pytest.approx(FULL_SCORES)
    assert full["overall"]["value"] == pytest.approx(sum(FULL_SCORES) / 4)
    assert full["compatible"]["value"] == pytest.approx((sum(FULL_SCORES) + 0.5) / 4)
    assert few["overall"] == number(0.25, 1, 4)
    assert few["compatible"] == number(pytest.approx(1 / 3), 1, 3)
    assert few["benchmarks"]["four"] == number(None, 0, 1)


def test_mlipaudit_as_published_keeps_its_slips(judge: Judge) -> None:
    said = judge("mlipaudit", models(full=FULL), "--json", "--as-published").data
    assert said["variant"] == "as_published"
    assert said["models"]["full"]["benchmarks"]["three"]["value"] == pytest.approx(exp(-0.75) / 2)


def test_mlipaudit_for_a_person(judge: Judge) -> None:
    said = judge("mlipaudit", models(few=FEW, full=FULL))
    assert said.row("full")[:2] == ["1", "full"]
    assert said.row("few") == ["2", "few", "0.25", "0.3333", "1/4"]
    assert said.row("two") == ["two", "0.5", "not run"]
    assert said.row("four") == ["four", f"{FOUR:.4g}", "incompatible"]


def test_the_packaged_facts_of_mlipaudit(judge: Judge) -> None:
    one = {"results": {"tautomers": {"abs_deviation": items([1.0], "kcal/mol")}}}
    said = judge("mlipaudit", models(one=one), "--json", "--packaged").data["models"]["one"]
    assert said["overall"]["value"] == pytest.approx(1 / 14)  # 1 kcal/mol is 0.043 eV
    said = judge("mlipaudit", models(one=one), "--json", "--packaged", "--as-published").data["models"]["one"]
    assert said["overall"]["value"] == pytest.approx(exp(-57.0) / 14)


@pytest.mark.parametrize(
    ("scheme", "table"), [("ml-peg", {"b": WHOLE, "a": WHOLE}), ("mlipaudit", {"b": FEW, "a": FEW})]
)
def test_equals_share_a_rank_and_stand_by_name(judge: Judge, scheme: str, table: dict[str, object]) -> None:
    said = judge(scheme, models(**table), "--json").data["models"]
    assert {name: model["rank"] for name, model in said.items()} == {"a": 1, "b": 1}
    backwards = models(**dict(reversed(table.items())))
    assert judge(scheme, models(**table)) == judge(scheme, backwards)


def test_a_score_is_explained_down_to_its_metrics(judge: Judge) -> None:
    table = models(whole=WHOLE, part=PART)
    said = judge("ml-peg", table, "--explain", "whole")
    assert said.row("e")[:3] == ["e", "0.5", "0.25"]
    words = " ".join(said.out.split())  # a long rule goes on in the next line
    assert "linear from 0 at 5 to 1 at 1 eV, capped: 3 eV; good 1" in words
    assert "2 of 10 failed, 2.5 without them" in words
    assert "level of theory CCSD(T); level of theory of the model PBE" in words
    data = judge("ml-peg", table, "--explain", "part", "--json").data["models"]
    assert list(data) == ["part"]
    assert data["part"]["rank"] == 2  # among all
    assert data["part"]["trees"]["overall"]["parts"][0]["parts"][0]["parts"][0]["evidence"]["value"] == 3.0


def test_both_scores_of_mlipaudit_are_explained(judge: Judge) -> None:
    said = judge("mlipaudit", models(few=FEW), "--explain", "few")
    assert said.row("MLIPAudit")[1] == "0.25"
    assert said.row("MLIPAudit, compatible benchmarks")[1] == "0.3333"
    trees = judge("mlipaudit", models(few=FEW), "--explain", "few", "--json").data["models"]["few"]["trees"]
    assert {name: tree["total"] for name, tree in trees.items()} == {"overall": 4, "compatible": 3}


def test_names_are_shown_as_they_are(judge: Judge) -> None:
    said = judge("ml-peg", {"models": {"[bold]x[/]": WHOLE}})
    assert said.row("[bold]x[/]")[0] == "1"


def test_more_models_than_fit_side_by_side(judge: Judge) -> None:
    said = judge("mlipaudit", models(**{f"model-{i}": FEW for i in range(6)}))
    lines = [line.split() for line in said.out.splitlines()]
    assert [line for line in lines if line[:1] == ["one"]] == [["one", *"1111"], ["one", *"11"]]


def one_metric(given: object) -> dict[str, object]:
    return models(A={"metrics": {"a": {"e": given}}})


def one_result(given: object, benchmark: str = "one", name: str = "x") -> dict[str, object]:
    return models(A={"results": {benchmark: {name: given}}})


IN_E, IN_X = "table.json: model A: benchmark a: metric e: ", "table.json: model A: benchmark one: metric x: "
SMALL_E, SMALL_X = "table.json: model A: release small: benchmark a: metric e: ", "table.json: model A: small: one: x: "
BAD: list[tuple[str, object, str]] = [
    ("ml-peg", "{", "table.json: is not JSON: "),
    ("ml-peg", '{"models": {"A": {}, "A": {}}}', "table.json: is not JSON: 'A' is named twice: leave one out"),
    ("ml-peg", "[" * 100_000, "table.json: is not JSON: "),
    ("ml-peg", [], "table.json: Input should be "),
    ("ml-peg", {}, "table.json: models: missing: state it"),
    ("ml-peg", models(), "table.json: models: Dictionary should have at least 1 item"),
    ("ml-peg", models(A=WHOLE) | {"x": 1}, "table.json: x: unknown: docs/scoring-files.md has the fields"),
    ("ml-peg", {"models": {"": WHOLE}}, "table.json: model : String should have at least 1 character"),
    ("ml-peg", models(A={}), "table.json: model A: metrics: missing: state it"),
    ("ml-peg", models(A={"results": {}, "metrics": {}}), "table.json: model A: results: unknown: "),
    ("ml-peg", models(A={"metrics": {}, "levels": {"A": 1}}), "table.json: model A: levels: A: Input should be "),
    (
        "ml-peg",
        models(A={"metrics": {}, "levels": {"C": "PBE"}}),
        "table.json: model A: release small: level of theory: C ",
    ),
    ("ml-peg", one_metric({"unit": "eV"}), IN_E + "value: missing: state it"),
    ("ml-peg", one_metric({"value": 1.0}), IN_E + "unit: missing: state it"),
    ("ml-peg", one_metric(metric(1.0, "eV", failed=1)), IN_E + "failed: unknown: "),
    ("ml-peg", one_metric({"value": "1.0", "unit": "eV"}), IN_E + "value: '1.0' is not a number"),
    ("ml-peg", one_metric({"value": True, "unit": "eV"}), IN_E + "value: True is not a number"),
    ("ml-peg", one_metric({"value": 10**400, "unit": "eV"}), IN_E + "value: 1000"),
    ("ml-peg", one_metric(metric(1.0, "eV", n_items=1.5)), IN_E + "n_items: "),
    ("ml-peg", one_metric(metric(1.0, "eV", n_failed=-1)), IN_E + "n_failed: "),
    ("ml-peg", one_metric(metric(1.0, "eV", n_items=1, n_failed=2)), SMALL_E + "n_failed: 2 of 1 items"),
    ("ml-peg", one_metric(metric(1.0, "meV")), SMALL_E + "unit: 'meV', not 'eV'"),
    ("ml-peg", one_metric(metric(-1.0, "eV")), SMALL_E + "value: an error of -1.0 is below zero"),
    ("ml-peg", models(A={"metrics": {"c": {}}}), "table.json: model A: release small: benchmark c: unknown: "),
    ("ml-peg", models(A={"metrics": {"a": {"x": metric(1.0, "eV")}}}), "benchmark a: metric x: unknown: "),
    ("mlipaudit", {"models": 3}, "table.json: models: Input should be "),
    ("mlipaudit", models(A={}), "table.json: model A: results: missing: state it"),
    ("mlipaudit", models(A={"results": {}}), "table.json: model A: small: no results"),
    ("mlipaudit", models(A=FEW | {"incompatible": "four"}), "table.json: model A: incompatible: Input should be "),
    (
        "mlipaudit",
        models(A=FEW | {"incompatible": ["five"]}),
        "table.json: model A: small: benchmark 'five' is not known",
    ),
    ("mlipaudit", models(A=FULL | {"incompatible": ["four"]}), "small: four: incompatible, yet has results"),
    ("mlipaudit", one_result({"unit": "eV"}), IN_X + "values: missing: state it"),
    ("mlipaudit", one_result(items(["a"], "eV")), IN_X + "values: item 0: 'a' is not a number"),
    ("mlipaudit", one_result(items([1.0, [False]], "eV")), IN_X + "values: item 1: False is not a number"),
    ("mlipaudit", one_result(items([], "eV", n_failed=0.5)), IN_X + "n_failed: "),
    ("mlipaudit", one_result(items([], "eV", n_failed=-1)), IN_X + "n_failed: "),
    ("mlipaudit", one_result(items([], "eV")), SMALL_X + "values: no items"),
    ("mlipaudit", one_result(items([1.0], "kcal/mol")), SMALL_X + "unit 'kcal/mol' should be 'eV'"),
    ("mlipaudit", one_result(items([1.0, -1.0], "eV")), SMALL_X + "item 1 is -1, negative"),
    ("mlipaudit", one_result(items([[1.0]], "eV")), SMALL_X + "item 0 is a trajectory"),
    ("mlipaudit", one_result(items([1.0]), "three", "z"), "small: three: z: item 0 is a number; give the frames"),
    ("mlipaudit", one_result(items([1.0]), "four", "g"), "small: four: g: groups: 0 for 1 items"),
    ("mlipaudit", one_result(items([1.0], "eV", n_unsupported=1)), SMALL_X + "n_unsupported: "),
    ("mlipaudit", one_result(items([1.0]), "one", "y"), "small: one: metric 'y' is not known; one of x"),
]


@pytest.mark.parametrize(
    ("scheme", "table", "line"), BAD, ids=lambda value: value[-40:] if isinstance(value, str) else ""
)
def test_bad_input_gets_one_line_that_names_the_field(judge: Judge, scheme: str, table: object, line: str) -> None:
    said = judge(scheme, table)
    assert (said.status, said.out) == (2, "")
    assert line in said.err
    assert said.err.startswith("judge: table.json: ")
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("scheme", "options", "line"),
    [
        ("ml-peg", ("--preset", "mine"), "--preset: small has no 'mine', but only-A"),
        ("ml-peg", ("--explain", "B"), "--explain: table.json has no model 'B', but A"),
        ("mlipaudit", ("--explain", "B"), "--explain: table.json has no model 'B', but A"),
        ("ml-peg", ("--facts", "none.toml"), "none.toml: cannot be read (No such file or directory)"),
        ("ml-peg", ("--facts", "."), ".: cannot be read (Is a directory)"),
        ("ml-peg", ("--facts", "latin.toml"), "latin.toml: is not text in UTF-8"),
        ("ml-peg", ("--facts", "table.json"), "release table.json: not TOML: "),
        ("ml-peg", ("--facts", "same.toml"), "release same.toml: benchmarks.a.metrics.e: good: 5.0 is also bad"),
        ("mlipaudit", ("--facts", "table.json"), "release table.json: not TOML: "),
        ("mlipaudit", ("--facts", "same.toml"), "release same.toml: "),
    ],
)
def test_bad_options_and_facts_get_one_line(judge: Judge, scheme: str, options: tuple[str, ...], line: str) -> None:
    Path("latin.toml").write_bytes("name = 'Å'".encode("latin-1"))
    Path("same.toml").write_text(ML_PEG.replace("good = 1.0, bad = 5.0", "good = 5.0, bad = 5.0"), encoding="utf-8")
    said = judge(scheme, models(A=WHOLE if scheme == "ml-peg" else FULL), *options)
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith(f"judge: {line}")
    assert len(said.err.splitlines()) == 1


def test_the_layouts_in_the_documentation_are_read(judge: Judge) -> None:
    text = (Path(__file__).parents[3] / "docs" / "scoring-files.md").read_text(encoding="utf-8")
    layouts = re.findall(r"```json\n(.*?)```", text, flags=re.DOTALL)
    for scheme, layout in zip(("ml-peg", "mlipaudit"), layouts, strict=True):
        assert judge(scheme, layout, "--json", "--packaged").data["models"]["my-model"]["rank"] == 1
