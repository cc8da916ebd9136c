"""Some models side by side, as rows of text; templates/js/comparison.js makes the same from `leaderboard.json`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from judge.pages.compare.comparison_intervals import NO_INTERVALS, ModelIntervals
from judge.pages.compare.comparison_lines import (
    Cell,
    CompareLine,
    Group,
    ScoresById,
    differences,
    line,
    number_cell,
    one_class,
    span_text,
)
from judge.pages.compare.comparison_tasks import most_different, task_groups
from judge.view import formatting
from judge.view.columns import score_text
from judge.view.leaderboard_schema import LeaderboardFile, ModelFile, ScoreFile
from judge.view.page_context import Frame
from scoring import explain
from scoring.intervals import Interval
from scoring.names import ERRORS, SCORES, Variant

MOST = 5
MOST_DIFFERENT = "Where they differ most"
NOT_STATED = "not stated"


def comparison(frame: Frame, models: Sequence[ModelFile], intervals: Mapping[str, ModelIntervals]) -> tuple[Group, ...]:
    """All that is known of these models, one row for each property; the tasks in which they differ most are first.

    Values of domains and tasks are computed from the public leaves, as the script does it.

    Args:
        intervals: by submission.
    """
    scores = {reference.id: reference.scores for reference in frame.references}
    scores |= {row.submission.id: row.scores for row in frame.board.rows}
    corrected, as_published = (_scores(frame.file, variant) for variant in (Variant.CORRECTED, Variant.AS_PUBLISHED))
    groups = [
        Group(MOST_DIFFERENT, most_different(frame.file, scores, models, intervals)),
        Group("Ranking", _ranking(models)),
        Group("Scores", _score_lines(corrected, models)),
        Group("By domain", tuple(_domain_lines(corrected, scores, models, intervals))),
        Group("Scores, as published", _score_lines(as_published, models)),
        Group("The model", _card_lines(models)),
        *task_groups(frame.file, scores, models),
    ]
    return tuple(group for group in groups if group.lines)


def _ranking(models: Sequence[ModelFile]) -> tuple[CompareLine, ...]:
    ranks = tuple(Cell(_rank(model)) for model in models)
    return CompareLine("Rank", ranks), CompareLine("Tasks judged OK", tuple(map(_n_ok, models)))


def _rank(model: ModelFile) -> str:
    if model.rank is not None:
        return str(model.rank)
    return "reference" if model.reference else "not ranked"


def _n_ok(model: ModelFile) -> Cell:
    if model.submitted is None:  # a reference that nobody submitted: it has no judged task
        return Cell(formatting.NONE)
    return Cell(f"{sum(outcome.verdict == 'OK' for outcome in model.outcomes)} of {len(model.outcomes)}")


def _scores(file: LeaderboardFile, variant: Variant) -> list[ScoreFile]:
    return [score for scheme in file.schemes if scheme.variant == variant for score in scheme.scores]


def _score_lines(scores: Sequence[ScoreFile], models: Sequence[ModelFile]) -> tuple[CompareLine, ...]:
    lines: list[CompareLine] = []
    for score in scores:
        lines.append(_score_line(score, models))
        lines += differences(lines[-1], partial(score_text, score.key))
    return tuple(lines)


def _score_line(score: ScoreFile, models: Sequence[ModelFile]) -> CompareLine:
    cells = []
    for model in models:
        values = score.models.get(model.id)
        if values is None:
            cells.append(Cell(formatting.NONE))
            continue
        interval = None if values.interval is None else Interval(*values.interval, values.not_resampled)
        notes = [] if interval is None else [span_text(interval, partial(score_text, score.key))]
        if values.covered < values.total:
            notes.append(f"{values.covered} of {values.total}")
        cells.append(Cell(score_text(score.key, values.score), ", ".join(notes), values.score, interval))
    arrow = "↓" if score.lower_is_better else "↑"
    better = score.lower_is_better if not SCORES[score.key].from_times or one_class(models) else None
    return line(f"{score.label} {arrow}", cells, better)


def _domain_lines(
    files: Sequence[ScoreFile],
    scores: ScoresById,
    models: Sequence[ModelFile],
    intervals: Mapping[str, ModelIntervals],
) -> Iterator[CompareLine]:
    for score in files:
        if score.key not in ERRORS:
            continue
        terms = [scores[model.id].get(score.key) for model in models]
        domains = [{} if term is None else {p.name: p.value for p in explain(term.node).parts} for term in terms]
        known = [intervals.get(model.id, NO_INTERVALS).parts.get(score.key, {}) for model in models]
        for domain in dict.fromkeys(name for of_model in domains for name in of_model):
            cells = [
                _domain_cell(of_model.get(domain), ends.get(domain))
                for of_model, ends in zip(domains, known, strict=True)
            ]
            values = line(f"{domain}, {score.label.lower()} ↓", cells, lower=True)
            yield from (values, *differences(values))


def _domain_cell(value: float | None, interval: Interval | None) -> Cell:
    note = "" if interval is None else span_text(interval, formatting.decimals)
    return number_cell(value, note)._replace(interval=interval)


def _card_lines(models: Sequence[ModelFile]) -> tuple[CompareLine, ...]:
    facts: dict[str, Callable[[ModelFile], str]] = {
        "Team": lambda model: model.team or "not known",
        "Submissions of the team": _n_of_team,
        "Submitted": lambda model: formatting.NONE if model.submitted is None else f"{model.submitted:%Y-%m-%d}",
        "Parameters, stated": lambda model: _whole(model.parameters, NOT_STATED),
        "Parameters, counted": lambda model: _whole(model.parameters_counted, "not counted"),
        "Weights": lambda model: _yes(model.open_weights, "open", "not open", NOT_STATED),
        "Forces, stated": lambda model: _yes(model.conservative, "gradient", "direct", NOT_STATED),
        "Forces, measured": lambda model: _yes(model.conservative_measured, "gradient", "no gradient", "not measured"),
        "Precision": lambda model: model.precision or NOT_STATED,
        "Dispersion": lambda model: _yes(model.dispersion, "in the energies", "not in the energies", NOT_STATED),
        "Elements, stated": lambda model: str(len(model.elements)) if model.elements else NOT_STATED,
        "Timed on": lambda model: model.hardware or "not timed",
        "Isolated": lambda model: _yes(model.isolated, "yes", "no", ""),
    }
    lines = [CompareLine(name, tuple(Cell(fact(model)) for model in models)) for name, fact in facts.items()]
    for domain in dict.fromkeys(domain for model in models for domain in model.label_sets):
        levels = tuple(Cell(model.label_sets.get(domain, NOT_STATED)) for model in models)
        lines.append(CompareLine(f"Level of theory, {domain}", levels))
    return tuple(lines)


def _whole(value: int | None, otherwise: str) -> str:
    return otherwise if value is None else formatting.thousands(value)


def _yes(value: bool | None, yes: str, no: str, otherwise: str) -> str:
    return otherwise if value is None else (yes if value else no)


def _n_of_team(model: ModelFile) -> str:
    return str(model.n_of_team) if model.team or model.n_of_team > 1 else "not known"
