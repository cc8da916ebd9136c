"""A `leaderboard.json` from the real formulas and random answers, with every kind of leaf."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from judge.disclosure.public_leaderboard import public_term
from judge.view.leaderboard_schema import (
    LeaderboardFile,
    ModelFile,
    Outcome,
    SchemeFile,
    ScoreFile,
    ScoreValues,
    TaskFile,
)
from judge.view.score_export import SharedTrees, leaf_values, tree_data
from scoring import (
    Answers,
    AskedTask,
    MeasuredError,
    Node,
    RawMetric,
    Release,
    Run,
    RunOutcome,
    efficiency_tree,
    explain,
    force_field_tree,
    instability_tree,
    load_release,
    property_tree,
)
from scoring.ml_peg import MlPegFacts, Scheme
from scoring.mlipaudit import Measured as Items
from scoring.mlipaudit import MlipAuditFacts, load_mlipaudit, mlipaudit_tree
from scoring.names import Variant

DOMAINS = ("Catalysis", "Inorganic Materials", "Molecules / dimers, 100 %")  # a path must escape the last name
RELEASES = {"corrected": load_release(), "as_published": load_release("lambench-0.3.1")}
RUNS = tuple(f"{task}: run {i}" for task in ("drift", "hidden drift") for i in range(5))
HIDDEN = {run: "hidden drift" for run in RUNS if run.startswith("hidden")}
BENCHMARKS = ("dihedral_scan", "noncovalent_interactions", "reactivity", "tautomers")
LOWER = ("force_field", "property_error", "instability")

FRAMES = tuple(
    AskedTask(f"frames-{i}", DOMAINS[i % 3], ("energy", "force", "virial") if i in (0, 1, 4) else ("energy", "force"))
    for i in range(10)
)
METRICS = ("mae", "off_percent", "rmse")
PROPERTIES = tuple(AskedTask(f"property-{i}", DOMAINS[i % 3], METRICS[: 1 + (i + i // 3) % 3]) for i in range(5))
SPEEDS = ("speed-a", "speed-b", "speed-c")


def random_leaderboard(n_models: int = 30, seed: int = 7) -> LeaderboardFile:
    """The file of 20 tasks. Scores are not rounded; of a model it has only what ranks depend on."""
    rng = np.random.default_rng(seed)
    names = [f"model-{i:02}" for i in range(n_models)]
    schemes = [make(variant, names, rng) for variant in RELEASES for make in (_lambench, _ml_peg, _mlipaudit)]
    tasks = [(t.name, t.domain) for t in (*FRAMES, *PROPERTIES)]
    tasks += [(name, DOMAINS[1]) for name in (*SPEEDS, "drift", "hidden drift")]
    return LeaderboardFile(
        suite="random",
        suite_version="1",
        title="Random answers",
        release="corrected",
        published="lambench-0.3.1",
        measured=None,
        tasks=tuple(
            TaskFile(name=n, title=n, kind="kind", kind_label="", domain=d, dataset=n, public_since="", page="")
            for n, d in tasks
        ),
        models=tuple(_model(name, len(tasks), rng) for name in names),
        schemes=tuple(schemes),
    )


def _model(name: str, n_tasks: int, rng: np.random.Generator) -> ModelFile:
    spoilt = rng.uniform() < 0.3
    outcomes = tuple(Outcome(verdict="TIME LIMIT" if spoilt and rng.uniform() < 0.2 else "OK") for _ in range(n_tasks))
    reference = "for comparison" if rng.uniform() < 0.1 else ""
    return ModelFile(
        id=name, name=name, version="", page="", rank=None, isolated=True, reference=reference, outcomes=outcomes
    )


def _answers(
    tasks: Sequence[AskedTask], columns: Mapping[str, str], divided: bool, rng: np.random.Generator
) -> Answers:
    """A model's errors: half of them with gaps or without whole domains, some infinite; two sets of baselines."""
    gap = 0.1 if rng.uniform() < 0.5 else 0.0
    lacks = [domain for domain in DOMAINS if rng.uniform() < gap]
    labels = rng.choice([1.0, 1.3])
    return {
        task.name: {
            column: MeasuredError(
                RawMetric(task.name, columns.get(column, column), _error(rng), "eV"),
                labels * (1.0 + 0.1 * len(task.name)),
                float(rng.uniform(0.3, 1.0)) if divided and rng.uniform() < 0.5 else 1.0,
            )
            for column in task.columns
            if rng.uniform() >= gap
        }
        for task in tasks
        if task.domain not in lacks
    }


def _error(rng: np.random.Generator) -> float:
    return math.inf if rng.uniform() < 0.04 else float(rng.lognormal(-1.5, 2.0))


def _run(name: str, rng: np.random.Generator) -> Run:
    outcome = rng.choice(list(RunOutcome), p=[0.7, 0.1, 0.1, 0.1])
    return Run(name, RunOutcome(outcome), float(rng.choice([-1.0, 1.0]) * 10 ** rng.uniform(-7, 2)))


def _lambench(variant: str, names: Sequence[str], rng: np.random.Generator) -> SchemeFile:
    rules = RELEASES[variant]
    trees: dict[str, Callable[[], Node]] = {
        "force_field": lambda: force_field_tree(
            FRAMES, _answers(FRAMES, rules.force_field.columns, False, rng), rules.force_field
        ),
        "property_error": lambda: property_tree(
            PROPERTIES,
            _answers(PROPERTIES, {}, rules.property_error.divided_by_success_rate, rng),
            rules.property_error,
        ),
        "efficiency": lambda: _efficiency(rules, rng),
        "instability": lambda: (
            public_term(
                "instability", explain(instability_tree([_run(run, rng) for run in RUNS], rules.instability)), HIDDEN
            ).node
        ),
    }
    scores = tuple(_score(key, names, make) for key, make in trees.items())
    return _scheme("lambench", variant, ("force_field", "property_error"), scores)


def _efficiency(rules: Release, rng: np.random.Generator) -> Node:
    times = {name: None if rng.uniform() < 0.1 else float(rng.lognormal(5, 1)) for name in SPEEDS}
    return efficiency_tree(times, rules.efficiency)


def _facts() -> MlPegFacts:
    """Errors, a score that grows with quality, a logarithmic metric; weights of zero at every level."""
    benchmarks: dict[str, object] = {}
    for i, task in enumerate((*FRAMES, *PROPERTIES)):
        metrics: dict[str, dict[str, object]] = {
            "error": {"good": 0.0, "bad": 1.0 + i, "unit": "eV"},
            "of 1 / all": {"good": 1.0, "bad": -0.5, "unit": "-", "weight": 0.25 * (i % 5)},
            "span": {"good": 0.01, "bad": 10.0, "unit": "eV", "normaliser": "logarithmic"},
        }
        benchmarks[task.name] = {"category": task.domain, "weight": 0.0 if i == 3 else 1.0 + i % 2, "metrics": metrics}
    weights = {DOMAINS[0]: 0.5}
    data = {"name": "r", "title": "R", "source": "s", "benchmarks": benchmarks, "category_weights": weights}
    return MlPegFacts.model_validate(data)


def _ml_peg(variant: str, names: Sequence[str], rng: np.random.Generator) -> SchemeFile:
    facts = _facts()

    def value() -> float | None:
        drawn = rng.uniform()
        return None if drawn < 0.1 else math.nan if drawn < 0.11 else math.inf if drawn < 0.15 else rng.lognormal(-1, 2)

    def tree() -> Node:
        measured = {
            name: {
                metric: RawMetric(name, metric, value(), stated.unit) for metric, stated in benchmark.metrics.items()
            }
            for name, benchmark in facts.benchmarks.items()
        }
        return Scheme.of(facts, Variant(variant)).tree(measured)

    nothing = 0.0 if variant == "corrected" else None
    return _scheme("ml-peg", variant, ("ml-peg",), (_score("ml-peg", names, tree, nothing),))


def _mlipaudit(variant: str, names: Sequence[str], rng: np.random.Generator) -> SchemeFile:
    facts = load_mlipaudit()
    facts = facts.model_copy(update={"benchmarks": {name: facts.benchmarks[name] for name in BENCHMARKS}, "slips": ()})

    def tree(compatible: bool) -> Node:
        unknown = {"reactivity"} if rng.uniform() < 0.3 else set()
        return mlipaudit_tree(_shown(facts, unknown, rng), facts, Variant(variant), unknown, compatible_only=compatible)

    scores = (
        _score("mlipaudit", names, lambda: tree(False)),
        _score("mlipaudit-compatible", names[2:], lambda: tree(True)),
    )
    return _scheme("mlipaudit", variant, ("mlipaudit",), scores)


def _shown(facts: MlipAuditFacts, unknown: set[str], rng: np.random.Generator) -> dict[str, dict[str, Items]]:
    run = [name for i, name in enumerate(facts.benchmarks) if name not in unknown and (not i or rng.uniform() < 0.8)]
    return {
        name: {
            metric: Items(tuple(_item(stated.threshold or 0.2, stated.at_most, rng) for _ in range(4)), stated.unit)
            for metric, stated in facts.benchmarks[name].metrics.items()
        }
        for name in run
    }


def _item(threshold: float, at_most: float | None, rng: np.random.Generator) -> float | None:
    return None if rng.uniform() < 0.1 else min(float(rng.exponential(threshold)), at_most or math.inf)


def _score(key: str, names: Sequence[str], make: Callable[[], Node], nothing: float | None = None) -> ScoreFile:
    shared, models = SharedTrees(), {}
    for name in names:
        tree = make()
        value = explain(tree).value
        models[name] = ScoreValues(
            tree=shared.index(tree_data(tree).model_dump_json()),
            **leaf_values(tree),
            score=value if value is not None and math.isfinite(value) else nothing,
        )
    return ScoreFile(
        key=key, label=key, lower_is_better=key in LOWER, nothing=nothing, trees=tuple(shared.trees), models=models
    )


def _scheme(key: str, variant: str, ranked_by: tuple[str, ...], scores: tuple[ScoreFile, ...]) -> SchemeFile:
    data = {"key": key, "label": key, "variant": variant, "title": key, "source": "", "ranked_by": ranked_by}
    return SchemeFile.model_validate({**data, "complete_only": variant == "corrected", "scores": scores})
