"""Nothing that gets worse improves a corrected score, in any scheme and for any draw of results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from judge.ranking.lambench_scores import corrected_trees
from judge.ranking.other_schemes import other_trees
from judge.ranking.score_inputs import Judged
from judge.ranking.score_trees import ScoreTrees, corrected_terms
from judge.records.records import Result
from sandbox.verdict import Verdict
from scoring import load_release
from scoring.names import COMPATIBLE, ML_PEG, MLIPAUDIT
from submissions.records import Submission
from tasks.metrics.measurement import Items
from tasks.structures.predictions import Cause
from tests.judge.ranking.small_board import QUIET, TASKS, A, B
from tests.world.board_records import (
    SUITE,
    error,
    good_metrics,
    items_of,
    refused,
    result,
    runs,
    submission,
    task,
)

LAWFUL = replace(
    SUITE,
    tasks=(
        *(t for t in SUITE.tasks if t.name != "barriers"),
        replace(TASKS["barriers"], mlipaudit=("reactivity",)),
        replace(task("complexes", "energy_differences", "Molecules"), mlipaudit=("noncovalent_interactions",)),
        replace(task("more-barriers", "energy_differences", "Catalysis"), mlipaudit=("reactivity",)),
    ),
)
MODELS = (A, B, submission("gamma"))


def drawn(rng: np.random.Generator) -> list[Result]:
    """Results of three models, each error a random share of the baseline, in eV if it is an error of energies."""
    results = []
    for model in MODELS:
        for suite_task in LAWFUL.tasks:
            relative = float(rng.uniform(0.02, 0.6))
            metrics = good_metrics(relative).get(suite_task.name, {"mae": error(relative, "eV")})
            results.append(result(model, suite_task, metrics, notes={"items in": "eV"}))
    return results


def costs(results: Sequence[Result], submission: Submission, drift: Items) -> dict[str, float]:
    """Every corrected score of a model, with its sign such that less is better; infinite if there is none."""
    judged = Judged(
        LAWFUL, {(r.submission, r.task): r for r in results}, lambda r: drift if r.kind == "nve" else items_of(r), []
    )
    trees = ScoreTrees(corrected_trees(judged, submission.id, load_release()))
    trees |= other_trees(judged, MODELS, load_release())[submission.id]
    terms = corrected_terms({"": trees})[""]
    terms.pop(COMPATIBLE, None)  # it depends on the elements that a model declares
    ordered = {name: t.value if t.at_worst is None else t.at_worst for name, t in terms.items()}
    more_is_better = {"efficiency", ML_PEG, MLIPAUDIT}
    turned = {n: math.inf if v is None else -v if n in more_is_better else v for n, v in ordered.items()}
    return {ML_PEG: math.inf, MLIPAUDIT: math.inf} | turned


def worsened(old: Result, change: str, rng: np.random.Generator) -> list[Result]:
    """Results in place of `old` that are better in nothing."""
    if change == "missing":
        return []
    if change in set(Verdict):
        refusal = refused(
            MODELS[0], LAWFUL_TASKS[old.task], Verdict(change), n_items=old.n_items, label_set=old.label_set
        )
        return [refusal if rng.random() < 0.5 else old.model_copy(update={"verdict": Verdict(change)})]
    name = str(rng.choice(sorted(old.metrics)))
    metric = old.metrics[name]
    charged = {"no number": None, "larger": (metric.charged or 0.0) * (1.0 + rng.exponential())}[change]
    changed = replace(metric, charged=charged, n_failed=metric.n_failed + (charged is None))
    return [old.model_copy(update={"metrics": {**old.metrics, name: changed}})]


LAWFUL_TASKS = {t.name: t for t in LAWFUL.tasks}
FAILING = (Verdict.CRASHED, Verdict.TIME_LIMIT, Verdict.UNSUPPORTED, Verdict.TOO_MANY_FAILURES)


@pytest.mark.parametrize("seed", range(6))
def test_nothing_that_gets_worse_in_one_task_improves_any_corrected_score(seed: int) -> None:
    rng = np.random.default_rng(seed)
    given, drift = drawn(rng), runs((1e-5 * rng.exponential(size=4)).tolist())
    before = costs(given, A, drift)
    assert all(math.isfinite(cost) for cost in before.values())
    n_worse = 0
    for old in [r for r in given if r.submission == A.id]:
        rest = [r for r in given if r is not old]
        for change in ("larger", "no number", "missing", *FAILING):
            if old.kind == "nve" and change in ("larger", "no number"):
                continue  # its metrics are not scored: see the next test
            after = costs(rest + worsened(old, change, rng), A, drift)
            for name, cost in after.items():
                assert cost >= before[name] - 1e-12, (old.task, change, name)
            n_worse += after != before
    assert n_worse > 30


@pytest.mark.parametrize("cause", [Cause.EXPLODED, Cause.OVER_TIME, Cause.MISSING, Cause.ERROR])
def test_a_run_that_fails_or_drifts_more_never_improves_the_instability(cause: Cause) -> None:
    rng = np.random.default_rng(1)
    given, slopes = drawn(rng), (1e-4 * rng.exponential(size=4)).tolist()
    before = costs(given, A, runs(slopes))
    for place in range(4):
        causes = [cause if i == place else Cause.NONE for i in range(4)]
        failed = [math.nan if i == place else s for i, s in enumerate(slopes)]
        drifting = [30 * s if i == place else s for i, s in enumerate(slopes)]
        for items in (runs(failed, causes), runs(drifting)):
            after = costs(given, A, items)
            assert all(after[name] >= cost - 1e-12 for name, cost in before.items())
            assert after["instability"] > before["instability"]


def test_a_verdict_other_than_ok_improves_nothing_for_the_only_model_there_is() -> None:
    """No other result states the metrics of a task; they come from its kind."""
    given = [r for r in drawn(np.random.default_rng(2)) if r.submission == A.id]
    before = costs(given, A, QUIET)
    for old in given:
        rest = [r for r in given if r is not old]
        for verdict in FAILING:
            after = costs([*rest, refused(A, LAWFUL_TASKS[old.task], verdict, n_items=old.n_items)], A, QUIET)
            assert all(after[name] >= cost - 1e-12 for name, cost in before.items()), (old.task, verdict)


def test_the_order_of_records_changes_no_score_of_any_scheme() -> None:
    given = drawn(np.random.default_rng(3))
    for model in MODELS:
        assert costs(given, model, QUIET) == costs(given[::-1], model, QUIET)
