"""The same results, added up as ML-PEG and as MLIPAudit do it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from judge.ranking.leaderboard import OtherScores
from judge.ranking.ml_peg_scores import ML_PEG as ML_PEG
from judge.ranking.ml_peg_scores import TRIVIAL_ERROR as TRIVIAL_ERROR
from judge.ranking.ml_peg_scores import MlPeg
from judge.ranking.mlipaudit_scores import COMPATIBLE as COMPATIBLE
from judge.ranking.mlipaudit_scores import MLIPAUDIT as MLIPAUDIT
from judge.ranking.mlipaudit_scores import audit_facts, audit_trees
from judge.ranking.scheme_trees import SchemeTrees
from judge.ranking.score_inputs import Judged
from scoring import Node, Release, ScoringError, Term
from scoring.explained_forest import explained_forest
from scoring.ml_peg import explained_with_best
from submissions.records import Submission


def other_scores(judged: Judged, submissions: Sequence[Submission], release: Release) -> dict[str, OtherScores]:
    """ML-PEG's and MLIPAudit's scores of each submission, of the schemes that the suite has tasks for.

    ML-PEG's thresholds are published for its own test sets. Those of a suite state none, so good is an error of 0 and
    bad that of the trivial model. MLIPAudit's thresholds are of its benchmarks: a task states which it belongs to
    (`Task.mlipaudit`). What cannot be added up is left out, and said in `judged.problems`.

    Raises:
        ScoringError: a task names a benchmark that MLIPAudit does not have, or that is not measured here.
    """
    schemes: list[Callable[[Submission], SchemeTrees]] = [
        MlPeg(judged, release).trees,
        partial(audit_trees, judged, audit_facts(judged.suite)),
    ]
    trees = {}
    for submission in submissions:
        own = SchemeTrees()
        for scheme in schemes:
            try:
                own = own.joined(scheme(submission))
            except ScoringError as error:
                judged.problems.append(f"results/{submission.id}: {error}")
        trees[submission.id] = own
    corrected = _terms({key: of.corrected for key, of in trees.items()}, {ML_PEG: explained_with_best})
    as_published = _terms({key: of.as_published for key, of in trees.items()})
    return {
        key: OtherScores(corrected[key], as_published[key], of.corrected, of.as_published, of.stats)
        for key, of in trees.items()
    }


def _terms(
    trees: Mapping[str, Mapping[str, Node]],
    explain: Mapping[str, Callable[[Mapping[str, Node]], dict[str, Term]]] = MappingProxyType({}),
) -> dict[str, dict[str, Term]]:
    """By submission and name of the score, its explanation; that of all submissions is made together.

    Args:
        explain: by name, in place of `explained_forest`.
    """
    found: dict[str, dict[str, Term]] = {key: {} for key in trees}
    for name in dict.fromkeys(name for own in trees.values() for name in own):
        of_name = {key: own[name] for key, own in trees.items() if name in own}
        for key, term in explain.get(name, explained_forest)(of_name).items():
            found[key][name] = term
    return found
