"""Facts and metrics that MLIPAudit's score refuses, in one line that names the field and the remedy."""

from __future__ import annotations

from importlib import resources
from math import inf, nan

import numpy as np
import pytest

from scoring.errors import ScoringError
from scoring.mlipaudit import Measured, item_scores, load_mlipaudit, mlipaudit_score, parse_mlipaudit
from scoring.mlipaudit.measured import checked
from scoring.names import Variant

FACTS = load_mlipaudit()
TEXT = (resources.files("scoring.releases") / "mlipaudit.toml").read_text(encoding="utf-8")
RMSD = "mlipaudit: reference_geometry_stability: rmsd"
TM = "mlipaudit: folding_stability: tm_score"
BACKBONE = "mlipaudit: sampling: outliers_ratio_backbone"


def message_of(table: dict[str, dict[str, Measured]], incompatible: frozenset[str] = frozenset()) -> str:
    with pytest.raises(ScoringError) as error:
        mlipaudit_score(table, FACTS, incompatible=incompatible)
    return str(error.value)


def rmsd(measured: Measured) -> dict[str, dict[str, Measured]]:
    return {"reference_geometry_stability": {"rmsd": measured}}


def release_message(old: str, new: str) -> str:
    """The message about the packaged facts with one text replaced."""
    assert old in TEXT
    with pytest.raises(ScoringError) as error:
        parse_mlipaudit(TEXT.replace(old, new, 1), "test")
    return str(error.value)


@pytest.mark.parametrize(
    ("measured", "message"),
    [
        (Measured([0.1], "nm"), f"{RMSD}: unit 'nm' should be 'Å'"),
        (Measured([0.1, -0.2], "Å"), f"{RMSD}: item 1 is -0.2, negative; give errors as magnitudes"),
        (Measured(np.array([0.1, -0.2]), "Å"), f"{RMSD}: item 1 is -0.2, negative; give errors as magnitudes"),
        (Measured([-inf], "Å"), f"{RMSD}: item 0 is -inf, negative; give errors as magnitudes"),
        (Measured([], "Å"), f"{RMSD}: values: no items; give None for each that failed"),
        (Measured([0.1], "Å", n_failed=-1), f"{RMSD}: n_failed -1 is negative"),
        (Measured([[0.1, 0.2]], "Å"), f"{RMSD}: item 0 is a trajectory; give one number"),
        (Measured([0.1], "Å", groups=["ALA"]), f"{RMSD}: groups: this metric has none"),
        (
            Measured([0.1], "Å", n_unsupported=1),
            f"{RMSD}: n_unsupported: the benchmark is incompatible as a whole; name it as such",
        ),
    ],
)
def test_values_that_cannot_be_scored(measured: Measured, message: str) -> None:
    assert message_of(rmsd(measured)) == message


@pytest.mark.parametrize(
    ("benchmark", "metric", "measured", "message"),
    [
        (
            "folding_stability",
            "tm_score",
            Measured([0.9], "1"),
            f"{TM}: item 0 is a number; give the frames of its trajectory",
        ),
        (
            "folding_stability",
            "tm_score",
            Measured([[0.9, 1.1]], "1"),
            f"{TM}: item 0 is 1.1, more than 1, the most that can be",
        ),
        (
            "folding_stability",
            "tm_score",
            Measured(np.array([0.9, 1.1]), "1"),
            f"{TM}: item 1 is 1.1, more than 1, the most that can be",
        ),
        (
            "sampling",
            "outliers_ratio_backbone",
            Measured([0.1, 0.1], "1", groups=["ALA"]),
            f"{BACKBONE}: groups: 1 for 2 items; give one for each",
        ),
        (
            "sampling",
            "outliers_ratio_backbone",
            Measured([0.1], "1", n_failed=1, groups=["ALA"]),
            f"{BACKBONE}: n_failed: belongs to no group; give None among the values, with its group",
        ),
    ],
)
def test_values_of_the_wrong_kind(benchmark: str, metric: str, measured: Measured, message: str) -> None:
    assert message_of({benchmark: {metric: measured}}) == message


def test_items_that_were_left_out_belong_to_no_group() -> None:
    metric = FACTS.metric("sampling", "outliers_ratio_backbone", Variant.CORRECTED)
    with pytest.raises(ScoringError, match=r"^here: n_unsupported: belongs to no group; give None among the values"):
        checked(Measured([0.1], "1", n_unsupported=1, groups=["ALA"]), metric, "here")


def test_unknown_names() -> None:
    measured = Measured([0.1], "Å")
    assert message_of({"geometry": {"rmsd": measured}}).startswith(
        "mlipaudit: benchmark 'geometry' is not known; one of stability,"
    )
    assert message_of({"reactivity": {"mae": measured}}) == (
        "mlipaudit: reactivity: metric 'mae' is not known; one of activation_energy_abs_error, "
        "enthalpy_of_reaction_abs_error"
    )
    assert message_of(rmsd(measured), frozenset({"geometry"})).startswith(
        "mlipaudit: benchmark 'geometry' is not known"
    )


def test_a_model_without_results() -> None:
    message = "mlipaudit: no results; a model without any has no score"
    assert message_of({}) == message
    assert message_of({"reactivity": {}}) == message


def test_results_of_an_incompatible_benchmark() -> None:
    table = rmsd(Measured([0.1], "Å"))
    name = "reference_geometry_stability"
    assert (
        message_of(table, frozenset({name})) == f"mlipaudit: {name}: incompatible, yet has results; drop one of the two"
    )
    assert message_of(table, frozenset({"noncovalent_interactions"})) == (
        "mlipaudit: noncovalent_interactions: incompatible item by item only; count them in n_unsupported"
    )


@pytest.mark.parametrize("value", ["0.0", "-0.075", "nan", "inf", "'0.075 Å'"])
def test_impossible_thresholds(value: str) -> None:
    message = release_message("threshold = 0.075", f"threshold = {value}")
    where = "release test: benchmarks.reference_geometry_stability.metrics.rmsd.threshold: "
    assert message.startswith(f"{where}Input should")
    assert "\n" not in message


@pytest.mark.parametrize("value", ["0", "-3", "nan", "inf"])
def test_impossible_alpha(value: str) -> None:
    assert release_message("alpha = 3.0", f"alpha = {value}").startswith("release test: alpha: Input should be")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("alpha = 3.0", "alpha = ", "release test: not TOML: "),
        ("alpha = 3.0", "alpha = 3.0\nbeta = 1", "release test: beta: Extra inputs are not permitted"),
        ('rule = "decay"', 'rule = "linear"', "peak_deviation.rule: Input should be"),
        ("threshold = 0.075", "", "metrics.rmsd: threshold: rule 'soft threshold' takes one"),
        ('threshold_unit = "eV"', 'threshold_unit = "K"', "threshold_unit: 'kcal/mol' does not convert to 'K'"),
        ("at_most = 1.0\n", "at_most = 2.0\n", "metrics.stability: at_most: a score is at most 1"),
        (
            'metrics = ["tm_score"]',
            'metrics = ["tm"]',
            "'TM-score as an error': metrics: folding_stability has no 'tm'",
        ),
        ("larger_is_better = false", "", "slips: 'TM-score as an error': as_published: changes nothing"),
        (
            "larger_is_better = false",
            'over_frames = "mean"',
            "'means for minimum and maximum': as_published: ('folding_stability', 'tm_score', 'over_frames') has been",
        ),
        (
            'rule = "step"',
            'rule = "score"',
            "slips: 'converged or not': threshold: rule 'score' takes none",
        ),
        ("outside = [2.8, 3.0]", "outside = [3.0, 2.8]", "peak_deviation: outside: 3 is not below 2.8"),
        ('name = "converged or not"', 'name = "TM-score as an error"', "slips: 'TM-score as an error' is named twice"),
    ],
)
def test_facts_that_do_not_fit(old: str, new: str, message: str) -> None:
    line = release_message(old, new)
    assert line.startswith("release test: ")
    assert message in line
    assert "\n" not in line


def test_a_release_that_is_not_packaged() -> None:
    with pytest.raises(ScoringError, match=r"^release mlipaudit-9: not known; one of mlipaudit, mlipaudit-0.1.8$"):
        load_mlipaudit("mlipaudit-9")


@pytest.mark.parametrize("value", [0.0, -1.0, nan, inf])
def test_item_scores_refuse_impossible_thresholds(value: float) -> None:
    with pytest.raises(ScoringError, match=r"^threshold .* is not a positive number$"):
        item_scores([1.0], value)
    with pytest.raises(ScoringError, match=r"^alpha .* is not a positive number$"):
        item_scores([1.0], 1.0, alpha=value)


def test_item_scores_refuse_negative_errors() -> None:
    with pytest.raises(ScoringError, match=r"^values: -1 is negative; give errors as magnitudes$"):
        item_scores([0.5, -1.0], 1.0)
