"""Some models side by side, as rows of text: of `leaderboard.json` alone, as templates/js/comparison.js makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from judge.pages.compare.comparison_lines import (
    Cell,
    Group,
    Line,
    differences,
    line,
    number_cell,
    one_class,
)
from judge.pages.compare.comparison_tasks import task_groups
from judge.view import formatting
from judge.view.columns import score_span, score_text
from judge.view.leaderboard_schema import LeaderboardFile, ModelFile, ScoreFile
from judge.view.score_export import score_of_file
from scoring import explain
from scoring.names import EFFICIENCY, ERRORS

MOST = 5
NOT_STATED = "not stated"


def comparison(file: LeaderboardFile, models: Sequence[ModelFile]) -> tuple[Group, ...]:
    """All that is known of these models, the same row of each beside one another."""
    scores, as_published = (_scores(file, variant) for variant in ("corrected", "as_published"))
    of_scheme = {score.key: score for score in scores}
    groups = [
        Group("Ranking", _ranking(models)),
        Group("Scores", _score_lines(scores, models)),
        Group("By domain", tuple(_domain_lines(of_scheme, models))),
        Group("Scores, as published", _score_lines(as_published, models)),
        Group("The model", _card_lines(models)),
        *task_groups(file, of_scheme, models),
    ]
    return tuple(group for group in groups if group.lines)


def _ranking(models: Sequence[ModelFile]) -> tuple[Line, ...]:
    return Line("Rank", tuple(Cell(_rank(of)) for of in models)), Line("Tasks judged OK", tuple(map(_n_ok, models)))


def _rank(model: ModelFile) -> str:
    if model.rank is not None:
        return str(model.rank)
    return "reference" if model.reference else "not ranked"


def _n_ok(model: ModelFile) -> Cell:
    if model.submitted is None:  # a reference that nobody submitted: nothing of it is judged
        return Cell(formatting.NONE)
    return Cell(f"{sum(of.verdict == 'OK' for of in model.outcomes)} of {len(model.outcomes)}")


def _scores(file: LeaderboardFile, variant: str) -> list[ScoreFile]:
    return [score for scheme in file.schemes if scheme.variant == variant for score in scheme.scores]


def _score_lines(scores: Sequence[ScoreFile], models: Sequence[ModelFile]) -> tuple[Line, ...]:
    lines = ((_score_line(score, models), partial(score_text, score.key)) for score in scores)
    return tuple(one for line, text_of in lines for one in (line, *differences(line, text_of)))


def _score_line(score: ScoreFile, models: Sequence[ModelFile]) -> Line:
    cells = []
    for model in models:
        own = score.models.get(model.id)
        if own is None:
            cells.append(Cell(formatting.NONE))
            continue
        said = [] if own.interval is None else [score_span(score.key, *own.interval)]
        if own.covered < own.total:
            said.append(f"{own.covered} of {own.total}")
        cells.append(Cell(score_text(score.key, own.score), ", ".join(said), own.score, own.interval))
    arrow = "↓" if score.lower_is_better else "↑"
    better = score.lower_is_better if score.key != EFFICIENCY or one_class(models) else None
    return line(f"{score.label} {arrow}", cells, better)


def _domain_lines(scores: dict[str, ScoreFile], models: Sequence[ModelFile]) -> Iterator[Line]:
    for key in ERRORS:
        if key in scores:
            found = [_domains(scores[key], model) for model in models]
            for domain in dict.fromkeys(name for of in found for name in of):
                cells = [number_cell(of.get(domain)) for of in found]
                yield line(f"{domain}, {scores[key].label.lower()} ↓", cells, lower=True)


def _domains(score: ScoreFile, model: ModelFile) -> dict[str, float | None]:
    tree = score_of_file(score, model.id)
    return {} if tree is None else {part.name: part.value for part in explain(tree).parts}


def _card_lines(models: Sequence[ModelFile]) -> tuple[Line, ...]:
    facts: dict[str, Callable[[ModelFile], str]] = {
        "Team": lambda of: of.team or "not known",
        "Submissions of the team": lambda of: str(of.n_of_team) if of.team else "not known",
        "Submitted": lambda of: formatting.NONE if of.submitted is None else f"{of.submitted:%Y-%m-%d}",
        "Parameters, stated": lambda of: _whole(of.parameters, NOT_STATED),
        "Parameters, counted": lambda of: _whole(of.parameters_counted, "not counted"),
        "Weights": lambda of: _yes(of.open_weights, "open", "not open", NOT_STATED),
        "Forces, stated": lambda of: _yes(of.conservative, "gradient", "direct", NOT_STATED),
        "Forces, measured": lambda of: _yes(of.conservative_measured, "gradient", "no gradient", "not measured"),
        "Precision": lambda of: of.precision or NOT_STATED,
        "Dispersion": lambda of: _yes(of.dispersion, "in the energies", "not in the energies", NOT_STATED),
        "Elements, stated": lambda of: str(len(of.elements)) if of.elements else NOT_STATED,
        "Timed on": lambda of: of.hardware or "not timed",
        "Isolated": lambda of: _yes(of.isolated, "yes", "no", ""),
    }
    domains = dict.fromkeys(domain for model in models for domain in model.label_sets)
    levels = [
        Line(f"Level of theory, {domain}", tuple(Cell(model.label_sets.get(domain, NOT_STATED)) for model in models))
        for domain in domains
    ]
    return (*(Line(name, tuple(Cell(of(model)) for model in models)) for name, of in facts.items()), *levels)


def _whole(value: int | None, otherwise: str) -> str:
    return otherwise if value is None else formatting.thousands(value)


def _yes(value: bool | None, yes: str, no: str, otherwise: str) -> str:
    return otherwise if value is None else (yes if value else no)
