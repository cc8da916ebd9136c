"""Keeps the scores of single submissions from one build of the site to the next.

The trees of a submission follow from its own results and, of the other submissions, from the few facts in
`KeptScores._asked`: which metrics a task has, and what they are divided by. An entry is found by the sha256 of all of
these, so a submission is scored again only if one of them changed. Only LAMBench's published property error depends on
more: a domain without any answer of one model is dropped for all. So it is not kept.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple

from judge.ranking.interval_cache import IntervalCache, key_of
from judge.ranking.score_inputs import Judged, is_usable
from judge.ranking.score_trees import ScoreTrees
from judge.records.items_file import items_path, result_path
from judge.records.records import Result
from scoring import Term
from scoring.clusters import ClusterSums
from scoring.names import PROPERTY_ERROR
from submissions.records import Submission


class Scores(NamedTuple):
    """The scores of one submission by key, in both variants.

    Args:
        as_published: None for the property error.
        stats: see `ScoreTrees`.
    """

    corrected: Mapping[str, Term]
    as_published: Mapping[str, Term | None]
    stats: tuple[ClusterSums, ...]

    @classmethod
    def of(cls, corrected: Mapping[str, Term], as_published: Mapping[str, Term], trees: ScoreTrees) -> Scores:
        kept = {key: None if key == PROPERTY_ERROR else term for key, term in as_published.items()}
        return cls(dict(corrected), kept, trees.stats)

    @property
    def trees(self) -> ScoreTrees:
        """The trees that were evaluated."""
        return ScoreTrees(
            {key: term.node for key, term in self.corrected.items()},
            {key: term.node for key, term in self.as_published.items() if term is not None},
            self.stats,
        )

    def published(self, property_error: Term) -> dict[str, Term]:
        """The scores as published, with the one that is not kept, in their order."""
        return {key: property_error if term is None else term for key, term in self.as_published.items()}


@dataclass(frozen=True)
class KeptScores:
    """The scores of the last build. They are plain objects of this code, in a file that only the judge's user reads.

    Args:
        cache: of this version of the code.
    """

    judged: Judged
    cache: IntervalCache

    def key(self, submission: Submission) -> str:
        """The key of the scores of a submission; empty if a result or a table may change and keep its stamp."""
        judged, stamps, made_from = self.judged, self.cache.stamps, []
        for task in judged.suite.tasks:
            result = judged.results.get((submission.id, task.name))
            if result is not None:
                paths = [result_path(result.submission, result.task, result.result_key)]
                if result.provenance.observation is not None:
                    paths.append(items_path(result.submission, result.task, result.result_key))
                if any(path not in stamps for path in paths):
                    return ""
                made_from += [f"{path} {stamps[path]}" for path in paths]
            made_from.append(self._asked_of(task.name, result))
        return key_of("scores", self._suite, submission.model_dump_json(), made_from)

    def get(self, key: str) -> Scores | None:
        """The scores under that key; None if there are none."""
        entry = self.cache.get(key) if key else b""
        return pickle.loads(entry) if entry else None

    def put(self, key: str, scores: Scores) -> None:
        """Adds scores."""
        if key:
            self.cache.put(key, pickle.dumps(scores, pickle.HIGHEST_PROTOCOL))

    @cached_property
    def _suite(self) -> str:
        return sha256(str(self.judged.suite).encode()).hexdigest()

    def _asked_of(self, task: str, result: Result | None) -> str:
        """The sha256 of what the scores of a submission take from the results of others in a task."""
        group = task, None if result is None else result.label_set
        if group not in self._asked:
            self._asked[group] = self._facts_of(task, "" if result is None else result.submission)
        return self._asked[group]

    def _facts_of(self, task: str, submission: str) -> str:
        """The facts: how many items, the metrics of all comparable results, and the first baseline of each."""
        names: set[str] = set()
        baselines: dict[str, tuple[str, str, float | None, str]] = {}
        for other in sorted(self.judged.comparable(submission, task), key=lambda other: other.submission):
            names.update(other.metrics)
            for name, metric in other.metrics.items():
                if name not in baselines and is_usable(metric.baseline):
                    baselines[name] = (name, metric.unit, metric.baseline, other.label_set)
        return key_of(self.judged.n_items(task), sorted(names), sorted(baselines.values()))

    @cached_property
    def _asked(self) -> dict[tuple[str, str | None], str]:
        return {}
