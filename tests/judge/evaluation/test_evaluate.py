"""Judging on the process driver: every task is judged, and a second run judges only what has changed."""

from __future__ import annotations

import shutil

import pytest

from judge.evaluation.current_results import current_results
from judge.evaluation.unit_report import Did
from judge.records.results import load_results
from sandbox.verdict import Verdict
from tasks.suites.suite import load_suite
from tests.world.small_data import save_frames
from tests.world.world import World

RAISES = "def make_calculator():\n    raise RuntimeError('no')\n"

KNOWS_NOTHING = """
from ase.calculators.calculator import Calculator, PropertyNotImplementedError

class Nothing(Calculator):
    implemented_properties = ["energy", "forces", "stress"]
    def calculate(self, *args):
        raise NotImplementedError("element not supported")

def make_calculator():
    return Nothing()
"""

NAN = """
import numpy as np
from ase.calculators.emt import EMT

class NaN(EMT):
    def calculate(self, *args):
        super().calculate(*args)
        self.results["energy"] = float("nan")

def make_calculator():
    return NaN()
"""


def snapshot(world: World) -> dict[str, bytes]:
    return {key: world.store.get(key) for key in world.store.list("")}


def test_all_is_judged_and_the_labels_are_emts_own(world: World) -> None:
    submission = world.submit("emt")
    summary, output = world.evaluate()
    assert summary.exit_status == 0
    assert [unit.did for unit in summary.units] == [Did.OBSERVED] * 2
    results = world.results()
    assert [(r.submission, r.task, r.verdict) for r in results] == [
        (submission.id, "copper", Verdict.OK),
        (submission.id, "nickel", Verdict.OK),
    ]
    for result in results:
        assert result.metrics["force_rmse"].value == pytest.approx(0, abs=1e-10)
        assert result.label_set == "EMT"
        assert result.label_set_declared
        assert result.peaks is not None
        assert result.provenance.image_id == submission.image.id
    assert "copper  OK" in output


def test_a_second_run_does_nothing_and_needs_no_driver(world: World) -> None:
    world.submit("emt")
    world.evaluate()
    before = snapshot(world)
    make_driver_unusable(world)
    summary, _ = world.evaluate()
    assert [unit.did for unit in summary.units] == [Did.NOTHING] * 2
    assert summary.exit_status == 0
    assert snapshot(world) == before


def make_driver_unusable(world: World) -> None:
    """No run directory, no folder of the submission: nothing could be started."""
    shutil.rmtree(world.root / "run")
    (world.root / "run").write_text("in the way")
    shutil.rmtree(world.root / "emt")


def test_a_changed_citation_does_nothing(world: World) -> None:
    world.submit("emt")
    world.evaluate()
    before = snapshot(world)
    save_frames(world.root / "data", "Cu", "copper", citation="Another paper")
    summary, _ = world.evaluate()
    assert [unit.did for unit in summary.units] == [Did.NOTHING] * 2
    assert snapshot(world) == before


def test_a_changed_label_measures_again_without_a_container(world: World) -> None:
    world.submit("emt")
    world.evaluate()
    save_frames(world.root / "data", "Cu", "copper", shift=0.1)
    make_driver_unusable(world)
    summary, output = world.evaluate()
    assert {unit.task: unit.did for unit in summary.units} == {"copper": Did.MEASURED, "nickel": Did.NOTHING}
    copper = next(result for result in world.results() if result.task == "copper")
    assert copper.metrics["force_rmse"].value == pytest.approx(0.1, abs=1e-10)
    assert "measured without a container" in output


def test_a_label_changed_back_counts_again_where_the_present_is_known(world: World) -> None:
    submission = world.submit("emt")
    world.evaluate()
    save_frames(world.root / "data", "Cu", "copper", shift=0.1)
    world.evaluate()
    save_frames(world.root / "data", "Cu", "copper")
    summary, _ = world.evaluate()
    assert [unit.did for unit in summary.units] == [Did.NOTHING] * 2
    current = current_results(world.workspace, load_suite(world.settings.suite))
    copper = load_results(world.store, [submission.id], current)[0]
    assert copper.metrics["force_rmse"].value == pytest.approx(0, abs=1e-10)


def test_changed_structures_are_observed_again(world: World) -> None:
    world.submit("emt")
    world.evaluate()
    save_frames(world.root / "data", "Cu", "copper", n_frames=7)
    summary, _ = world.evaluate()
    assert {unit.task: unit.did for unit in summary.units} == {"copper": Did.OBSERVED, "nickel": Did.NOTHING}
    assert {result.task: result.n_items for result in world.results()} == {"copper": 7, "nickel": 6}


def test_a_lost_result_is_measured_again(world: World) -> None:
    world.submit("emt")
    world.evaluate()
    before = {result.result_key for result in world.results()}
    for key in list(world.store.list("results/")):
        world.store.delete(key)
    make_driver_unusable(world)
    summary, _ = world.evaluate()
    assert [unit.did for unit in summary.units] == [Did.MEASURED] * 2
    assert {result.result_key for result in world.results()} == before


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (RAISES, Verdict.STARTUP_FAILED),
        (KNOWS_NOTHING, Verdict.UNSUPPORTED),
        (NAN, Verdict.NON_FINITE),
    ],
)
def test_a_bad_submission_gets_its_verdict_and_the_others_are_judged(world: World, code: str, verdict: Verdict) -> None:
    bad = world.submit("bad", code)
    good = world.submit("good")
    summary, _ = world.evaluate(tasks=("copper",))
    assert summary.exit_status == 0
    assert {r.submission: r.verdict for r in world.results()} == {bad.id: verdict, good.id: Verdict.OK}
    again, _ = world.evaluate(tasks=("copper",))
    assert [unit.did for unit in again.units] == [Did.NOTHING] * 2


def test_a_machine_that_only_observes_needs_no_key(world: World) -> None:
    world.submit("emt")
    world.evaluate(observe_only=True)
    assert not world.settings.key_file.exists()
    world.evaluate()
    assert world.settings.key_file.exists()
