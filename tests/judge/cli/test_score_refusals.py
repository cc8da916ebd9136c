"""`judge score` on bad tables, options and facts: one line that names the field. The documented layouts are read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from judge.cli.scores.score_files_input import MatbenchFile
from tests.judge.cli.score_tables import FEW, FULL, ML_PEG, WHOLE, JudgeScore, items, metric, models


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
def test_bad_input_gets_one_line_that_names_the_field(
    judge_score: JudgeScore, scheme: str, table: object, line: str
) -> None:
    answer = judge_score(scheme, table)
    assert (answer.status, answer.out) == (2, "")
    assert line in answer.err
    assert answer.err.startswith("judge: table.json: ")
    assert len(answer.err.splitlines()) == 1


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
def test_bad_options_and_facts_get_one_line(
    judge_score: JudgeScore, scheme: str, options: tuple[str, ...], line: str
) -> None:
    Path("latin.toml").write_bytes("name = 'Å'".encode("latin-1"))
    Path("same.toml").write_text(ML_PEG.replace("good = 1.0, bad = 5.0", "good = 5.0, bad = 5.0"), encoding="utf-8")
    answer = judge_score(scheme, models(A=WHOLE if scheme == "ml-peg" else FULL), *options)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(f"judge: {line}")
    assert len(answer.err.splitlines()) == 1


def test_the_layouts_in_the_documentation_are_read(judge_score: JudgeScore) -> None:
    text = (Path(__file__).parents[3] / "docs" / "scoring-files.md").read_text(encoding="utf-8")
    layouts = re.findall(r"```json\n(.*?)```", text, flags=re.DOTALL)
    *ranked, combined = layouts
    for scheme, layout in zip(("ml-peg", "mlipaudit"), ranked, strict=True):
        assert judge_score(scheme, layout, "--json", "--packaged").data["models"]["my-model"]["rank"] == 1
    assert MatbenchFile.model_validate_json(combined).models["my-model"].predictions == "wbm.csv"
