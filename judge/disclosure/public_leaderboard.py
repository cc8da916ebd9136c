"""The leaderboard as anybody may read it: public results (`redaction`), and scores that tell of no single run."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import is_
from typing import TypeVar

from judge.disclosure.public_curves import is_hidden
from judge.disclosure.redaction import (
    EFFICIENCY,
    SCORE_DIGITS,
    TIME_DIGITS,
    cut,
    public_result,
    public_submission,
    rounded,
)
from judge.ranking.leaderboard import Firmness, Leaderboard, MetricLine, OtherScores, Row, Scores, ScoreTrees, TaskLine
from judge.records.records import Result
from scoring import Evidence, Node, Term
from scoring.intervals import Interval, Uncertainty
from scoring.robustness import LeftOut
from scoring.tree import AsItIs, Float, Leaf, Scale, score
from tasks.kind import ScoreFamily
from tasks.suites.suite import Task

Part = TypeVar("Part", Node, Term)
ALL_RUNS = "mean over the runs of a hidden data set, which are not shown one by one"


def public_board(board: Leaderboard, public: Collection[str]) -> Leaderboard:
    """The leaderboard as anybody may read it.

    Args:
        public: names of the data sets that are public; every other one is hidden.
    """
    hidden = [task for task in board.suite.tasks if task.dataset not in public]
    runs = hidden_runs(board.rows, hidden)
    return replace(
        board,
        rows=tuple(_public_row(row, public, runs) for row in board.rows),
        firmness=_public_firmness(board.firmness, runs),
        problems=(),
        taken_out=tuple(replace(one, submission=public_submission(one.submission)) for one in board.taken_out),
    )


def hidden_runs(rows: Iterable[Row], hidden: Iterable[Task]) -> dict[str, str]:
    """By run of a hidden task of dynamics, that task: each run is of one structure, and is not shown by itself."""
    prefixes = {f"{task.name}: ": task.name for task in hidden if task.traits.score is ScoreFamily.INSTABILITY}
    if not prefixes:
        return {}
    trees = (tree for row in rows for of in (row.scores, row.as_published) for tree in of.instability.values())
    names = {term.name for tree in trees for _, term in tree.walk()}
    return {name: task for prefix, task in prefixes.items() for name in sorted(names) if name.startswith(prefix)}


def _public_row(row: Row, public: Collection[str], runs: Mapping[str, str]) -> Row:
    return replace(
        row,
        submission=public_submission(row.submission),
        scores=_public_scores(row.scores, runs),
        as_published=_public_scores(row.as_published, runs),
        # What intervals were computed from has the names of clusters, and is of no use any more.
        others=OtherScores(
            {name: _public_term(term) for name, term in row.others.corrected.items()},
            {name: _public_term(term) for name, term in row.others.as_published.items()},
        ),
        tasks=tuple(_public_line(line, public) for line in row.tasks),
        trees=ScoreTrees(
            {name: public_tree(name, tree, runs) for name, tree in row.trees.corrected.items()},
            {name: public_tree(name, tree, runs) for name, tree in row.trees.as_published.items()},
        ),
    )


def public_tree(name: str, tree: Node, runs: Mapping[str, str]) -> Node:
    """What a score is reckoned from, as anybody may read it: a score made of it differs in what is cut.

    Args:
        name: of the score: times are cut further.
        runs: see `hidden_runs`; of a task of them one leaf is left, with their mean.
    """
    digits = TIME_DIGITS if name == EFFICIENCY else SCORE_DIGITS
    return _cut_leaves(_with_runs_as_one(tree, runs), digits)


def _cut_leaves(node: Node, digits: int) -> Node:
    """Written out, as `_public_term` is: there are a hundred thousand nodes, and `replace` takes twice as long."""
    leaf = node.leaf
    return Node(
        name=node.name,
        rule=node.rule,
        weight=node.weight,
        parts=tuple([_cut_leaves(part, digits) for part in node.parts]) if leaf is None else node.parts,
        how=node.how,
        absent=node.absent,
        leaf=leaf and Leaf(_cut_evidence(leaf.evidence, digits), _cut_scale(leaf.normalise), leaf.left_out),
        unit=node.unit,
        pool=node.pool,
        decimals=node.decimals,
        source=node.source,
    )


def _cut_evidence(of: Evidence, digits: int) -> Evidence:
    value, uncharged = cut(of.value, digits), cut(of.uncharged, digits)
    return Evidence(of.task, of.metric, value, of.unit, of.facts, of.n_items, of.n_failed, uncharged)


@lru_cache(maxsize=10_000)  # models that are asked the same share nearly all
def _cut_scale(scale: Callable[[Float], Float]) -> Callable[[Float], Float]:
    """The scale with its numbers cut: a baseline is the trivial model's error, which tells of the labels."""
    if not isinstance(scale, Scale):
        return scale
    numbers = {name: cut(value) for name, value in scale.numbers().items() if type(value) is float}
    return replace(scale, **numbers)


def _with_runs_as_one(node: Node, runs: Mapping[str, str]) -> Node:
    """The node with one leaf for all `runs` of a task, where its first one was; itself where none is below it."""
    if runs.keys().isdisjoint([part.name for part in node.parts]):
        parts = [_with_runs_as_one(part, runs) for part in node.parts] if runs else list(node.parts)
        return node if all(map(is_, parts, node.parts)) else replace(node, parts=tuple(parts))
    return replace(node, parts=_joined(node.parts, runs, _with_runs_as_one, lambda task, of: _one_leaf(task, of, node)))


def _one_leaf(task: str, runs: Sequence[Node], above: Node) -> Node:
    """Their mean, with the weight of those that were not left out; left out itself where all were."""
    there = [run for run in runs if not (run.leaf and run.leaf.left_out)]
    value = float(score(replace(above, parts=tuple(there)))) if there else math.nan
    evidence = Evidence(task, "instability", None if math.isnan(value) else value)
    leaf = Leaf(evidence, AsItIs(), left_out=not there)
    return Node(task, ALL_RUNS, sum(run.weight for run in there or runs), leaf=leaf, unit=task)


def _public_line(line: TaskLine, public: Collection[str]) -> TaskLine:
    if line.result is None:
        return line
    result = public_result(line.result, hidden=is_hidden(line, public))
    return replace(line, result=result, metrics=tuple(_public_metric(each, result) for each in line.metrics))


def _public_metric(line: MetricLine, result: Result) -> MetricLine:
    return MetricLine(line.name, result.metrics[line.name], cut(line.normalised))


def _public_scores(scores: Scores, runs: Mapping[str, str]) -> Scores:
    return Scores(
        _public_term(scores.force_field),
        _public_term(scores.property_error),
        _with_public_evidence(_public_term(scores.efficiency, TIME_DIGITS)),
        {at: _public_term(_without_runs(tree, runs)) for at, tree in scores.instability.items()},
    )


def _public_term(term: Term, digits: int = SCORE_DIGITS) -> Term:
    return Term(
        name=term.name,
        value=cut(term.value, digits),
        rule=term.rule,
        covered=term.covered,
        total=term.total,
        weight=term.weight,
        counted=cut(term.counted, digits),
        at_worst=cut(term.at_worst, digits),
        at_best=cut(term.at_best, digits),
        evidence=term.evidence,
        source=term.source,
        parts=tuple([_public_term(part, digits) for part in term.parts]),
    )


def _with_public_evidence(term: Term) -> Term:
    """The tree with the times at its ends cut."""
    own = term.evidence and _cut_evidence(term.evidence, TIME_DIGITS)
    return replace(term, evidence=own, parts=tuple(_with_public_evidence(part) for part in term.parts))


def _without_runs(term: Term, runs: Mapping[str, str]) -> Term:
    """The tree with one term for all `runs` of a task, where its first one was."""
    return replace(term, parts=_joined(term.parts, runs, _without_runs, _all_runs)) if term.parts else term


def _joined(
    parts: Sequence[Part],
    runs: Mapping[str, str],
    below: Callable[[Part, Mapping[str, str]], Part],
    one: Callable[[str, list[Part]], Part],
) -> tuple[Part, ...]:
    """The parts with `one` for all runs of a task, where its first one was; every other as `below` makes it."""
    of: dict[str, list[Part]] = {}
    for part in parts:
        of.setdefault(runs.get(part.name, ""), []).append(part)
    found = []
    for part in parts:
        task = runs.get(part.name)
        if task is None:
            found.append(below(part, runs))
        elif part is of[task][0]:
            found.append(one(task, of[task]))
    return tuple(found)


def _all_runs(task: str, runs: list[Term]) -> Term:
    weight = sum(run.weight for run in runs)
    worth = [(run.weight, run.value if run.value is not None else run.counted) for run in runs]
    mean = sum(w * v for w, v in worth if w and v is not None) / weight if weight else None
    measured = any(run.value is not None for run in runs)
    return Term(
        task,
        mean if measured else None,
        ALL_RUNS,
        sum(run.covered for run in runs),
        sum(run.total for run in runs),
        weight,
        counted=None if measured else mean,
    )


def _public_firmness(firmness: Firmness, runs: Mapping[str, str]) -> Firmness:
    """Without the runs of hidden tasks, and with times as they are shown."""
    return Firmness(
        {
            score: {key: _public_intervals(of, runs, of_times=score == EFFICIENCY) for key, of in found.items()}
            for score, found in firmness.intervals.items()
        },
        firmness.weights,
        {
            score: {key: _public_units(of, runs) for key, of in found.items()}
            for score, found in firmness.without.items()
        },
    )


def _public_intervals(of: Uncertainty, runs: Mapping[str, str], of_times: bool) -> Uncertainty:
    digits = TIME_DIGITS if of_times else SCORE_DIGITS

    def shown(interval: Interval) -> Interval:
        return Interval(rounded(interval.low, digits), rounded(interval.high, digits), interval.level, interval.n_held)

    return replace(
        of,
        value=rounded(of.value, digits),
        score=shown(of.score),
        nodes={path: shown(each) for path, each in of.nodes.items() if runs.keys().isdisjoint(path)},
        metrics={key: shown(each) for key, each in of.metrics.items() if key[0] not in runs},
    )


def _public_units(of: LeftOut, runs: Mapping[str, str]) -> LeftOut:
    without = {unit: rank for unit, rank in of.without.items() if unit not in runs}
    return replace(of, without=without, decisive=tuple(unit for unit in of.decisive if unit not in runs))
