"""The public leaderboard: public results (`redaction`), and scores that reveal no single run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial

from judge.disclosure.public_curves import is_hidden
from judge.disclosure.public_learning import public_learned
from judge.disclosure.redaction import cut, public_result, public_submission, rounded, score_digits
from judge.ranking.interval_cache import IntervalCache, key_of
from judge.ranking.kept_terms import KeptTerms, Terms
from judge.ranking.later import Later
from judge.ranking.leaderboard import Leaderboard, Robustness, Row, TaskLine
from judge.records.records import Result
from scoring import Node, RawMetric, Term
from scoring.intervals import Interval, Uncertainty
from scoring.names import INSTABILITY
from scoring.robustness import LeftOut
from scoring.tree import AsItIs, Leaf, Scale
from tasks.kind import ScoreFamily
from tasks.suites.suite import Task

HiddenRuns = Mapping[str, str]
"""The task of each run of a hidden task of dynamics, by run."""
ALL_RUNS = "mean over the runs of a hidden data set, which are not shown one by one"


def public_board(board: Leaderboard, public: Collection[str], cache: IntervalCache | None = None) -> Leaderboard:
    """The public leaderboard.

    Args:
        public: names of the public data sets; every other data set is hidden.
        cache: of public scores; it is closed by the caller.
    """
    hidden = [task for task in board.suite.tasks if task.dataset not in public]
    runs = hidden_runs(board.rows, hidden)
    kept = KeptTerms(cache) if cache else None
    return replace(
        board,
        rows=tuple(_public_row(row, public, runs, kept) for row in board.rows),
        robustness=_public_robustness(board.robustness, runs),
        problems=(),
        taken_out=tuple(replace(out, submission=public_submission(out.submission)) for out in board.taken_out),
    )


def hidden_runs(rows: Iterable[Row], hidden: Iterable[Task]) -> HiddenRuns:
    """The runs of the tasks in `hidden`. A run has one structure and is not shown alone."""
    prefixes = {f"{task.name}: ": task.name for task in hidden if task.traits.score is ScoreFamily.INSTABILITY}
    if not prefixes:
        return {}
    terms = (scores[INSTABILITY] for row in rows for scores in (row.scores, row.as_published))
    names = {leaf.raw.task for term in terms for leaf in term.node.leaves}
    return {name: task for prefix, task in prefixes.items() for name in sorted(names) if name.startswith(prefix)}


def _public_row(row: Row, public: Collection[str], runs: HiddenRuns, kept: KeptTerms | None) -> Row:
    return replace(
        row,
        submission=public_submission(row.submission),
        scores=_public_terms(row, row.scores, "corrected", runs, kept),
        as_published=_public_terms(row, row.as_published, "as published", runs, kept),
        tasks=tuple(_public_line(line, public) for line in row.tasks),
    )


def _public_terms(row: Row, terms: Terms, variant: str, runs: HiddenRuns, kept: KeptTerms | None) -> Terms:
    """The public scores of a row. They follow from the stored ones, whose key is `Row.made_from`, and from `runs`."""
    shown = Later(terms, lambda key: public_term(key, terms[key], runs))
    if kept is None or not row.made_from:
        return shown
    key = key_of("public scores", variant, row.made_from, sorted(runs.items()))
    known = kept.get(key)
    if known is None:
        kept.put(key, shown)
    return known or shown


def public_term(key: str, term: Term, runs: HiddenRuns) -> Term:
    """A public score: numbers have fewer digits, and all runs of a hidden task are one part.

    A score that is computed again from its leaves differs from its value in the digits that were removed.

    Args:
        key: the key of the score; a score that is computed from times has fewer digits.
    """
    return _public_term(term, score_digits(key), runs)


def _public_term(term: Term, digits: int, runs: HiddenRuns) -> Term:
    """A public score. Terms are made without `replace`, which takes twice as long; a board has 100,000 of them."""
    node, parts = term.node, term.parts
    if parts:
        if not runs.keys().isdisjoint([part.name for part in parts]):
            parts = tuple(_with_runs_as_one(term, runs))
        parts = tuple([_public_term(part, digits, runs) for part in parts])
    public_node = Node(
        node.name,
        node.rule,
        node.weight,
        tuple([part.node for part in parts]),
        node.how,
        node.absent,
        node.leaf and _public_leaf(node.leaf, digits),
        node.unit,
        node.pool,
        node.decimals,
        node.source,
    )
    counted, at_worst, at_best = cut(term.counted, digits), cut(term.at_worst, digits), cut(term.at_best, digits)
    value = cut(term.value, digits)
    return Term(public_node, value, term.covered, term.total, term.share, counted, at_worst, at_best, parts)


def _public_leaf(leaf: Leaf, digits: int) -> Leaf:
    task, metric, value, unit, facts, n_items, n_failed, uncharged = leaf.raw
    raw = RawMetric(task, metric, cut(value, digits), unit, facts, n_items, n_failed, cut(uncharged, digits))
    return Leaf(raw, _public_scale(leaf.scale), leaf.left_out)


@lru_cache(maxsize=10_000)  # models with the same tasks share nearly all scales
def _public_scale(scale: Scale) -> Scale:
    """The scale with fewer digits: a baseline is the error of the trivial model and depends on the labels."""
    numbers = {name: cut(value) for name, value in scale.numbers().items() if type(value) is float}
    return replace(scale, **numbers)


def _with_runs_as_one(term: Term, runs: HiddenRuns) -> Iterator[Term]:
    """The parts of a term; one part stands for all runs of a hidden task, at the place of the first run."""
    of_task: dict[str, list[Term]] = {}
    for part in term.parts:
        of_task.setdefault(runs.get(part.name, ""), []).append(part)
    for part in term.parts:
        task = runs.get(part.name)
        if task is None:
            yield part
        elif part is of_task[task][0]:
            yield _one_run(task, of_task[task], term.node.absent)


def _one_run(task: str, runs: Sequence[Term], absent: float | None) -> Term:
    """The mean of the runs that were not left out, with their weight. If all were left out, this part is too."""
    kept = [run for run in runs if not run.node.leaves_out]
    share = sum(run.share for run in runs)
    value = None
    if any(run.value is not None for run in kept):
        weighted = [(run.share, absent if run.value is None else run.value) for run in kept]
        value = sum(weight * run_value for weight, run_value in weighted if run_value is not None) / share
    leaf = Leaf(RawMetric(task, INSTABILITY, value), AsItIs(), left_out=not kept)
    node = Node(task, ALL_RUNS, sum(run.node.weight for run in kept or runs), leaf=leaf, unit=task)
    counted = absent if kept and value is None else None
    return Term(node, value, sum(run.covered for run in runs), sum(run.total for run in runs), share, counted)


class PublicLine(TaskLine):
    """A line whose public result is made when it is first used: most pages show few results.

    Args:
        result: the public result.
        stored: the stored one, in place of `result`.
        hidden: whether its data set is hidden.
    """

    def __init__(
        self, task: Task, result: Result | None = None, stored: Result | None = None, *, hidden: bool = True
    ) -> None:
        self.__dict__["task"] = task  # not by name, since a line is frozen
        self.__dict__["_known"] = (result if stored is None else stored, hidden)
        if stored is None:
            self.__dict__["result"] = result

    @property
    def _stated(self) -> Result | None:
        stored: Result | None = self.__dict__["_known"][0]
        return stored

    @cached_property
    def result(self) -> Result | None:
        stored, hidden = self.__dict__["_known"]
        shown = public_result(stored, hidden=hidden)
        return public_learned(stored, shown, self.task) if hidden else shown


def _public_line(line: TaskLine, public: Collection[str]) -> TaskLine:
    return line if line.result is None else PublicLine(line.task, stored=line.result, hidden=is_hidden(line, public))


def _public_robustness(robustness: Robustness, runs: HiddenRuns) -> Robustness:
    """The uncertainties and rank ranges without runs of hidden tasks; numbers have the digits of public scores."""
    intervals = {
        score: Later(by_model, partial(_intervals_of, by_model, runs, score_digits(score)))
        for score, by_model in robustness.intervals.items()
    }
    without = {
        score: {model: _public_units(each, runs) for model, each in by_model.items()}
        for score, by_model in robustness.without.items()
    }
    return Robustness(intervals, robustness.weights, without, robustness.task_orders)


def _intervals_of(by_model: Mapping[str, Uncertainty], runs: HiddenRuns, digits: int, model: str) -> Uncertainty:
    return _public_intervals(by_model[model], runs, digits)


def _public_intervals(uncertainty: Uncertainty, runs: HiddenRuns, digits: int) -> Uncertainty:
    def rounded_interval(interval: Interval) -> Interval:
        return Interval(rounded(interval.low, digits), rounded(interval.high, digits), interval.n_held)

    return replace(
        uncertainty,
        value=rounded(uncertainty.value, digits),
        score=rounded_interval(uncertainty.score),
        with_unseen=rounded_interval(uncertainty.with_unseen),
        like_these=rounded_interval(uncertainty.like_these),
        nodes={path: rounded_interval(i) for path, i in uncertainty.nodes.items() if runs.keys().isdisjoint(path)},
        metrics={key: rounded_interval(i) for key, i in uncertainty.metrics.items() if key[0] not in runs},
        independent={key: n for key, n in uncertainty.independent.items() if key[0] not in runs},
    )


def _public_units(left_out: LeftOut, runs: HiddenRuns) -> LeftOut:
    without = {unit: rank for unit, rank in left_out.without.items() if unit not in runs}
    return replace(left_out, without=without, decisive=tuple(unit for unit in left_out.decisive if unit not in runs))
