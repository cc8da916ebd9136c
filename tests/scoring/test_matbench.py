"""Matbench Discovery's combined scores by hand, with every edge, and the law of failures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring import RawMetric, ScoringError, Term
from scoring.matbench import combined_score, discovery, hull_distances, load_matbench
from scoring.names import Variant

FACTS = load_matbench()
CHGNET = {
    "curve_energy_mae": 3.205,
    "curve_force_mae": 4.927,
    "wall_distance_mae": 0.403,
    "pair_bond_length_mae": 0.2676,
    "well_depth_mae": 16.86,
    "seconds": 99.4,
    "energy_jump": 2.105,
    "force_flips": 2.011,
    "tortuosity": 2.21,
}
CPS = {"f1": 0.613, "kappa_srme": 1.7167, "rmsd": 0.095}
CMDS = {"vdos_error": 20.0, "pressure_error": 45.0, "adf_error": 10.0, "seconds": 30_000.0}
OF = {"cps": CPS, "cds": CHGNET, "cmds": CMDS}


def scored(score: str, values: dict[str, float], variant: Variant = Variant.AS_PUBLISHED, excluded: int = 0) -> Term:
    units = {name: facts.unit for name, facts in FACTS.scores[score].metrics.items()}
    measured = {name: RawMetric("", name, value, units[name]) for name, value in values.items()}
    return combined_score(measured, FACTS, score, variant, excluded)


def value(*arguments: object, **more: object) -> float:
    found = scored(*arguments, **more).value  # type: ignore[arg-type]
    assert found is not None
    return found


def test_the_published_diatomics_score_of_chgnet() -> None:
    term = scored("cds", CHGNET)
    parts = {part.name: round(part.value or 0.0, 4) for part in term.parts}
    assert parts == {"accuracy": 0.1169, "geometry": 0.3188, "speed": 0.8508, "physicality": 0.3576}
    assert term.value == pytest.approx(0.2968, abs=5e-5)
    assert value("cds", CHGNET, Variant.CORRECTED) == term.value


def test_performance_and_dynamics_by_hand() -> None:
    assert value("cps", CPS) == pytest.approx(0.5 * 0.613 + 0.4 * (1 - 1.7167 / 2) + 0.1 * (1 - 0.095 / 0.15))
    speed = (math.log10(300_000) - math.log10(30_000)) / (math.log10(300_000) - math.log10(9000))
    assert value("cmds", CMDS) == pytest.approx(0.3 * 0.8 + 0.3 * 0.55 + 0.2 * 0.9 + 0.2 * speed)


@pytest.mark.parametrize(("excluded", "share"), [(0, 1.0), (1, 86 / 87), (29, 2 / 3), (87, 0.0)])
def test_elements_that_are_left_out_take_their_share(excluded: int, share: float) -> None:
    for variant in Variant:
        assert value("cds", CHGNET, variant, excluded) == pytest.approx(share * value("cds", CHGNET, variant))


@pytest.mark.parametrize("score", OF)
def test_thresholds_and_what_lies_beyond(score: str) -> None:
    metrics = FACTS.scores[score].metrics
    good, bad = ({name: getattr(facts, end) for name, facts in metrics.items()} for end in ("good", "bad"))
    assert value(score, good) == pytest.approx(1.0)
    assert value(score, bad) == 0.0
    worse = {name: 0.0 if name == "f1" else 10.0 * bad[name] for name in bad}
    better = {name: 2.0 if name == "f1" else 0.1 * good[name] for name in good}
    assert (value(score, worse), value(score, better)) == (0.0, pytest.approx(1.0))


@pytest.mark.parametrize(("score", "missing"), [(score, name) for score, values in OF.items() for name in values])
def test_a_missing_metric_leaves_no_score_as_published_and_counts_0_corrected(score: str, missing: str) -> None:
    rest = {name: number for name, number in OF[score].items() if name != missing}
    for without in (rest, {**rest, missing: math.nan}):
        assert scored(score, without).value is None
        term = scored(score, without, Variant.CORRECTED)
        worst = {**rest, missing: FACTS.scores[score].metrics[missing].bad}
        best = {**rest, missing: FACTS.scores[score].metrics[missing].good}
        assert term.value == pytest.approx(value(score, worst))
        assert term.at_best == pytest.approx(value(score, best))
    infinite = scored(score, {**rest, missing: math.inf}, Variant.CORRECTED).value
    assert infinite == pytest.approx(value(score, {**rest, missing: FACTS.scores[score].metrics[missing].bad}))


def test_as_published_leaves_failed_items_out_and_corrected_charges_them() -> None:
    units = {name: facts.unit for name, facts in FACTS.scores["cds"].metrics.items()}
    both = {n: RawMetric("", n, 2.0 * v, units[n], n_items=79, n_failed=1, uncharged=v) for n, v in CHGNET.items()}
    published = combined_score(both, FACTS, "cds", Variant.AS_PUBLISHED)
    assert published.value == pytest.approx(value("cds", CHGNET))
    corrected = combined_score(both, FACTS, "cds", Variant.CORRECTED)
    assert corrected.value == pytest.approx(value("cds", {n: 2.0 * v for n, v in CHGNET.items()}))


@given(st.sampled_from(list(OF)), st.integers(0, 20), st.floats(1.0, 1e6), st.integers(0, 86))
def test_failing_never_helps(score: str, place: int, worse: float, excluded: int) -> None:
    """A larger error, NaN, nothing, or an element less."""
    values = OF[score]
    name = list(values)[place % len(values)]
    excluded = excluded if score == "cds" else 0
    before = value(score, values, Variant.CORRECTED, excluded)
    changed = values[name] / worse if name == "f1" else values[name] * worse
    without = {n: v for n, v in values.items() if n != name}
    for other in ({**values, name: changed}, {**values, name: math.nan}, without):
        assert value(score, other, Variant.CORRECTED, excluded) <= before + 1e-12
    if score == "cds":
        assert value(score, values, Variant.CORRECTED, excluded + 1) <= before


@pytest.mark.parametrize(
    ("metrics", "excluded", "line"),
    [
        ({"speed": RawMetric("", "speed", 1.0, "s")}, 0, "metric speed: unknown: the facts know curve_energy_mae, "),
        ({"seconds": RawMetric("", "seconds", 1.0, "h")}, 0, "metric seconds: unit: 'h', not 's': convert it"),
        ({"seconds": RawMetric("", "seconds", -1.0, "s")}, 0, "metric seconds: value: -1.0 is below zero"),
        ({}, 88, "elements left out: 88 of 87: count them again"),
    ],
)
def test_bad_input_is_one_line(metrics: dict[str, RawMetric], excluded: int, line: str) -> None:
    with pytest.raises(ScoringError) as caught:
        combined_score(metrics, FACTS, "cds", excluded=excluded)
    assert str(caught.value).startswith(f"release matbench-discovery: score cds: {line}")
    with pytest.raises(ScoringError, match="score cps: elements left out: this score has no such factor"):
        combined_score({}, FACTS, "cps", excluded=1)


def test_f1_and_rmsd_by_hand() -> None:
    """Two of three stable ones found, one wrong, one that is not unique, one without a prediction."""
    reference = np.array([-0.1, 0.0, -0.2, 0.1, -0.3, -0.1])
    predicted = np.array([-0.2, 0.0, 0.05, -0.1, -0.3, np.nan])
    unique = np.array([True, True, True, True, False, True])
    found = discovery(reference, predicted, unique, np.array([0.1, 0.3, np.nan, 0.2, 0.0, np.nan]))
    assert found.f1 == pytest.approx(2 * 2 / (4 + 3))
    assert found.rmsd == pytest.approx((0.1 + 0.3 + 1.0 + 0.2 + 0.0 + 1.0) / 6)
    assert math.isnan(discovery(np.array([0.1]), np.array([0.2]), np.array([True]), np.array([0.1])).f1)
    assert hull_distances(np.array([0.02]), np.array([-1.0]), np.array([-0.95])) == pytest.approx([-0.03])
