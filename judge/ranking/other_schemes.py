"""ML-PEG's and MLIPAudit's scores of the same results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from judge.ranking.ml_peg_scores import MlPeg
from judge.ranking.mlipaudit_scores import audit_facts, audit_trees
from judge.ranking.score_inputs import Judged
from judge.ranking.score_trees import ScoreTrees
from scoring import Release, ScoringError
from submissions.records import Submission


class OtherSchemes:
    """ML-PEG's and MLIPAudit's scores, of the schemes that the suite has tasks for.

    ML-PEG's published thresholds belong to its own test sets. The test sets of a suite have none, so good is an error
    of 0 and bad is the error of the trivial model. MLIPAudit's thresholds belong to its benchmarks: a task states its
    benchmark (`Task.mlipaudit`). A score that cannot be computed is left out, with a line in `judged.problems`.

    Raises:
        ScoringError: a task names a benchmark that MLIPAudit does not have, or that is not measured here.
    """

    def __init__(self, judged: Judged, release: Release) -> None:
        self._judged = judged
        self._schemes: list[Callable[[Submission], ScoreTrees]] = [
            MlPeg(judged, release).trees,
            partial(audit_trees, judged, audit_facts(judged.suite)),
        ]

    def trees(self, submission: Submission) -> ScoreTrees:
        """The trees of a submission."""
        trees = ScoreTrees()
        for scheme in self._schemes:
            try:
                trees |= scheme(submission)
            except ScoringError as error:
                self._judged.problems.append(f"results/{submission.id}: {error}")
        return trees


def other_trees(judged: Judged, submissions: Sequence[Submission], release: Release) -> dict[str, ScoreTrees]:
    """By submission, its trees by `OtherSchemes`."""
    schemes = OtherSchemes(judged, release)
    return {submission.id: schemes.trees(submission) for submission in submissions}
