"""MLIPAudit 0.1.8 from invented items of all its benchmarks: each value and each score by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from ase.build import bulk
from ase.calculators.lj import LennardJones

from judge.ranking.lambench_scores import PublishedScores
from judge.ranking.score_inputs import Judged
from judge.records.records import Result
from sandbox.verdict import Verdict
from scoring import load_release
from scoring.mlipaudit import load_mlipaudit
from scoring.names import COMPATIBLE, MLIPAUDIT
from tasks.metrics.contributions import baseline_column
from tasks.metrics.measurement import Items
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause
from tasks.suites.suite import Suite, Task, load_suite
from tasks.timing.efficiency_metrics import FAILURE_COST
from tests.judge.ranking.other_scores import A, Scored, below, scored
from tests.tasks.made_up import make_dataset
from tests.tasks.timing.timed_models import KIND, Records, measure, observe, small
from tests.world.board_records import result

SUITE = load_suite("mlipaudit-dev")
FACTS = load_mlipaudit("mlipaudit-0.1.8")
KCAL = {"items in": "kcal/mol"}
NAN = math.nan


def table(ids: Sequence[str], causes: Sequence[Cause] | None = None, **columns: Sequence[float]) -> Items:
    """Items of systems: the cluster is what stands before the stroke."""
    return Items(
        id=list(ids),
        group=["neutral" if "charged" not in name else "charged" for name in ids],
        cluster=[name.split("/")[0] for name in ids],
        cause=np.array(causes or [Cause.NONE] * len(ids), np.int8),
        columns={name: np.array(column, np.float64) for name, column in columns.items()},
    )


def runs(values: Mapping[str, float], measure: str, reference: float = 1.0, **other: Sequence[float]) -> Items:
    """One analysis of sound runs; with `seen` what stored frames show."""
    errors = list(values.values())
    given: dict[str, Sequence[float]] = {"reference": [reference] * len(errors), "stored_error": errors, **other}
    return table(list(values), error=errors, **{f"{measure}_count": [1.0] * len(errors)}, **given)


def joined(*parts: Items) -> Items:
    names = dict.fromkeys(name for part in parts for name in part.columns)
    return Items(
        id=[n for part in parts for n in part.id],
        group=[n for part in parts for n in part.group],
        cluster=[n for part in parts for n in part.cluster],
        cause=np.concatenate([part.cause for part in parts]),
        columns={
            name: np.concatenate(
                [part.columns.get(name, np.full(len(part), 0.0 if name.endswith("_count") else NAN)) for part in parts]
            )
            for name in names
        },
    )


def decays(x: float, t: float, alpha: float = 3.0) -> float:
    return 1.0 if x <= t else math.exp(-alpha * (x - t) / t)


TIMES = table(
    ["a 1", "a 2", "a 3", "a 4", "a 5", "a 6", "b 1", "b 2"],
    seconds=[9.0, 0.0041, 0.0043, 0.0045, 0.0047, 9.0, 9.0, 0.0122],
    n_atoms=[100.0] * 6 + [1000.0] * 2,
    warm_up=[1, 0, 0, 0, 0, 0, 1, 0],
    reduced=[0.0] * 8,
    charged_time=[9e4, 41.0, 43.0, 45.0, 47.0, 9e4, 9e3, 12.2],
)
TIMES = replace(TIMES, cluster=["a"] * 6 + ["b"] * 2)
# By task: its items, and by benchmark the score that follows by hand.
ITEMS: Mapping[str, tuple[Items, Mapping[str, float]]] = {
    "reference-geometry": (
        table(
            ["m0", "m1", "charged"],
            [Cause.NONE, Cause.NOT_CONVERGED, Cause.NONE],
            rmsd_count=[1, 1, 1],
            rmsd_at_end=[0.075, 0.15, 0.3],
            steps=[40, 1000, 60],
        ),
        {"reference_geometry_stability": (1 + math.exp(-3) + math.exp(-9)) / 3},
    ),
    "ring-planarity": (
        runs({"benzene/planarity": 0.05, "furan/planarity": 0.1}, "planarity"),
        {"ring_planarity": (1 + math.exp(-3)) / 2},
    ),
    "bond-lengths": (runs({"CC/bond_length": 0.06}, "bond_length"), {"bond_length_distribution": math.exp(-0.6)}),
    "conformers": (
        table(["ado"], conformer_mae=[1.0], conformer_rmse=[1.5]),
        {"conformer_selection": (math.exp(-3) + 1) / 2},
    ),
    "dihedral-scan": (table(["f1", "f2"], barrier_error=[-1.0, 2.0]), {"dihedral_scan": (1 + math.exp(-3)) / 2}),
    "noncovalent": (
        table(["1.01", "2.02"], [Cause.NONE, Cause.UNSUPPORTED], interaction_error=[-2.0, NAN]),
        {"noncovalent_interactions": math.exp(-3) / 2},
    ),
    "tautomers": (table(["1"], error=[2 * 0.05 * 23.060547830618307], count=[1.0]), {"tautomers": math.exp(-3)}),
    "reactivity": (
        table(["r b", "r e"], error=[4.0, -4.0], barrier_count=[1, 0], reaction_energy_count=[0, 1]),
        {"reactivity": (math.exp(-1) + math.exp(-3)) / 2},
    ),
    "reaction-paths": (
        table(["p", "q"], [Cause.NONE, Cause.NOT_CONVERGED], residual=[0.04, 0.1]),
        {"nudged_elastic_band": (1 + math.exp(-3)) / 2},
    ),
    "water": (
        joined(
            runs({"water/rdf_rmse": 0.2}, "rdf_rmse"),
            runs({"water/first_peak": -0.14}, "first_peak", reference=2.8),
            runs({"water/density": -4.0}, "density"),
        ),
        {"water_radial_distribution": (math.exp(-3) + math.exp(-0.15)) / 2, "water_density": math.exp(-0.1)},
    ),
    "solvents": (
        joined(runs({"CCl4/first_peak": 0.59}, "first_peak", reference=5.9), runs({"CCl4/density": 1.0}, "density")),
        {"solvent_radial_distribution": math.exp(-0.3), "solvent_density": 1.0},
    ),
    "energy-conservation": (
        runs({"a/drift_ratio": 1.5, "b/drift_ratio": 0.5}, "drift_ratio"),
        {"nve_energy_conservation": (math.exp(-1.5) + 1) / 2},
    ),
    "stability": (
        joined(
            table(
                ["a/stability", "b/stability", "c/stability"],
                [Cause.EXPLODED, Cause.NONE, Cause.NONE],
                stability_count=[1, 1, 1],
                progress=[0.4, 1, 1],
                stored_error=[0.4, 1, 1],
                error=[100, 0, 0],
            ),
            runs({"b/hydrogen_drift": 40.0}, "hydrogen_drift"),
        ),
        {"stability": (0.2 + (1 - 0.2) + 1) / 3},
    ),
    # 80 % of five passes: the mean of the first four is 4.4 ms, the reference 5.0 ms; 12.2 and 13.1 ms.
    "inference-speed": (TIMES, {"inference_speed": (1 / (1 + 0.88**1.5) + 1 / (1 + (12.2 / 13.1) ** 1.5)) / 2}),
    "proteins": (
        joined(
            runs({"chignolin/rmsd": 4.0}, "rmsd"),
            runs({"chignolin/backbone GLY": 10.0, "chignolin/backbone PRO": 20.0}, "dihedral_outliers"),
            runs({"chignolin/side chain THR": 6.0}, "sidechain_outliers"),
        ),
        {"folding_stability": math.exp(-3), "sampling": ((1 + math.exp(-3)) / 2 + math.exp(-3)) / 2},
    ),
}


def ok(task: Task, items: Items) -> Result:
    notes = KCAL if task.kind == "energy_differences" else {}
    return result(A, task, {}, notes=notes, n_items=len(items))


def board(items: Mapping[str, Items], suite: Suite = SUITE) -> Scored:
    given = [ok(task, items[task.name]) for task in suite.tasks if task.name in items]
    by_model, problems = scored(suite, [A], given, items)
    assert problems == []
    return by_model[A.id]


ALL = {name: items for name, (items, _) in ITEMS.items()}
EXPECTED = {benchmark: score for _, scores in ITEMS.values() for benchmark, score in scores.items()}


def test_each_benchmark_by_hand_and_the_mean_over_all_18() -> None:
    assert EXPECTED.keys() == FACTS.benchmarks.keys()
    overall = board(ALL).corrected[MLIPAUDIT]
    for name, benchmark in FACTS.benchmarks.items():
        assert below(overall, benchmark.category, name).value == pytest.approx(EXPECTED[name], rel=1e-9), name
    assert overall.value == pytest.approx(sum(EXPECTED.values()) / 18, rel=1e-9)


def test_a_benchmark_that_was_not_run_counts_0_among_18() -> None:
    some = board({name: items for name, items in ALL.items() if name != "water"}).corrected
    expected = (sum(EXPECTED.values()) - EXPECTED["water_radial_distribution"] - EXPECTED["water_density"]) / 18
    assert some[MLIPAUDIT].value == pytest.approx(expected)
    # Compatible: without the complex of an unknown element.
    assert some[COMPATIBLE].value == pytest.approx(expected + EXPECTED["noncovalent_interactions"] / 18)
    one = board({"tautomers": ALL["tautomers"]}, replace(SUITE, tasks=SUITE.tasks[6:7])).corrected
    assert one[MLIPAUDIT].value == pytest.approx(EXPECTED["tautomers"] / 18)


def published(name: str, items: Items, benchmark: str) -> float:
    value = below(board({name: items}).as_published[MLIPAUDIT], FACTS.benchmarks[benchmark].category, benchmark).value
    assert value is not None
    return value


def test_slips_as_published() -> None:
    geometry = ALL["reference-geometry"]
    # The converged ones are compared with their own start; the other took all its steps.
    assert published("reference-geometry", geometry, "reference_geometry_stability") == pytest.approx(
        (2 + math.exp(-3)) / 3
    )
    lost = replace(geometry, columns={**geometry.columns, "rmsd_at_end": np.array([0.0, 0.0, NAN])})
    assert published("reference-geometry", lost, "reference_geometry_stability") == pytest.approx(1.0)
    gone = replace(lost, cause=np.array([0, 0, Cause.EXPLODED], np.int8))
    assert published("reference-geometry", gone, "reference_geometry_stability") == 0.0  # all of the charged set
    raised = joined(ALL["ring-planarity"], runs({"pyrrole/planarity": NAN}, "planarity"))
    raised.cause[2] = Cause.ERROR
    assert published("ring-planarity", raised, "ring_planarity") == 0.0
    assert board({"ring-planarity": raised}).corrected[MLIPAUDIT].value == pytest.approx((1 + math.exp(-3)) / 3 / 18)
    assert published("tautomers", ALL["tautomers"], "tautomers") == pytest.approx(decays(2.3060547830618307, 0.05))
    assert published("reaction-paths", ALL["reaction-paths"], "nudged_elastic_band") == 0.5


@pytest.mark.parametrize(
    ("name", "columns", "benchmark"),
    [
        ("conformers", ("conformer_mae", "conformer_rmse"), "conformer_selection"),
        ("dihedral-scan", ("barrier_error",), "dihedral_scan"),
    ],
)
def test_a_profile_that_is_the_same_everywhere_ends_an_analysis_as_published(
    name: str, columns: tuple[str, ...], benchmark: str
) -> None:
    """Its errors are those of the trivial model. `corrected` counts it like any other."""
    items = ALL[name]
    for offset, expected in ((0.5, EXPECTED[benchmark]), (0.0, 0.0)):
        trivial = {baseline_column(column): np.abs(items.columns[column]) + offset for column in columns}
        answered = replace(items, columns={**items.columns, **trivial})
        assert published(name, answered, benchmark) == pytest.approx(expected)
        assert board({name: answered}).corrected[MLIPAUDIT].value == pytest.approx(EXPECTED[benchmark] / 18)


@pytest.mark.parametrize(
    ("name", "measure", "benchmark", "others"),
    [
        ("ring-planarity", "planarity", "ring_planarity", ()),
        ("bond-lengths", "bond_length", "bond_length_distribution", ()),
        ("energy-conservation", "drift_ratio", "nve_energy_conservation", ()),
        ("proteins", "rmsd", "folding_stability", ("dihedral_outliers", "sidechain_outliers")),
        ("solvents", "density", "solvent_density", ("first_peak",)),
    ],
)
def test_what_stored_frames_do_not_show_counts_as_published(
    name: str, measure: str, benchmark: str, others: Sequence[str]
) -> None:
    exploded = runs({f"a/{measure}": NAN}, measure, stored_error=[0.0])
    exploded.cause[0] = Cause.EXPLODED
    items = joined(exploded, *(runs({f"a/{other}": 0.0}, other) for other in others))
    assert published(name, items, benchmark) == 1.0
    corrected = board({name: items}).corrected[MLIPAUDIT]
    assert below(corrected, FACTS.benchmarks[benchmark].category, benchmark).value == 0.0


def test_an_explosion_that_no_stored_frame_shows_is_stable_as_published() -> None:
    stability = table(
        ["a/stability"], [Cause.EXPLODED], stability_count=[1], progress=[0.4], stored_error=[1.0], error=[100]
    )
    assert published("stability", stability, "stability") == 1.0
    assert board({"stability": stability}).corrected[MLIPAUDIT].value == pytest.approx(0.2 / 18)


def test_systems_of_unknown_elements_are_left_out_as_published_and_count_0() -> None:
    items = runs({"a/drift_ratio": 0.5, "b/drift_ratio": NAN}, "drift_ratio")
    items.cause[1] = Cause.UNSUPPORTED
    assert published("energy-conservation", items, "nve_energy_conservation") == 1.0
    assert board({"energy-conservation": items}).corrected[MLIPAUDIT].value == pytest.approx(0.5 / 18)


def test_a_failed_pass_or_a_smaller_structure_is_no_time() -> None:
    failed = replace(
        TIMES,
        cause=np.array([0, 0, Cause.ERROR, 0, 0, 0, 0, 0], np.int8),
        columns={**TIMES.columns, "charged_time": np.array([9e4, 41.0, NAN, 45.0, 47.0, 9e4, 9e3, 12.2])},
    )
    reduced = replace(TIMES, columns={**TIMES.columns, "reduced": np.array([0, 0, 0, 0, 1.0, 0, 0, 0])})
    for items in (failed, reduced):
        value = below(board({"inference-speed": items}).corrected[MLIPAUDIT], "General", "inference_speed").value
        assert value == pytest.approx(1 / (1 + (12.2 / 13.1) ** 1.5) / 2)


@pytest.mark.parametrize(("confirmed", "deadline"), [(True, math.inf), (False, math.inf), (True, 0.0)])
def test_a_timing_that_a_fresh_start_does_not_confirm_scores_0(confirmed: bool, deadline: float) -> None:
    """Another model answers while it is timed, or the fresh start runs out of time: no time counts, in any scheme."""
    task = next(task for task in SUITE.tasks if task.name == "inference-speed")
    data = make_dataset(Frames.from_atoms([bulk(name, cubic=True) for name in ("Cu", "Al", "Ni", "Ag", "Au")]), None)
    parameters, fresh = small(n_frames=20, max_noise=1e9), Records()
    seen = observe(Records(None if confirmed else LennardJones(sigma=2.3, epsilon=0.2, rc=4.0)), parameters, data)
    again = KIND.recheck(seen, data.structures, parameters, fresh, fresh.watch(deadline))
    measured = measure(again, parameters, data)
    timed = result(A, task, measured.metrics, n_items=len(measured.items))
    by_model, problems = scored(SUITE, [A], [timed], {task.name: measured.items})
    assert problems == []
    counts = confirmed and deadline > 0
    assert set(measured.items.failures()) == (set() if confirmed else {Cause.INCONSISTENT})
    for terms in (by_model[A.id].corrected, by_model[A.id].as_published):
        value = below(terms[MLIPAUDIT], "General", "inference_speed").value
        assert value is not None
        assert value > 0.8 if counts else value == 0.0
    judged = Judged(SUITE, {(A.id, task.name): timed}, lambda _: measured.items, [])
    published = PublishedScores(judged, load_release("lambench-1.0.0"), load_release())
    assert (judged.time(A.id, task) == FAILURE_COST) != counts
    assert (published.time(A.id, task) is None) != counts


def test_a_task_that_crashed_counts_0() -> None:
    for task in SUITE.tasks:
        crashed = result(A, task, {}, verdict=Verdict.CRASHED)
        rest = {name: items for name, items in ALL.items() if name != task.name}
        given = [ok(each, rest[each.name]) for each in SUITE.tasks if each.name in rest]
        by_model, problems = scored(SUITE, [A], [*given, crashed], rest)
        expected = sum(score for name, score in EXPECTED.items() if name not in task.mlipaudit) / 18
        assert by_model[A.id].corrected[MLIPAUDIT].value == pytest.approx(expected), task.name
        assert problems == []
