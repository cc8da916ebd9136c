"""The law of `corrected`, on published tables: no worse or missing number improves any score."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scoring import ScoringError
from scoring.lambench.published import TableModel
from tests.scoring.published_tables import FF, FIVE, GENERAL, PC, USE, Json, changed, scored, without

SLOW = (HealthCheck.too_slow,)  # two tables take some 20 ms
some, few = (settings(max_examples=n, deadline=None, suppress_health_check=SLOW) for n in (15, 8))
ROUNDING = 1e-12
RUNS = {f"run {i}": {"slope": 5e-6 * 10**i, "steps": 10000.0} for i in range(9)}
TIMES = {"water": {"average_time": 50.0}, "copper": {"average_time": 150.0}}
BY_SYSTEM = changed(changed(GENERAL, f"{USE}.nve_md", RUNS), f"{USE}.inference_efficiency", TIMES)
TABLES = {"summaries": GENERAL, "by system": BY_SYSTEM}
RULES = ("skip_for_that_model", "drop_domain_for_all_models")


def paths(table: Mapping[str, object], way: str = "") -> Iterator[str]:
    """The paths of everything in a table: sections, rows and numbers."""
    for name, value in table.items():
        yield way + name
        if isinstance(value, Mapping):
            yield from paths(value, f"{way}{name}.")


def value_at(table: Json, path: str) -> object:
    at: object = table
    for name in path.split("."):
        assert isinstance(at, dict)
        at = at[name]
    return at


def number_at(table: Json, path: str) -> float:
    value = value_at(table, path)
    assert isinstance(value, float)
    return value


def costs(scores: TableModel) -> list[float]:
    """Every score and domain, so that less is better."""
    terms = [scores.scores["force_field"], scores.scores["property_error"], *scores.instability.values()]
    below = [part for term in terms[:2] for part in term.parts]
    lower = [math.inf if term.value is None else term.value for term in (*terms, *below)]
    return [*lower, math.inf if scores.scores["efficiency"].value is None else -scores.scores["efficiency"].value]


def never_better(before: TableModel, after: TableModel) -> None:
    for old, new in zip(costs(before), costs(after), strict=True):
        assert new >= old - ROUNDING


ERRORS = [
    (name, path)
    for name, table in TABLES.items()
    for path in paths(table)
    if isinstance(value_at(table, path), float) and not path.endswith(("steps", "success_rate", "deviation", "RMSE"))
]
# The model's answers only: `model` is declared, not measured.
ANSWERS = [(name, path) for name, table in TABLES.items() for path in paths(table) if not path.startswith("model")]


def both(rule: str, table: Json) -> dict[str, TableModel]:
    """Corrected scores of a table and of another with the same systems."""
    config = changed(FIVE, "pc.missing_domain_rule", rule)
    return scored(config, {"this": table, "other": BY_SYSTEM}, corrected=True)


@some
@given(st.sampled_from(RULES), st.sampled_from(ERRORS), st.floats(1.0, 1e6))
def test_a_worse_metric_never_improves(rule: str, at: tuple[str, str], factor: float) -> None:
    name, path = at
    table = TABLES[name]
    worse = changed(table, path, number_at(table, path) * factor)
    before, after = both(rule, table), both(rule, worse)
    never_better(before["this"], after["this"])
    assert costs(before["other"]) == costs(after["other"])


@some
@given(st.sampled_from(RULES), st.sampled_from(ANSWERS), st.sampled_from(["gone", "null", "NaN"]))
def test_nothing_left_out_improves(rule: str, at: tuple[str, str], how: str) -> None:
    name, path = at
    table = TABLES[name]
    lacking = without(table, path) if how == "gone" else changed(table, path, None if how == "null" else math.nan)
    before = both(rule, table)
    try:
        after = both(rule, lacking)
    except ScoringError:
        return  # no score is no improvement
    never_better(before["this"], after["this"])
    assert costs(before["other"]) == costs(after["other"])


@some
@given(st.sampled_from([path for name, path in ANSWERS if name == "by system" and "inference_efficiency." not in path]))
def test_nothing_left_out_improves_a_model_on_its_own(path: str) -> None:
    # Only other models' tables state the timed systems; the release states the number of runs.
    before = scored(FIVE, {"this": BY_SYSTEM}, corrected=True)["this"]
    try:
        after = scored(FIVE, {"this": without(BY_SYSTEM, path)}, corrected=True)["this"]
    except ScoringError:
        return
    never_better(before, after)


@few
@given(st.floats(0, 1), st.floats(0, 1))
def test_more_failed_runs_never_improve(rate: float, other_rate: float) -> None:
    rates = sorted((rate, other_rate), reverse=True)
    more, fewer = (changed(GENERAL, f"{USE}.nve_md.success_rate", r) for r in rates)
    scores = scored(FIVE, {"more": more, "fewer": fewer}, corrected=True)
    never_better(scores["more"], scores["fewer"])


@few
@given(st.lists(st.tuples(st.sampled_from(ERRORS), st.floats(0, 1e4)), max_size=4))
def test_corrected_scores_stay_in_their_range(changes: list[tuple[tuple[str, str], float]]) -> None:
    table = BY_SYSTEM
    for (name, path), factor in changes:
        if name == "by system":
            least = 1e-9 if "time" in path else 0.0
            table = changed(table, path, max(number_at(table, path) * factor, least))
    scores = scored(FIVE, {"this": table}, corrected=True)["this"]
    for term in (scores.scores["force_field"], scores.scores["property_error"]):
        assert all(0.0 <= below.value <= 1.0 for _, below in term.walk() if below.value is not None)
    assert scores.scores["force_field"].value is not None
    assert scores.scores["force_field"].value >= 1e-3  # the floor
    assert all(term.value is not None and 0.0 <= term.value <= 5.0 for term in scores.instability.values())
    assert scores.scores["efficiency"].value is not None
    assert scores.scores["efficiency"].value > 0


def turned(content: object) -> object:
    """The same with the order of all names reversed."""
    if isinstance(content, dict):
        return {name: turned(value) for name, value in reversed(content.items())}
    return content[::-1] if isinstance(content, list) else content


@few
@given(st.sampled_from(RULES), st.lists(st.sampled_from(ANSWERS), max_size=3), st.booleans())
def test_order_of_models_tasks_and_columns_does_not_matter(
    rule: str, gone: list[tuple[str, str]], corrected: bool
) -> None:
    lacking = GENERAL
    for _, path in gone:
        if path.startswith((FF, PC)) and path in set(paths(lacking)):
            lacking = without(lacking, path)
    config, raw = changed(FIVE, "pc.missing_domain_rule", rule), {"a": GENERAL, "b": lacking, "c": BY_SYSTEM}
    other_config, other_raw = turned(config), turned(raw)
    assert isinstance(other_config, dict)
    scores, turned_scores = (
        scored(config, raw, corrected=corrected),
        scored(other_config, other_raw, corrected=corrected),
    )
    for name in raw:
        assert costs(scores[name]) == costs(turned_scores[name])
