"""Laws of every score: its range, no gain by failing, and independence of the order."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from scoring import (
    AskedTask,
    MeasuredError,
    RankingEntry,
    Run,
    RunOutcome,
    Term,
    efficiency_tree,
    explain,
    force_field_tree,
    instability_tree,
    load_release,
    property_tree,
    ranking,
)
from tests.world.made_answers import answers_of

RULES = load_release("corrected")
DOMAINS = ("Catalysis", "Inorganic Materials", "Molecules")
LABELS = ("energy", "force", "virial")
ROUNDING = 1e-12

few = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])

Table = dict[str, dict[str, MeasuredError]]
errors = st.one_of(st.none(), st.floats(0, 1e6), st.sampled_from([0.0, math.inf, math.nan]))
baselines = st.floats(1e-3, 1e3)


@st.composite
def boards(draw: st.DrawFn, columns: tuple[str, ...] = LABELS) -> tuple[list[AskedTask], Table]:
    """Tasks, and one model's answers to some of their columns."""
    tasks, answers = [], {}
    for index in range(draw(st.integers(1, 6))):
        present = draw(st.lists(st.sampled_from(columns), min_size=1, unique=True))
        name = f"task {index}"
        tasks.append(AskedTask(name, draw(st.sampled_from(DOMAINS)), tuple(present)))
        answered = draw(st.lists(st.sampled_from(present), unique=True))
        answers[name] = {column: (draw(errors), draw(baselines)) for column in answered}
    return tasks, answers_of(answers)


def _both(tasks: list[AskedTask], answers: Table) -> list[Term]:
    return [
        explain(force_field_tree(tasks, answers, RULES.force_field)),
        explain(property_tree(tasks, answers, RULES.property_error)),
    ]


def _cost(value: float | None) -> float:
    return math.inf if value is None else value


@few
@given(boards())
def test_errors_stay_in_their_range(board: tuple[list[AskedTask], Table]) -> None:
    for score in _both(*board):
        for _, term in score.walk():
            assert term.value is None or 0.0 <= term.value <= 1.0
            assert (term.value is None) == (term.covered == 0)
            assert 0 <= term.covered <= term.total


@few
@given(boards(), st.data())
def test_improving_a_metric_never_worsens(board: tuple[list[AskedTask], Table], data: st.DataObject) -> None:
    tasks, answers = board
    cells = [(task, column) for task, row in answers.items() for column in row]
    assume(cells)  # few boards have none
    task, column = data.draw(st.sampled_from(cells))
    old = answers[task][column]
    worse = math.inf if old.raw.value is None or math.isnan(old.raw.value) else old.raw.value
    better = old._replace(raw=old.raw._replace(value=data.draw(st.floats(0, min(worse, 1e9)))))
    improved = {**answers, task: {**answers[task], column: better}}
    for before, after in zip(_both(tasks, answers), _both(tasks, improved), strict=True):
        assert _cost(after.value) <= _cost(before.value) + ROUNDING


@few
@given(boards(), st.data())
def test_failing_more_never_improves(board: tuple[list[AskedTask], Table], data: st.DataObject) -> None:
    tasks, answers = board
    cells = [(task, column) for task, row in answers.items() for column in row]
    assume(cells)
    task, column = data.draw(st.sampled_from(cells))
    skipped = {**answers, task: {c: e for c, e in answers[task].items() if c != column}}
    old = answers[task][column]
    nan = old._replace(raw=old.raw._replace(value=math.nan))
    with_nan = {**answers, task: {**answers[task], column: nan}}
    gone = {name: row for name, row in answers.items() if name != task}
    for failing in (skipped, with_nan, gone):
        for before, after in zip(_both(tasks, answers), _both(tasks, failing), strict=True):
            assert _cost(after.value) >= _cost(before.value) - ROUNDING


@few
@given(boards(), st.randoms(use_true_random=False))
def test_order_of_tasks_does_not_matter(board: tuple[list[AskedTask], Table], random: object) -> None:
    tasks, answers = board
    shuffled = list(tasks)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    turned = [replace(task, columns=task.columns[::-1]) for task in shuffled]
    for score, turned_score in zip(_both(tasks, answers), _both(turned, dict(reversed(answers.items()))), strict=True):
        assert score.value == turned_score.value


slopes = st.one_of(st.floats(-1e3, 1e3), st.sampled_from([0.0, math.inf, math.nan]))
runs = st.lists(st.builds(Run, st.uuids().map(str), st.sampled_from(RunOutcome), slopes), min_size=1, max_size=9)


@few
@given(runs, st.randoms(use_true_random=False))
def test_instability_stays_in_range_in_any_order(listed: list[Run], random: object) -> None:
    score = explain(instability_tree(listed, RULES.instability))
    turned = list(listed)
    random.shuffle(turned)  # type: ignore[attr-defined]
    assert score == explain(instability_tree(turned, RULES.instability))
    assert score.value is None or 0.0 <= score.value <= 5.0
    assert score.at_worst is None or _cost(score.value) <= score.at_worst <= 5.0
    assert score.covered == sum(run.outcome in (RunOutcome.COMPLETED, RunOutcome.FAILED) for run in listed)


@few
@given(runs, st.data())
def test_instability_of_a_failed_or_slow_run_never_improves(listed: list[Run], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(listed) - 1))
    listed[index] = listed[index]._replace(outcome=RunOutcome.COMPLETED)
    before = explain(instability_tree(listed, RULES.instability))
    for outcome in (RunOutcome.FAILED, RunOutcome.MISSING, RunOutcome.UNMEASURED):
        failing = [run._replace(outcome=outcome) if i == index else run for i, run in enumerate(listed)]
        after = explain(instability_tree(failing, RULES.instability))
        if outcome is not RunOutcome.UNMEASURED:
            assert _cost(after.value) >= _cost(before.value) - ROUNDING
        assert _order(after) >= _order(before) - ROUNDING


def _order(score: Term) -> float:
    """The sort key of a table."""
    return _cost(score.value if score.at_worst is None else score.at_worst)


@few
@given(st.dictionaries(st.text(max_size=3), st.one_of(st.none(), st.floats(1e-3, 1e6)), min_size=1), st.data())
def test_efficiency_never_gains_by_failing(times: dict[str, float | None], data: st.DataObject) -> None:
    before = explain(efficiency_tree(times, RULES.efficiency))
    name = data.draw(st.sampled_from(sorted(times)))
    after = explain(efficiency_tree({**times, name: None}, RULES.efficiency))
    assert (-1.0 if after.value is None else after.value) <= (-1.0 if before.value is None else before.value)
    time = times[name]
    if time is not None and before.value is not None:
        faster = explain(efficiency_tree({**times, name: time / 2}, RULES.efficiency))
        assert faster.value is not None
        assert faster.value >= before.value


scores = st.one_of(st.none(), st.floats(0, 1), st.just(math.nan))


def _has_no_score(entry: RankingEntry) -> bool:
    return all(score is None or math.isnan(score) for score in (entry.force_field_error, entry.property_error))


@few
@given(st.lists(st.tuples(st.booleans(), scores, scores), max_size=8), st.randoms(use_true_random=False))
def test_ranking_does_not_depend_on_order(rows: list[tuple[bool, float | None, float | None]], random: object) -> None:
    entries = [RankingEntry(f"model {i}", *row) for i, row in enumerate(rows)]
    turned = list(entries)
    random.shuffle(turned)  # type: ignore[attr-defined]
    placed = ranking(entries)
    assert placed == ranking(turned)
    assert {p.key for p in placed if p.rank is None} == {e.key for e in entries if not e.complete or _has_no_score(e)}
    ranks = [p.rank for p in placed if p.rank is not None]
    assert ranks == sorted(ranks)
    assert not ranks or ranks[0] == 1
