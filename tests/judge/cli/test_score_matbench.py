"""`judge score matbench`: files of metrics and of predictions, and one line for each mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judge.cli.main import main
from tests.scoring.test_matbench import CHGNET, CMDS, CPS, FACTS
from tests.world.commands import run_in_process

PREDICTIONS = """material_id,reference_hull_distance,hull_distance,unique_prototype,rmsd
a,-0.1,-0.2,true,0.03
b,0.1,-0.1,true,
c,-0.3,,False,0.06
d,0.2,0.3,1,0.03
"""
RELAXED = """material_id,reference_hull_distance,formation_energy,reference_formation_energy,unique_prototype,rmsd
a,-0.1,-1.1,-1.0,true,0.03
b,0.1,-1.2,-1.0,true,
c,-0.3,,-1.0,False,0.06
d,0.2,-0.9,-1.0,1,0.03
"""


def stated(score: str, values: dict[str, float]) -> dict[str, Any]:
    metrics = FACTS.scores[score].metrics
    return {name: {"value": value, "unit": metrics[name].unit} for name, value in values.items()}


def run(folder: Path, models: Any, *options: str) -> tuple[int, str, str]:
    (folder / "metrics.json").write_text(json.dumps({"models": models}))
    return run_in_process(main, "judge", ["score", "matbench", "metrics.json", *options], folder, {})


WHOLE = {"metrics": {"cps": stated("cps", CPS), "cds": stated("cds", CHGNET), "cmds": stated("cmds", CMDS)}}


def test_the_scores_are_a_table_and_json(tmp_path: Path) -> None:
    part = {"metrics": {"cds": stated("cds", CHGNET)}}
    status, out, err = run(tmp_path, {"part": part, "CHGNet": WHOLE}, "--as-published")
    assert (status, err) == (0, "")
    lines = [line.split() for line in out.splitlines() if line.split()[:1] in (["CHGNet"], ["part"])]
    assert [line[0] for line in lines] == ["CHGNet", "part"]
    assert lines[1] == ["part", "–", lines[0][2], "–"]
    assert lines[0][2].startswith("0.2968")
    status, out, _ = run(tmp_path, {"CHGNet": WHOLE}, "--json")
    models = json.loads(out)["models"]
    assert models["CHGNet"]["cds"]["value"] == pytest.approx(0.2968, abs=5e-5)
    status, out, _ = run(tmp_path, {"CHGNet": WHOLE}, "--explain", "CHGNet")
    assert "curve_energy_mae" in out


@pytest.mark.parametrize("predictions", [PREDICTIONS, RELAXED], ids=["hull distances", "formation energies"])
def test_f1_and_rmsd_come_from_a_models_own_predictions(tmp_path: Path, predictions: str) -> None:
    (tmp_path / "mine.csv").write_text(predictions)
    rest = stated("cps", {"kappa_srme": 1.0})
    status, out, err = run(tmp_path, {"m": {"metrics": {"cps": rest}, "predictions": "mine.csv"}}, "--json")
    assert status == 0, err
    score = json.loads(out)["models"]["m"]["cps"]
    parts = {part["name"]: part["parts"][0]["evidence"]["value"] for part in score["parts"]}
    assert parts == {
        "discovery": pytest.approx(2 / 3),
        "conductivity": 1.0,
        "geometry": pytest.approx((0.03 + 1.0 + 0.06 + 0.03) / 4),
    }


PREDICTED = {"metrics": {}, "predictions": "mine.csv"}
MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    ({"metrics": {"xyz": {}}}, "", "score xyz: unknown: the facts know cps, cds, cmds"),
    ({"metrics": {"cds": stated("cds", CHGNET)}, "excluded_elements": 99}, "", "elements left out: 99 of 87"),
    (PREDICTED, PREDICTIONS.replace("rmsd", "x"), "rmsd: is missing: the header"),
    (PREDICTED, PREDICTIONS.replace("b,", "a,"), "a: is there twice"),
    (
        PREDICTED,
        PREDICTIONS.replace("-0.2", "low"),
        "hull_distance: 'low' is not a",
    ),
    (PREDICTED, PREDICTIONS.replace("-0.2", "inf"), "hull_distance: 'inf' is not f"),
    (PREDICTED, PREDICTIONS.replace("-0.1,-0.2", ",-0.2"), "'' is not a number"),
    (PREDICTED, PREDICTIONS.replace("False", "no"), "unique_prototype: must be true"),
    (PREDICTED, "material_id\n", "has no rows"),
    ({"metrics": {"cps": stated("cps", CPS)}, "predictions": "mine.csv"}, PREDICTIONS, "f1 is stated as well"),
]


@pytest.mark.parametrize(("model", "predictions", "line"), MISTAKES, ids=[line for *_, line in MISTAKES])
def test_a_mistake_is_one_line(tmp_path: Path, model: dict[str, Any], predictions: str, line: str) -> None:
    (tmp_path / "mine.csv").write_text(predictions)
    status, out, err = run(tmp_path, {"m": model})
    assert (status, out) == (2, "")
    assert err.startswith("judge: metrics.json: model m: ")
    assert line in err
    assert len(err.splitlines()) == 1


def test_a_model_that_is_not_in_the_file(tmp_path: Path) -> None:
    status, _, err = run(tmp_path, {"m": WHOLE}, "--explain", "x")
    assert (status, err) == (2, "judge: --explain: metrics.json has no model 'x', but m\n")
