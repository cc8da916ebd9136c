"""ML-PEG's facts: valid and invalid ones, and the packaged ones."""

from __future__ import annotations

import math

import pytest

from scoring import RawMetric
from scoring.errors import ScoringError
from scoring.ml_peg import Baseline, facts_from_baselines, load_facts, ml_peg_score, parse_facts
from scoring.ml_peg.levels import gap, mismatches

REMEDY = "sum to zero: give one of them a weight"
HEAD = 'name = "r"\ntitle = "R"\nsource = "s"\n'
METRIC = '[benchmarks.X.metrics.MAE]\ngood = 0.0\nbad = 1.0\nunit = "eV"\n'
GOOD = HEAD + '[benchmarks.X]\ncategory = "C"\n' + METRIC


def line_of(text: str) -> str:
    with pytest.raises(ScoringError) as caught:
        parse_facts(text, "r")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_example_is_good() -> None:
    assert parse_facts(GOOD, "r").categories == ("C",)


X = "release r: benchmark X: metric MAE: "
FIELD = "release r: benchmarks.X.metrics.MAE"


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("bad = 1.0", "bad = 0.0", FIELD + ": good: 0.0 is also bad: state two thresholds that differ"),
        ("bad = 1.0", "bad = nan", FIELD + ".bad: Input should be a finite number"),
        ("good = 0.0", "good = -inf", FIELD + ".good: Input should be a finite number"),
        ("good = 0.0", "good = -1e308\nweight = nan", FIELD + ".weight: Input should be a finite number"),
        ("good = 0.0", "good = 0.0\nweight = -1.0", FIELD + ".weight: Input should be greater than or equal to 0"),
        ("good = 0.0\n", "", FIELD + ".good: Field required"),
        ('unit = "eV"', 'unit = "eV"\nlimit = 3', FIELD + ".limit: Extra inputs are not permitted"),
        (
            'unit = "eV"',
            'unit = "eV"\nnormaliser = "cubic"',
            FIELD + ": normaliser: 'cubic' is unknown: take one of linear, logarithmic",
        ),
        (
            'unit = "eV"',
            'unit = "eV"\nnormaliser = "logarithmic"',
            FIELD + ": normaliser: logarithmic: good and bad must lie above zero: take linear",
        ),
        (
            "good = 0.0\nbad = 1.0",
            "good = 1.7e308\nbad = -1.7e308",
            FIELD + ": good: 1.7e+308 and bad -1.7e+308 are too far apart or too close for arithmetic",
        ),
        (
            "good = 0.0",
            "good = 0.0\nweight = 0.0",
            f"release r: benchmark X: weight: the weights of its metrics {REMEDY}",
        ),
        (
            'category = "C"',
            'category = "C"\nweight = 0.0',
            f"release r: category C: weight: the weights of its benchmarks {REMEDY}",
        ),
        (
            HEAD,
            HEAD + "category_weights = { C = 0.0 }\n",
            f"release r: category_weights: the weights of its categories {REMEDY}",
        ),
        (
            HEAD,
            HEAD + "category_weights = { D = 1.0 }\n",
            "release r: category_weights: unknown category D: name one of the facts",
        ),
        (
            HEAD,
            HEAD + "presets.p.metrics.X.RMSE = 1.0\n",
            "release r: preset p: benchmark X: metrics: unknown metric RMSE: name one of the facts",
        ),
        (
            HEAD,
            HEAD + "presets.p.metrics.Y.MAE = 1.0\n",
            "release r: preset p: metrics: unknown benchmark Y: name one of the facts",
        ),
        (
            HEAD,
            HEAD + "presets.p.categories.D = 1.0\n",
            "release r: preset p: categories: unknown category D: name one of the facts",
        ),
        (
            HEAD,
            HEAD + "presets.p.others = 0.0\n",
            f"release r: preset p: category_weights: the weights of its categories {REMEDY}",
        ),
        (
            HEAD,
            HEAD + "presets.p.benchmarks.X = -1.0\n",
            "release r: presets.p.benchmarks.X: Input should be greater than or equal to 0",
        ),
    ],
)
def test_bad_facts_get_one_line(old: str, new: str, line: str) -> None:
    assert old in GOOD
    assert line_of(GOOD.replace(old, new)) == line


def test_what_is_not_toml_gets_one_line() -> None:
    assert line_of("name = ").startswith("release r: not TOML: ")


def of_x(value: float | None, unit: str = "eV", n_items: int = 0, n_failed: int = 0) -> dict[str, dict[str, RawMetric]]:
    return {"X": {"MAE": RawMetric("X", "MAE", value, unit, (), n_items, n_failed)}}


@pytest.mark.parametrize(
    ("measured", "line"),
    [
        (of_x(0.5, "meV"), X + "unit: 'meV', not 'eV': convert the value"),
        (of_x(-0.5), X + "value: an error of -0.5 is below zero: give its magnitude"),
        (of_x(-math.inf), X + "value: an error of -inf is below zero: give its magnitude"),
        (of_x(0.5, "eV", 3, 4), X + "n_failed: 4 of 3 items: count them again"),
        (
            {"X": {"RMSE": RawMetric("X", "RMSE", 0.5, "eV")}},
            "release r: benchmark X: metric RMSE: unknown: the facts know MAE",
        ),
        ({"Y": {"MAE": RawMetric("Y", "MAE", 0.5, "eV")}}, "release r: benchmark Y: unknown: the facts know X"),
    ],
)
def test_bad_metrics_get_one_line(measured: dict[str, dict[str, RawMetric]], line: str) -> None:
    with pytest.raises(ScoringError) as caught:
        ml_peg_score(measured, parse_facts(GOOD, "r"))
    assert str(caught.value) == line


def test_unknown_preset_and_level_get_one_line() -> None:
    facts = parse_facts(GOOD, "r")
    with pytest.raises(ScoringError, match=r"^release r: preset p: unknown: take one of none: it has no presets$"):
        ml_peg_score({}, facts, preset="p")
    with pytest.raises(ScoringError, match=r"^release r: level of theory: D is neither a benchmark nor a category$"):
        mismatches(facts, {"D": "PBE"})


def test_facts_from_baselines() -> None:
    rows = [
        Baseline("water", "Molecules", "energy_mae", "eV/atom", 0.2),
        Baseline("water", "Molecules", "force_mae", "eV/Å", 2.0),
        Baseline("slabs", "Catalysis", "energy_mae", "eV/atom", 1.0),
    ]
    facts = facts_from_baselines(rows, "ours")
    measured = {
        "water": {
            "energy_mae": RawMetric("water", "energy_mae", 0.05, "eV/atom"),
            "force_mae": RawMetric("water", "force_mae", 3.0, "eV/Å"),
        },
        "slabs": {"energy_mae": RawMetric("slabs", "energy_mae", 0.5, "eV/atom")},
    }
    term = ml_peg_score(measured, facts)
    # water: (0.75 + 0) / 2; the trivial model and every worse model score 0.
    assert term.value == pytest.approx((0.375 + 0.5) / 2)
    assert "trivial model" in term.source
    assert facts.categories == ("Catalysis", "Molecules")
    assert facts_from_baselines(reversed(rows), "ours") == facts


@pytest.mark.parametrize("error", [0.0, -1.0, math.nan, math.inf])
def test_a_baseline_is_a_positive_number(error: float) -> None:
    with pytest.raises(ScoringError) as caught:
        facts_from_baselines([Baseline("w", "M", "mae", "eV", error)], "ours")
    assert str(caught.value) == f"release ours: benchmark w: metric mae: baseline {error}: state a positive number"


def test_baselines_that_contradict_each_other() -> None:
    row = Baseline("w", "M", "mae", "eV", 1.0)
    with pytest.raises(ScoringError, match="benchmark w: category: M and N: it has exactly one"):
        facts_from_baselines([row, row._replace(category="N", metric="rmse")], "ours")
    with pytest.raises(ScoringError, match="benchmark w: metric mae: stated twice"):
        facts_from_baselines([row, row._replace(error=2.0)], "ours")
    with pytest.raises(ScoringError, match="release ours: benchmarks: "):
        facts_from_baselines([], "ours")


def test_published_facts() -> None:
    facts = load_facts()
    metrics = [metric for benchmark in facts.benchmarks.values() for metric in benchmark.metrics.values()]
    assert (len(facts.benchmarks), len(metrics), len(facts.categories)) == (77, 339, 18)
    assert all("at commit 6a03c7a" in benchmark.source for benchmark in facts.benchmarks.values())
    gap_mae = facts.benchmarks["phonons"].metrics["Avg BZ MAE"]
    assert (gap_mae.good, gap_mae.bad, gap_mae.weight, gap_mae.level_of_theory) == (0.0, 50.0, 1.0, "PBE")
    assert facts.benchmarks["diatomics"].metrics["ρ(E, repulsion)"].may_be_negative
    with pytest.raises(ScoringError, match="release ml-peg-9: not known; one of ml-peg"):
        load_facts("ml-peg-9")


@pytest.mark.parametrize("preset", ["", "Materials", "Molecules", "Reactivity", "Non-covalent"])
def test_published_thresholds_are_the_ends_of_the_scale(preset: str) -> None:
    facts = load_facts()
    for end, expected in (("good", 1.0), ("bad", 0.0)):
        measured = {
            name: {metric: RawMetric(name, metric, getattr(m, end), m.unit) for metric, m in benchmark.metrics.items()}
            for name, benchmark in facts.benchmarks.items()
        }
        term = ml_peg_score(measured, facts, preset=preset)
        assert {t.value for _, t in term.walk()} == {expected}
        assert term.at_best is None


def test_published_elasticity_by_hand() -> None:
    # Half and a quarter of the way from 30 to 2 GPa, of three metrics; one of eight benchmarks in its category, and one
    # of five categories.
    measured = {
        "elasticity": {
            "Bulk modulus MAE": RawMetric("elasticity", "Bulk modulus MAE", 16.0, "GPa"),
            "Shear modulus MAE": RawMetric("elasticity", "Shear modulus MAE", 23.0, "GPa"),
        }
    }
    term = ml_peg_score(measured, load_facts(), preset="Materials")
    assert term.value == pytest.approx((0.5 + 0.25) / 3 / 8 / 5)
    assert term.at_best == pytest.approx(1 - (2 - 0.75) / 3 / 8 / 5)
    assert ml_peg_score(measured, load_facts(), "as_published").value == pytest.approx(0.375)


@pytest.mark.parametrize(
    ("level", "kind"),
    [
        ("PBE+D3", "another density functional"),
        ("ωB97M-V", "another density functional"),
        ("CCSDT(Q)/CBS", "a higher level of theory"),
        ("ph-AFQMC", "a higher level of theory"),
        ("Experimental", "an experiment"),
    ],
)
def test_kinds_of_reference(level: str, kind: str) -> None:
    assert gap(level) == kind
