"""The same results, added up as ML-PEG and as MLIPAudit do it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from judge.answers import Judged
from judge.board import OtherScores
from judge.ml_peg_scores import ML_PEG as ML_PEG
from judge.ml_peg_scores import TRIVIAL_ERROR as TRIVIAL_ERROR
from judge.ml_peg_scores import ml_peg_scores
from judge.mlipaudit_scores import COMPATIBLE as COMPATIBLE
from judge.mlipaudit_scores import MLIPAUDIT as MLIPAUDIT
from judge.mlipaudit_scores import audit_facts, mlipaudit_scores
from scoring import Release, ScoringError
from submissions.records import Submission


def other_scores(judged: Judged, submissions: Sequence[Submission], release: Release) -> dict[str, OtherScores]:
    """ML-PEG's and MLIPAudit's scores of each submission, of the schemes that the suite has tasks for.

    ML-PEG's thresholds are published for its own test sets. Those of a suite state none, so good is an error of 0 and
    bad that of the trivial model. MLIPAudit's thresholds are of its benchmarks: a task states which it belongs to
    (`Task.mlipaudit`). What cannot be added up is left out, and said in `judged.problems`.

    Raises:
        ScoringError: a task names a benchmark that MLIPAudit does not have, or that is not measured here.
    """
    schemes: list[Callable[[Submission], OtherScores]] = [
        partial(ml_peg_scores, judged, release),
        partial(mlipaudit_scores, judged, audit_facts(judged.suite)),
    ]
    found = {}
    for submission in submissions:
        scores = OtherScores({}, {})
        for scheme in schemes:
            try:
                scores = scores.joined(scheme(submission))
            except ScoringError as error:
                judged.problems.append(f"results/{submission.id}: {error}")
        found[submission.id] = scores
    return found
