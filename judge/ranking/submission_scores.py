"""The scores of all submissions. Those of the same records as in the last build are not computed again."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

from judge.ranking.interval_cache import IntervalCache, key_of
from judge.ranking.kept_terms import KeptTerms, Terms
from judge.ranking.lambench_scores import PublishedScores, corrected_trees, dropped_for_all
from judge.ranking.other_schemes import OtherSchemes
from judge.ranking.score_inputs import Judged
from judge.ranking.score_keys import ScoreKeys
from judge.ranking.score_trees import OwnClusters, ScoredTree, ScoreTrees, TreeShape, corrected_terms, published_terms
from scoring import Release, ScoringError
from submissions.records import Submission


class SubmissionScores(NamedTuple):
    """The scores of a submission by key.

    Args:
        trees: the trees of the corrected scores.
        clusters: of metrics that only the trees contain.
        made_from: as in `judge.ranking.leaderboard.Row`.
    """

    corrected: Terms
    as_published: Terms
    trees: Mapping[str, ScoredTree]
    clusters: OwnClusters
    made_from: str


@dataclass(frozen=True)
class Scorer:
    """Scores submissions. What made a line in `judged.problems` is not kept, so that the next build has the line, too.

    Args:
        published: the published release.
        compared: submissions whose missing domains are not dropped for the others.
        cache: of scores; it is closed by the caller.
        faults: by submission, why it cannot be scored; filled by `scores`.
    """

    judged: Judged
    submissions: Mapping[str, Submission]
    release: Release
    published: Release
    compared: Collection[str]
    cache: IntervalCache
    faults: dict[str, str] = field(default_factory=dict)

    def scores(self) -> dict[str, SubmissionScores]:
        """The scores by submission, without those that cannot be scored.

        Raises:
            ScoringError: see `other_trees`.
        """
        while True:
            n_faults, lacking = len(self.faults), {id: self._lacking(id) for id in self._scored()}
            counted = {id: domains for id, domains in lacking.items() if domains and id not in self.compared}
            scores = self._with_dropped(dropped_for_all(counted, self.published))
            if len(self.faults) == n_faults:
                return scores

    def _scored(self) -> list[str]:
        return [id for id in self.submissions if id not in self.faults]

    def _lacking(self, id: str) -> list[str]:
        """The domains in which a submission has no answer: see `PublishedScores.lacking`."""
        key = self._own[id] and key_of("lacking", self._own[id])
        entry = key and self.cache.get(key)
        if entry:
            domains: list[str] = json.loads(entry)
            return domains
        n_problems = len(self.judged.problems)
        try:
            domains = self._reader.lacking(id)
        except ScoringError as error:
            self.faults[id] = str(error)
            return []
        if key and len(self.judged.problems) == n_problems:
            self.cache.put(key, json.dumps(domains).encode())
        return domains

    def _with_dropped(self, dropped: Mapping[str, str]) -> dict[str, SubmissionScores]:
        """The scores without these domains."""
        scores: dict[str, SubmissionScores] = {}
        trees: dict[str, ScoreTrees] = {}
        kept: set[str] = set()
        for id in self._scored():
            n_problems = len(self.judged.problems)
            if known := self._known(id, self._made_from(id, dropped)):
                scores[id] = known
                continue
            try:
                lambench = ScoreTrees(corrected_trees(self.judged, id, self.release), self._reader.trees(id, dropped))
            except ScoringError as error:
                self.faults[id] = str(error)
                continue
            trees[id] = lambench | self._others.trees(self.submissions[id])
            if len(self.judged.problems) == n_problems:
                kept.add(id)
        corrected, as_published = corrected_terms(trees), published_terms(trees)
        for id, each in trees.items():
            scored = {key: ScoredTree.of(tree) for key, tree in each.corrected.items()}
            own, made_from = OwnClusters.of(each.stats), self._made_from(id, dropped)
            scores[id] = SubmissionScores(corrected[id], as_published[id], scored, own, made_from)
            if made_from and id in kept:
                self._keep(scores[id])
        return {id: scores[id] for id in self.submissions if id in scores}

    def _made_from(self, id: str, dropped: Mapping[str, str]) -> str:
        own = self._own[id]
        return own and key_of("scores", own, sorted(dropped.items()))

    def _known(self, id: str, made_from: str) -> SubmissionScores | None:
        """The scores of the last build; None if there are none."""
        entry = made_from and self.cache.get(made_from)
        if not entry:
            return None
        corrected, as_published = (self._terms.get(key) for key in _keys(made_from))
        digest, clusters, trees = json.loads(entry)
        names = [(task, self.cache.get(key)) for task, key in clusters]
        shapes = {key: self._shape(shape) for key, (_, shape) in trees.items()}
        if corrected is None or as_published is None or not all((*shapes.values(), *(known for _, known in names))):
            return None
        if self.judged.kept is not None:
            self.judged.kept.use(id)
        own = OwnClusters(digest, tuple(names), lambda: self._others.trees(self.submissions[id]).stats)
        scored = {
            key: ScoredTree(digest, shape, partial(getattr, corrected[key], "node"))
            for key, (digest, _) in trees.items()
            if (shape := shapes[key])
        }
        return SubmissionScores(corrected, as_published, scored, own, made_from)

    def _shape(self, key: str) -> TreeShape | None:
        """The shape under a key; None if there is none."""
        if key not in self._shapes:
            name, keys, has_units = json.loads(self.cache.get(key) or b'["", [], false]')
            self._shapes[key] = TreeShape(name, [tuple(each) for each in keys], has_units) if name else None
        return self._shapes[key]

    def _keep(self, scores: SubmissionScores) -> None:
        clusters, trees = [], {}
        for task, names in scores.clusters.names:
            clusters.append((task, key_of(names.decode())))
            self.cache.put(clusters[-1][1], names)
        for key, tree in scores.trees.items():
            plain = json.dumps(tree.shape)
            trees[key] = tree.digest, key_of("shape", plain)
            self.cache.put(trees[key][1], plain.encode())
        for key, terms in zip(_keys(scores.made_from), scores[:2], strict=True):
            self._terms.put(key, terms)
        self.cache.put(scores.made_from, json.dumps([scores.clusters.digest, clusters, trees]).encode())

    @cached_property
    def _own(self) -> Mapping[str, str]:
        keys = ScoreKeys(self.judged, self.cache.stamps, (self.release, self.published))
        return {id: keys.own(submission) for id, submission in self.submissions.items()}

    @cached_property
    def _shapes(self) -> dict[str, TreeShape | None]:
        return {}

    @cached_property
    def _terms(self) -> KeptTerms:
        return KeptTerms(self.cache)

    @cached_property
    def _reader(self) -> PublishedScores:
        return PublishedScores(self.judged, self.published, self.release)

    @cached_property
    def _others(self) -> OtherSchemes:
        return OtherSchemes(self.judged, self.release)


def _keys(made_from: str) -> tuple[str, str]:
    """The keys of the corrected terms and of those as published."""
    return key_of("corrected", made_from), key_of("as published", made_from)
