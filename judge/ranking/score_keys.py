"""Keys of the scores of single submissions: two builds of the site with equal keys have equal scores.

The scores of a submission follow from its own results and, of the other submissions, from the few facts in
`ScoreKeys._facts_of`: which metrics a task has, and what they are divided by. Only LAMBench's published property error
depends on more: a domain without any answer of one model is dropped for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from judge.ranking.interval_cache import key_of
from judge.ranking.score_inputs import Judged, is_usable
from judge.records.items_file import items_path, result_path
from judge.records.records import Result
from scoring import Release
from submissions.records import Submission


@dataclass(frozen=True)
class ScoreKeys:
    """The keys of scores.

    Args:
        stamps: by key in the store, the version of the bytes of results and items tables.
        releases: of the scoring.
    """

    judged: Judged
    stamps: Mapping[str, str]
    releases: tuple[Release, ...]

    def own(self, submission: Submission) -> str:
        """The key of the scores of a submission, except for the domains that are dropped for all; empty if a result or
        a table may change and keep its stamp.
        """
        made_from = []
        for task in self.judged.suite.tasks:
            result = self.judged.results.get((submission.id, task.name))
            if result is not None:
                paths = [result_path(result.submission, result.task, result.result_key)]
                if result.provenance.observation is not None:
                    paths.append(items_path(result.submission, result.task, result.result_key))
                if any(path not in self.stamps for path in paths):
                    return ""
                made_from += [f"{path} {self.stamps[path]}" for path in paths]
            made_from.append(self._asked_of(task.name, result))
        return key_of("own scores", self._rules, submission.model_dump_json(), made_from)

    @cached_property
    def _rules(self) -> str:
        return sha256(f"{self.judged.suite} {self.releases}".encode()).hexdigest()

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
