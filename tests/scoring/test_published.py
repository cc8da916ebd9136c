"""The published LAMBench 0.3.1 scores follow from the published raw metrics."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from scoring import Term, load_release
from scoring.lambench.published import TableModel, rounded, score_published
from scoring.lambench.published_config import release_from_config

CHECKOUT = Path(__file__).parents[2]
DATA = CHECKOUT / os.environ.get("LAMBENCH_TEST_DATA", "../shared/data") / "lambench_leaderboard" / "v0.3.1"
MODELS = ("DPA-3.1-3M", "Orb-v2", "GRACE-2L-OAM", "MACE-MP-0")
DECADES = 5.0

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason="LAMBENCH_TEST_DATA has no lambench_leaderboard/v0.3.1"),
]


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((DATA / name).read_text(encoding="utf-8"))
    return content


@pytest.fixture(scope="module")
def printed() -> dict[str, Any]:
    return _read("expected.json")


@pytest.fixture(scope="module")
def scores() -> dict[str, TableModel]:
    return score_published(release_from_config(_read("config.json"), "config.json").release, _read("raw.json"))


def _parts(term: Term) -> dict[str, float | None]:
    return {part.name: part.value for part in term.parts}


@pytest.mark.parametrize("model", MODELS)
def test_force_field_error_within_a_thousandth(
    model: str, scores: dict[str, TableModel], printed: dict[str, Any]
) -> None:
    error = scores[model].scores["force_field"]
    assert error.value == pytest.approx(printed[model]["ff_error"], abs=1e-3)
    assert error.complete
    # Two decimals: the raw errors are rounded to 0.1 meV.
    assert _parts(error) == pytest.approx(printed[model]["ff_domains"], abs=0.006)


@pytest.mark.parametrize("model", MODELS)
def test_property_error_and_efficiency_to_three_decimals(
    model: str, scores: dict[str, TableModel], printed: dict[str, Any]
) -> None:
    assert rounded(scores[model].scores["property_error"].value, 3) == printed[model]["pc_error"]
    assert rounded(scores[model].scores["efficiency"].value, 3) == printed[model]["efficiency"]


@pytest.mark.parametrize("model", MODELS)
def test_instability_is_at_least_the_bound(model: str, scores: dict[str, TableModel], printed: dict[str, Any]) -> None:
    bound = rounded(scores[model].scores["instability"].value, 3)
    assert scores[model].is_lower_bound
    assert bound is not None
    assert 0.0 <= bound <= printed[model]["instability"] <= DECADES


def test_one_run_of_nine_failed_and_shows_in_the_bound(scores: dict[str, TableModel]) -> None:
    # DPA's drift is below the tolerance, a success rate of 0.89 is 8 of 9 runs: 5 / 9 is left.
    assert scores["DPA-3.1-3M"].scores["instability"].value == pytest.approx(5 / 9, rel=1e-12)


def test_nothing_in_the_real_table_is_left_out(scores: dict[str, TableModel]) -> None:
    assert list(scores) == list(MODELS)
    assert [model.notes for model in scores.values()] == [()] * 4
    assert all(
        model.scores["force_field"].total == 12 and model.scores["property_error"].total == 5
        for model in scores.values()
    )


@pytest.mark.parametrize("corrected", [False, True])
def test_the_packaged_release_gives_the_same_numbers_to_the_last_digit(corrected: bool) -> None:
    stated = release_from_config(_read("config.json"), "config.json").release
    packaged = load_release("lambench-0.3.1")
    raw = _read("raw.json")
    from_config, from_package = (
        score_published(rules.corrected() if corrected else rules, raw) for rules in (stated, packaged)
    )
    for model in MODELS:
        for a, b in (
            (from_config[model].scores["force_field"], from_package[model].scores["force_field"]),
            (from_config[model].scores["property_error"], from_package[model].scores["property_error"]),
            (from_config[model].scores["efficiency"], from_package[model].scores["efficiency"]),
            *zip(from_config[model].instability.values(), from_package[model].instability.values(), strict=True),
        ):
            assert a.value == b.value
            assert _parts(a) == _parts(b)
        assert from_config[model].instability.keys() == from_package[model].instability.keys()
        assert from_config[model].notes == from_package[model].notes


@pytest.mark.parametrize("model", MODELS)
def test_corrected_differs_from_published_only_where_its_rules_do(model: str, scores: dict[str, TableModel]) -> None:
    # No error is at the floor or missing, and all items but 1 in 10,000 of one set succeeded.
    rules = release_from_config(_read("config.json"), "config.json").release.corrected()
    corrected = score_published(rules, _read("raw.json"))[model]
    assert corrected.scores["force_field"].value == pytest.approx(scores[model].scores["force_field"].value, abs=1e-7)
    assert corrected.scores["property_error"].value == pytest.approx(
        scores[model].scores["property_error"].value, abs=1e-5
    )
    assert corrected.scores["efficiency"].value == scores[model].scores["efficiency"].value
    assert list(corrected.instability) == [4.9e-5, 5e-4]
    at_stated, at_applied = corrected.instability[5e-4].value, corrected.instability[4.9e-5].value
    assert at_stated is not None
    assert at_applied is not None
    assert at_stated <= at_applied
    assert at_applied == pytest.approx(
        scores[model].scores["instability"].value, abs=1.1e-3
    )  # 5e-4 / 10.18 is 4.911e-5


@pytest.mark.parametrize("model", MODELS)
def test_every_score_has_an_explanation(model: str, scores: dict[str, TableModel]) -> None:
    leaves = [term for _, term in scores[model].scores["force_field"].walk() if not term.parts]
    assert len(leaves) == 12 + 12 + 4  # energies, forces, virials
    raw, tasks = _read("raw.json")[model], _read("config.json")["ff"]["tasks"]
    for leaf in leaves:
        assert leaf.raw is not None
        task, metric = leaf.raw.task, leaf.raw.metric
        assert leaf.raw.value == raw["generalizability_force_field_results"][task][metric] * 1e-3
        assert leaf.raw.facts == (("baseline", tasks[task][metric.partition("_")[0]]["std_eV"]),)
        assert leaf.raw.unit in ("eV/atom", "eV/Å")
