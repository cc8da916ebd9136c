"""Leaderboard to `leaderboard.json`: what a reader's script, or anybody's, reckons scores and ranks from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from judge.disclosure.redaction import EFFICIENCY, public_score
from judge.ranking.leaderboard import Leaderboard, Row, TaskLine
from judge.ranking.other_schemes import COMPATIBLE, ML_PEG, MLIPAUDIT
from judge.ranking.references import ReferenceRow, reckoned_references
from judge.view.leaderboard_schema import (
    LeaderboardFile,
    ModelFile,
    Outcome,
    SchemeFile,
    ScoreFile,
    ScoreValues,
    TaskFile,
)
from judge.view.presets import presets_of
from judge.view.related_submissions import Submissions, team_of
from judge.view.score_display import LABELS, known, score_of, uncertainty_of
from judge.view.score_export import Shared, values_of
from judge.view.sources import Sources
from scoring import Term
from scoring.lambench.release import Release
from submissions.preflight.measured_properties import measured_conservative, measured_elements

LAMBENCH = "lambench"
VARIANTS = ("corrected", "as_published")
_LOWER = {"force_field": True, "property_error": True, "efficiency": False, "instability": True}
_OTHERS = {ML_PEG: "ML-PEG", MLIPAUDIT: "MLIPAudit", COMPATIBLE: "MLIPAudit, compatible benchmarks"}
_NOTHING = {(ML_PEG, "corrected"): 0.0}  # see `scoring.ml_peg.ml_peg_score`


def leaderboard_file(
    board: Leaderboard, sources: Sources, references: Sequence[ReferenceRow] | None = None
) -> LeaderboardFile:
    """The file of a board as anybody may read it (`judge.disclosure.public_leaderboard`).

    Args:
        references: those that nobody submitted; None: as `reckoned_references` has them.
    """
    references = reckoned_references(board) if references is None else references
    known = Submissions(board)
    schemes = tuple(scheme for variant in VARIANTS for scheme in _schemes(board, variant, references))
    return LeaderboardFile(
        suite=board.suite.name,
        suite_version=board.suite.version,
        title=board.suite.title,
        release=board.release.title,
        published=board.published.title,
        measured=board.measured,
        tasks=tuple(
            TaskFile(
                name=task.name,
                kind=task.kind,
                kind_label=task.traits.title,
                domain=task.domain,
                dataset=task.dataset,
                public_since=_public_since(task.dataset, sources),
                page=task_page(task.name),
            )
            for task in board.suite.tasks
        ),
        models=(
            *(_model(row, known) for row in board.rows),
            *(_reference_model(reference, len(board.suite.tasks)) for reference in references),
        ),
        schemes=schemes,
        presets=presets_of(schemes),
    )


def task_page(name: str) -> str:
    """Where the page of a task lies in the site."""
    return f"tasks/{name}.html"


def hardware_of(row: Row) -> str:
    """The classes of machine that a model was timed on; empty where it was not."""
    timed = [line.result for line in row.tasks if line.task.traits.times and line.ok and line.result]
    return "; ".join(sorted({result.provenance.origin.hardware for result in timed}))


def _public_since(dataset: str, sources: Sources) -> str:
    card = sources.cards.get(dataset)
    return card.public_since if card is not None and dataset in sources.public else ""


def _reference_model(reference: ReferenceRow, n_tasks: int) -> ModelFile:
    """A row that nobody submitted: nothing of it was judged."""
    return ModelFile(
        id=reference.id,
        name=reference.name,
        version="",
        page=reference.page,
        rank=None,
        isolated=True,  # there is nothing that did not run in a container
        reference=" ".join((reference.about, f"Source: {reference.source}." if reference.source else "")).strip(),
        outcomes=(Outcome(),) * n_tasks,
    )


def _model(row: Row, known: Submissions) -> ModelFile:
    submission, card = row.submission, row.submission.card
    elements = measured_elements(submission.preflight)
    return ModelFile(
        id=submission.id,
        name=card.name,
        version=card.version,
        page=row.page,
        rank=row.rank,
        isolated=row.isolated,
        reference=row.reference,
        team=team_of(submission),
        n_of_team=known.n_of_team(submission) or 1,
        submitted=submission.created,
        open_weights=card.open_weights,
        parameters=card.n_parameters,
        parameters_counted=submission.preflight.n_parameters,
        conservative=card.conservative,
        conservative_measured=measured_conservative(submission.preflight),
        precision=card.precision,
        dispersion=card.dispersion,
        elements=card.elements,
        elements_answered=None if elements is None else elements.answered,
        label_sets={domain: labels.name for domain, labels in card.label_sets.items()},
        hardware=hardware_of(row),
        outcomes=tuple(_outcome(line) for line in row.tasks),
    )


def _outcome(line: TaskLine) -> Outcome:
    result = line.result
    if result is None:
        return Outcome()
    return Outcome(verdict=str(result.verdict), n_items=result.n_items, n_failed=sum(result.failures.values()))


def _schemes(board: Leaderboard, variant: str, references: Sequence[ReferenceRow]) -> Iterable[SchemeFile]:
    corrected = variant == "corrected"
    release = board.release if corrected else board.published
    lambench = _scores(board, variant, LABELS, references if corrected else ())
    if lambench:
        ranked_by = tuple(score.key for score in lambench if score.key in ("force_field", "property_error"))
        yield _scheme(LAMBENCH, "LAMBench", variant, release, lambench, ranked_by)
    for key, names in ((ML_PEG, (ML_PEG,)), (MLIPAUDIT, (MLIPAUDIT, COMPATIBLE))):
        scores = _scores(board, variant, {name: _OTHERS[name] for name in names})
        if scores:
            yield _scheme(key, _OTHERS[key], variant, release, scores, (scores[0].key,))


def _scheme(
    key: str, label: str, variant: str, release: Release, scores: Sequence[ScoreFile], ranked_by: Sequence[str]
) -> SchemeFile:
    own = key == LAMBENCH
    return SchemeFile.model_validate(
        {
            "key": key,
            "label": label,
            "variant": variant,
            "title": release.title if own else f"{label}, {'corrected' if variant == 'corrected' else 'as published'}",
            "source": release.source if own else "",
            "ranked_by": tuple(ranked_by),
            "complete_only": variant == "corrected",
            "scores": tuple(scores),
        }
    )


def _scores(
    board: Leaderboard, variant: str, labels: Mapping[str, str], references: Sequence[ReferenceRow] = ()
) -> list[ScoreFile]:
    """Those scores that anybody has, of all models, and of the references that nobody submitted."""
    found = []
    for key, label in labels.items():
        shared, models = Shared(), {}
        for row in board.rows:
            values = _values(board, row, key, variant, shared)
            if values is not None:
                models[row.submission.id] = values
        models |= {one.id: _reference_values(one, key, shared) for one in references if key in one.trees}
        if any(values.total for values in models.values()):
            found.append(
                ScoreFile(
                    key=key,
                    label=label,
                    lower_is_better=_LOWER.get(key, False),
                    nothing=_NOTHING.get((key, variant)),
                    trees=tuple(shared.trees),
                    models=models,
                )
            )
    return found


def _values(board: Leaderboard, row: Row, key: str, variant: str, shared: Shared) -> ScoreValues | None:
    corrected = variant == "corrected"
    trees = row.trees.corrected if corrected else row.trees.as_published
    if key not in trees:
        return None
    term, own = _term(row, key, corrected), values_of(trees[key])
    firm = uncertainty_of(board, key, row) if corrected else None
    interval, ranks = known(firm.score) if firm else None, known(firm.rank_interval) if firm else None
    return ScoreValues(
        tree=shared.index(trees[key]),
        leaves=own.leaves,
        divisors=own.divisors,
        left_out=own.left_out,
        score=_finite(key, term.value),
        interval=None if interval is None else _cut(key, interval.low, interval.high),
        at_worst=_finite(key, term.at_worst),
        covered=term.covered,
        total=term.total,
        ranks=None if ranks is None else (ranks.low, ranks.high),
        group=firm.group if firm else None,
    )


def _reference_values(reference: ReferenceRow, key: str, shared: Shared) -> ScoreValues:
    term, own = reference.scores[key], values_of(reference.trees[key])
    return ScoreValues(
        tree=shared.index(reference.trees[key]),
        leaves=own.leaves,
        divisors=own.divisors,
        left_out=own.left_out,
        score=_finite(key, term.value),
        covered=term.covered,
        total=term.total,
    )


def _term(row: Row, key: str, corrected: bool) -> Term:
    if key in _OTHERS:
        return (row.others.corrected if corrected else row.others.as_published)[key]
    return score_of(row.scores if corrected else row.as_published, key)


def _finite(key: str, value: float | None) -> float | None:
    """A score as it is published; JSON has no infinity."""
    return public_score(key, value) if value is not None and math.isfinite(value) else None


def _cut(key: str, low: float, high: float) -> tuple[float, float] | None:
    name = EFFICIENCY if key == EFFICIENCY else ""
    ends = public_score(name, low), public_score(name, high)
    return ends if all(end is not None and math.isfinite(end) for end in ends) else None  # type: ignore[return-value]
