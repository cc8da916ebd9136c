"""The leaderboard as anybody may read it: public results (`redaction`), and scores that tell of no single run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from judge.disclosure.public_curves import is_hidden
from judge.disclosure.redaction import cut, public_result, public_submission, rounded, score_digits
from judge.ranking.leaderboard import Firmness, Leaderboard, Row, TaskLine
from scoring import Node, RawMetric, Term
from scoring.intervals import Interval, Uncertainty
from scoring.names import INSTABILITY
from scoring.robustness import LeftOut
from scoring.tree import AsItIs, Leaf, Scale
from tasks.kind import ScoreFamily
from tasks.suites.suite import Task

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
    """By run of a hidden task of dynamics, that task: each run is of one structure, and is not shown alone."""
    prefixes = {f"{task.name}: ": task.name for task in hidden if task.traits.score is ScoreFamily.INSTABILITY}
    if not prefixes:
        return {}
    terms = (scores[INSTABILITY] for row in rows for scores in (row.scores, row.as_published))
    names = {leaf.raw.task for term in terms for leaf in term.node.leaves}
    return {name: task for prefix, task in prefixes.items() for name in sorted(names) if name.startswith(prefix)}


def _public_row(row: Row, public: Collection[str], runs: Mapping[str, str]) -> Row:
    return replace(
        row,
        submission=public_submission(row.submission),
        scores={key: public_term(key, term, runs) for key, term in row.scores.items()},
        as_published={key: public_term(key, term, runs) for key, term in row.as_published.items()},
        tasks=tuple(_public_line(line, public) for line in row.tasks),
    )


def public_term(key: str, term: Term, runs: Mapping[str, str]) -> Term:
    """A score as anybody may read it: numbers with fewer digits, and the runs of a hidden task as one.

    A score that is computed again from its leaves differs from its value in the digits that are cut.

    Args:
        key: of the score: times have fewer digits.
        runs: see `hidden_runs`.
    """
    return _public_term(term, score_digits(key), runs)


def _public_term(term: Term, digits: int, runs: Mapping[str, str]) -> Term:
    """Node and term are written out: a board has a hundred thousand, and `replace` takes twice as long."""
    node, below = term.node, term.parts
    if not runs.keys().isdisjoint([part.name for part in below]):
        below = tuple(_with_runs_as_one(term, runs))
    parts = tuple([_public_term(part, digits, runs) for part in below])
    return Term(
        node=Node(
            name=node.name,
            rule=node.rule,
            weight=node.weight,
            parts=tuple([part.node for part in parts]),
            how=node.how,
            absent=node.absent,
            leaf=node.leaf and _public_leaf(node.leaf, digits),
            unit=node.unit,
            pool=node.pool,
            decimals=node.decimals,
            source=node.source,
        ),
        value=cut(term.value, digits),
        covered=term.covered,
        total=term.total,
        share=term.share,
        counted=cut(term.counted, digits),
        at_worst=cut(term.at_worst, digits),
        at_best=cut(term.at_best, digits),
        parts=parts,
    )


def _public_leaf(leaf: Leaf, digits: int) -> Leaf:
    task, metric, value, unit, facts, n_items, n_failed, uncharged = leaf.raw
    raw = RawMetric(task, metric, cut(value, digits), unit, facts, n_items, n_failed, cut(uncharged, digits))
    return Leaf(raw, _public_scale(leaf.scale), leaf.left_out)


@lru_cache(maxsize=10_000)  # models that are asked the same share nearly all
def _public_scale(scale: Scale) -> Scale:
    """The scale with fewer digits: a baseline is the trivial model's error, which tells of the labels."""
    numbers = {name: cut(value) for name, value in scale.numbers().items() if type(value) is float}
    return replace(scale, **numbers)


def _with_runs_as_one(term: Term, runs: Mapping[str, str]) -> Iterator[Term]:
    """The parts of a term with one part in place of all runs of a hidden task, where the first of them was."""
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
    """The mean of the runs that were not left out, with their weight; left out itself if all were."""
    kept = [run for run in runs if not run.node.leaves_out]
    share = sum(run.share for run in runs)
    value = None
    if any(run.value is not None for run in kept):
        worths = [(run.share, absent if run.value is None else run.value) for run in kept]
        value = sum(share * worth for share, worth in worths if worth is not None) / share
    leaf = Leaf(RawMetric(task, INSTABILITY, value), AsItIs(), left_out=not kept)
    node = Node(task, ALL_RUNS, sum(run.node.weight for run in kept or runs), leaf=leaf, unit=task)
    counted = absent if kept and value is None else None
    return Term(node, value, sum(run.covered for run in runs), sum(run.total for run in runs), share, counted)


def _public_line(line: TaskLine, public: Collection[str]) -> TaskLine:
    if line.result is None:
        return line
    return replace(line, result=public_result(line.result, hidden=is_hidden(line, public)))


def _public_firmness(firmness: Firmness, runs: Mapping[str, str]) -> Firmness:
    """Without the runs of hidden tasks, and with times as they are shown."""
    return Firmness(
        {
            score: {key: _public_intervals(of, runs, score_digits(score)) for key, of in found.items()}
            for score, found in firmness.intervals.items()
        },
        firmness.weights,
        {
            score: {key: _public_units(of, runs) for key, of in found.items()}
            for score, found in firmness.without.items()
        },
    )


def _public_intervals(of: Uncertainty, runs: Mapping[str, str], digits: int) -> Uncertainty:
    def shown(interval: Interval) -> Interval:
        return Interval(rounded(interval.low, digits), rounded(interval.high, digits), interval.n_held)

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
