"""`leaderboard.json` from a leaderboard: the data from which scores and ranks can be computed again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from judge.disclosure.redaction import public_score
from judge.ranking.leaderboard import Leaderboard, Row, TaskLine
from judge.ranking.references import ReferenceRow, computed_references
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
from judge.view.related_submissions import Submissions, team_name
from judge.view.score_display import known, uncertainty_of
from judge.view.score_export import ExportedTerm, Exporter, SharedTrees
from judge.view.sources import Sources
from scoring.intervals import Interval, Uncertainty
from scoring.names import ERRORS, LAMBENCH, ML_PEG, SCHEMES, SCORES, Variant, of_scheme
from submissions.preflight.measured_properties import measured_conservative, measured_elements

_NOTHING = {(ML_PEG, Variant.CORRECTED): 0.0}  # see `scoring.ml_peg.ml_peg_score`


def leaderboard_file(
    board: Leaderboard, sources: Sources, references: Sequence[ReferenceRow] | None = None
) -> LeaderboardFile:
    """The file of a public board (`judge.disclosure.public_leaderboard`).

    Args:
        references: rows without a submission; None: those of `computed_references`.
    """
    references = computed_references(board) if references is None else references
    submissions = Submissions(board)
    exporter = Exporter(sources.public, sources.kept)
    schemes = tuple(
        scheme
        for variant in (Variant.CORRECTED, Variant.AS_PUBLISHED)
        for scheme in _schemes(board, variant, references, exporter)
    )
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
                title=task.label,
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
            *(_model(row, submissions) for row in board.rows),
            *(_reference_model(reference, len(board.suite.tasks)) for reference in references),
        ),
        schemes=schemes,
        presets=presets_of(schemes),
    )


def task_page(name: str) -> str:
    """The path of a task's page in the site."""
    return f"tasks/{name}.html"


def hardware_of(row: Row) -> str:
    """The hardware classes on which a model was timed; empty if it was not timed."""
    return "; ".join(sorted({line.hardware for line in row.tasks if line.task.traits.times and line.ok}))


def _public_since(dataset: str, sources: Sources) -> str:
    card = sources.cards.get(dataset)
    return card.public_since if card is not None and dataset in sources.public else ""


def _reference_model(reference: ReferenceRow, n_tasks: int) -> ModelFile:
    """A reference row without a submission; none of its tasks was judged."""
    return ModelFile(
        id=reference.id,
        name=reference.name,
        version="",
        page=reference.page,
        rank=None,
        isolated=True,  # nothing of it ran outside a container
        reference=" ".join((reference.about, f"Source: {reference.source}." if reference.source else "")).strip(),
        outcomes=(Outcome(),) * n_tasks,
    )


def _model(row: Row, submissions: Submissions) -> ModelFile:
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
        team=team_name(submission),
        n_of_team=submissions.n_of_team(submission) or 1,
        submitted=submission.created,
        open_weights=card.open_weights,
        license=card.license,
        training=tuple(data.name for data in card.training),
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
    if not line.is_judged:
        return Outcome()
    return Outcome(verdict=line.status, n_items=line.n_items, n_failed=sum(line.failures.values()))


def _schemes(
    board: Leaderboard, variant: Variant, references: Sequence[ReferenceRow], exporter: Exporter
) -> Iterable[SchemeFile]:
    rows = {row.submission.id: exporter.of_row(row, variant) for row in board.rows}
    for key, label in SCHEMES.items():
        scores = _scores(board, key, variant, rows, references if variant is Variant.CORRECTED else (), exporter)
        if scores:
            yield _scheme(board, key, label, variant, scores)


def _scheme(board: Leaderboard, key: str, label: str, variant: Variant, scores: Sequence[ScoreFile]) -> SchemeFile:
    title, source = f"{label}, {'corrected' if variant is Variant.CORRECTED else 'as published'}", ""
    ranked_by = tuple(score.key for score in scores if score.key in (*ERRORS, key))
    if key == LAMBENCH:
        release = board.release if variant is Variant.CORRECTED else board.published
        title, source = release.title, release.source
    return SchemeFile.model_validate(
        {
            "key": key,
            "label": label,
            "variant": variant.value,
            "title": title,
            "source": source,
            "ranked_by": ranked_by,
            "complete_only": variant is Variant.CORRECTED,
            "scores": tuple(scores),
        }
    )


def _scores(
    board: Leaderboard,
    scheme: str,
    variant: Variant,
    rows: Mapping[str, Mapping[str, ExportedTerm]],
    references: Sequence[ReferenceRow],
    exporter: Exporter,
) -> list[ScoreFile]:
    """The scores of a scheme that at least one model has, for all models and references."""
    files = []
    for key in of_scheme(scheme):
        shared, models = SharedTrees(), {}
        for row in board.rows:
            term = rows[row.submission.id].get(key)
            if term is not None:
                uncertainty = uncertainty_of(board, key, row) if variant is Variant.CORRECTED else None
                models[row.submission.id] = _values(key, term, shared, uncertainty)
        for ref in references:
            if key in ref.scores:
                models[ref.id] = _values(key, exporter.exported(key, ref.scores[key]), shared)
        if any(values.total for values in models.values()):
            files.append(
                ScoreFile(
                    key=key,
                    label=SCORES[key].label,
                    lower_is_better=SCORES[key].lower_is_better,
                    nothing=_NOTHING.get((key, variant)),
                    trees=tuple(shared.trees),
                    models=models,
                )
            )
    return files


def _values(key: str, term: ExportedTerm, shared: SharedTrees, uncertainty: Uncertainty | None = None) -> ScoreValues:
    interval = known(uncertainty.score) if uncertainty else None
    ends = None if interval is None else _finite_ends(key, interval)
    ranks = known(uncertainty.rank_interval) if uncertainty else None
    with_unseen = known(uncertainty.with_unseen) if uncertainty else None
    wide = known(uncertainty.like_these) if uncertainty else None
    return ScoreValues.model_construct(  # nothing of it is read from outside: to check 100,000 leaves takes a while
        tree=shared.index(term.tree),
        **term.values,
        interval=ends,
        interval_with_unseen_failures=None if with_unseen is None else _finite_ends(key, with_unseen),
        interval_like_these=None if wide is None else _finite_ends(key, wide),
        not_resampled=interval.n_held if interval is not None and ends is not None else 0,
        ranks=None if ranks is None else (ranks.low, ranks.high),
        group=uncertainty.group if uncertainty else None,
        carries_over=uncertainty.carries_over if uncertainty else None,
    )


def _finite_ends(key: str, interval: Interval) -> tuple[float, float] | None:
    low, high = public_score(key, interval.low), public_score(key, interval.high)
    return None if low is None or high is None else (low, high)
