"""Scores of ML-PEG and MLIPAudit from stored results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from judge.ranking.other_schemes import other_trees
from judge.ranking.score_inputs import Judged
from judge.ranking.score_trees import ScoreTrees, corrected_terms, published_terms
from judge.records.records import Result
from scoring import Term, load_release
from scoring.clusters import ClusterSums
from submissions.records import Submission
from tasks.metrics.measurement import Items
from tasks.suites.suite import Suite
from tests.world.board_records import (
    SUITE,
    submission,
)

A, B = submission("alpha"), submission("beta")
TASKS = {t.name: t for t in SUITE.tasks}


class Scored(NamedTuple):
    """The scores of a submission, and sums by cluster."""

    corrected: Mapping[str, Term]
    as_published: Mapping[str, Term]
    stats: tuple[ClusterSums, ...]


NOTHING = Scored({}, {}, ())


def scores_of(trees: Mapping[str, ScoreTrees]) -> dict[str, Scored]:
    corrected, as_published = corrected_terms(trees), published_terms(trees)
    return {id: Scored(corrected[id], as_published[id], scores.stats) for id, scores in trees.items()}


def scored(
    suite: Suite, models: Sequence[Submission], results: Sequence[Result], items: Mapping[str, Items] | None = None
) -> tuple[dict[str, Scored], list[str]]:
    """By submission, and the problems; items by task."""
    judged = Judged(suite, {(r.submission, r.task): r for r in results}, lambda r: (items or {}).get(r.task), [])
    return scores_of(other_trees(judged, models, load_release())), judged.problems


def below(term: Term, *path: str) -> Term:
    for name in path:
        part = term.part(name)
        assert part is not None, (name, [p.name for p in term.parts])
        term = part
    return term
