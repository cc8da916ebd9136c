"""What the judge does with kinds of any sort: asked again in a fresh start, disturbed, stopped early, corrected."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase.calculators.emt import EMT
from dftd3.ase import DFTD3

from judge.evaluation import runner
from judge.evaluation.dispersion_policy import correction_of
from judge.evaluation.measure import MAX_PARTS
from judge.evaluation.observe import ExecutionTarget, UnitStorage, observe_unit
from judge.evaluation.unit_report import Did
from judge.records.attempts import claim, read_history
from judge.records.records import Result
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.limits import Limits
from sandbox.rundir import RunDir
from sandbox.verdict import FaultCause, JudgeFault, Verdict
from submissions.records import LabelSet as Declared
from tasks.datasets.card import D3, Card, LabelSet, Table
from tasks.datasets.dataset import Dataset, Structures, save_dataset
from tasks.kind import HostTooNoisy, Observation, Parameters, Traits, Watch, Work
from tasks.kinds.registry import KINDS
from tasks.metrics.measurement import Items, Measurement, Metric, MetricPart
from tasks.model.calculator import BatchCalculator
from tasks.observing.frames_observation import observe_frames, read_frames
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Labels
from tests.world.small_data import rattled
from tests.world.world import World


class Energies:
    """A kind that asks for energies and gives their mean."""

    name: str = "energies"
    observe_version: int = 1
    measure_version: int = 1
    parameters: type[Parameters] = Parameters
    traits: Traits = Traits("mean energy")
    n_parts = 3

    def observe(self, structures: Structures, parameters: Any, model: BatchCalculator, watch: Watch) -> Observation:
        assert watch.checkpoint is not None
        return observe_frames(structures.frames, ("energy",), model, watch)

    def work(self, structures: Structures, parameters: Any) -> Work:
        return Work.of(structures.frames)

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: Any, label_set: str | None
    ) -> Measurement:
        answer = read_frames(observation, dataset.frames)
        n, failed = len(dataset.frames), int((~answer.ok).sum())
        mean = float(answer.energy[answer.ok].mean()) if answer.ok.any() else None
        ids = dataset.table.id
        items = Items(ids, dataset.table.group, dataset.clusters, answer.failure, {"energy": answer.energy})
        parts = [MetricPart("group", f"g{i}", "energy", np.nan if i else 1.5, "eV", n) for i in range(self.n_parts)]
        return Measurement({"energy": Metric(mean, "eV", n, failed)}, items, {"mean": "of all frames"}, parts)


class AskedTwice(Energies):
    """The same, half of the frames asked again of a fresh start."""

    name: str = "asked_twice"

    def recheck(
        self, observation: Observation, structures: Structures, parameters: Any, model: BatchCalculator, watch: Watch
    ) -> Observation:
        assert watch.checkpoint is None
        frames = structures.frames.between(0, len(structures.frames) // 2)
        again = observe_frames(frames, ("energy",), model, watch).arrays["energy"]
        failure = observation.arrays["failure"].copy()
        failure[: len(again)][~(np.abs(again - observation.arrays["energy"][: len(again)]) < 1e-9)] = Cause.INCONSISTENT
        return Observation({**observation.arrays, "failure": failure}, {**observation.notes, "asked again": "half"})

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: Any, label_set: str | None
    ) -> Measurement:
        """No number where the model contradicts itself more than once."""
        found = super().measure(observation, dataset, parameters, label_set)
        metric = found.metrics["energy"]
        void = int((observation.arrays["failure"] == Cause.INCONSISTENT).sum()) > 1
        charged = replace(metric, value=None if void else metric.value, charged=100.0)
        return replace(found, metrics={"energy": charged})


class Noisy(Energies):
    """A kind whose timings this host disturbs."""

    name: str = "noisy"

    def observe(self, structures: Structures, parameters: Any, model: BatchCalculator, watch: Watch) -> Observation:
        raise HostTooNoisy("the reference took 31 % longer than before")


# Each start leaves a mark; {line} may look at how many there were before this one: `n`.
STARTS = """
import os
from ase.calculators.emt import EMT

with open({marks!r}, "a+") as file:
    file.seek(0)
    n = len(file.read())
    file.write("x")

class Shifted(EMT):
    calls = 0
    def shift(self, calls):
        return 0.0
    def calculate(self, *args, **kwargs):
        super().calculate(*args, **kwargs)
        self.calls += 1
        self.results["energy"] += self.shift(self.calls)

def make_calculator(domain):
    calculator = Shifted()
    {line}
    return calculator
"""


def starts(world: World) -> int:
    return len((world.root / "marks").read_text())


def submitted(world: World, line: str) -> Any:
    return world.submit("model", STARTS.format(marks=str(world.root / "marks"), line=line))


def only_result(world: World) -> Result:
    (result,) = world.results()
    return result


def test_a_kind_that_asks_again_gets_a_fresh_start_and_its_second_observation_counts(world: World) -> None:
    unit = world.unit(submitted(world, "pass"), AskedTwice())
    report = world.run_unit(unit)
    assert (report.did, report.verdict) == (Did.OBSERVED, Verdict.OK)
    assert starts(world) == 2
    end = read_history(world.store, unit.prefix).end
    assert end is not None
    assert end.peaks is not None
    assert end.peaks.startup_s is not None
    assert end.peaks.wall_s > 1.5 * end.peaks.startup_s  # both starts
    assert only_result(world).failures == {}
    assert world.run_unit(unit).did is Did.NOTHING
    assert starts(world) == 2


def test_a_kind_that_does_not_ask_again_starts_the_model_once(world: World) -> None:
    world.run_unit(world.unit(submitted(world, "pass"), Energies()))
    assert starts(world) == 1


def test_a_model_that_answers_otherwise_when_started_anew_is_caught(world: World) -> None:
    report = world.run_unit(world.unit(submitted(world, "calculator.shift = lambda calls: 0.01 * n"), AskedTwice()))
    assert report.verdict is Verdict.TOO_MANY_FAILURES
    assert "3 of 6 items differently" in report.sentence
    assert only_result(world).failures == {"INCONSISTENT": 3}
    assert only_result(world).metrics["energy"].value is None


def test_one_answer_that_differs_is_for_the_kind_to_weigh(world: World) -> None:
    """The first call of the second start only: the kind still gives its number, over the five that hold."""
    line = "calculator.shift = lambda calls: 0.01 * n * (calls == 1)"
    report = world.run_unit(world.unit(submitted(world, line), AskedTwice()))
    assert (report.verdict, report.sentence) == (Verdict.OK, "Completed; 1 of 6 items failed (1 inconsistent).")
    assert only_result(world).metrics["energy"].value is not None


def test_a_second_start_that_fails_gives_its_own_verdict(world: World) -> None:
    unit = world.unit(submitted(world, "assert n == 0"), AskedTwice())
    report = world.run_unit(unit)
    assert report.verdict is Verdict.STARTUP_FAILED
    assert report.sentence.startswith("Started anew, to be asked some questions again: ")
    end = read_history(world.store, unit.prefix).end
    assert end is not None
    assert end.observation is None
    assert starts(world) == 2


def test_a_first_start_that_fails_is_not_followed_by_another(world: World) -> None:
    report = world.run_unit(world.unit(submitted(world, "assert n == 1"), AskedTwice()))
    assert report.verdict is Verdict.STARTUP_FAILED
    assert not report.sentence.startswith("Started anew")
    assert starts(world) == 1


def test_a_noisy_host_is_tried_three_times_then_held_and_never_published(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "RETRY_S", 0.0)
    submission = submitted(world, "pass")
    unit = world.unit(submission, Noisy())
    report = world.run_unit(unit)
    assert (report.did, report.fault, report.verdict) == (Did.HELD, FaultCause.NOISY_HOST, None)
    assert "31 % longer" in report.sentence
    assert "--retry-held" in report.sentence
    assert starts(world) == len(read_history(world.store, unit.prefix).faults) == 3
    assert world.run_unit(unit).did is Did.HELD
    assert starts(world) == 3
    assert not world.results()
    assert not list(world.store.list("observations/"))


class Breaks(Energies):
    """A kind that keeps something, and then fails in one way and in another."""

    name: str = "breaks"

    def __init__(self) -> None:
        self.found: list[float | None] = []
        self.errors: list[Exception] = [HostTooNoisy("loud"), ValueError("our own code")]

    def observe(self, structures: Structures, parameters: Any, model: BatchCalculator, watch: Watch) -> Observation:
        assert watch.checkpoint is not None
        kept = watch.checkpoint.load()
        self.found.append(None if kept is None else float(kept["step"][0]))
        watch.checkpoint.save({"step": np.array([len(self.found)])})
        if self.errors:
            raise self.errors.pop(0)
        return super().observe(structures, parameters, model, watch)


def test_what_was_kept_outlives_a_fault_of_the_host_but_not_one_of_our_code(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second try goes on from the first; what our own code failed over, the third does not see."""
    monkeypatch.setattr(runner, "RETRY_S", 0.0)
    kind = Breaks()
    unit = world.unit(submitted(world, "pass"), kind)
    assert world.run_unit(unit).verdict is Verdict.OK
    assert kind.found == [None, 1.0, None]
    faults = read_history(world.store, unit.prefix).faults
    assert [end.fault for end in faults] == [FaultCause.NOISY_HOST, FaultCause.MEASURE]
    assert not list((world.root / "run" / "checkpoints").iterdir())


def test_the_model_is_told_its_domain_and_the_result_is_filed_under_the_suites(world: World) -> None:
    submission = submitted(world, "assert domain == 'Inorganic Materials', domain")
    report = world.run_unit(world.unit(submission, Energies(), domain="Alloys"))
    assert report.verdict is Verdict.OK
    assert only_result(world).domain == "Alloys"
    told_otherwise = world.unit(submission, Energies(), name="other", model_domain="Catalysis")
    assert world.run_unit(told_otherwise).verdict is Verdict.STARTUP_FAILED


NAN_FOR_FIRST = """
from ase.calculators.emt import EMT

class Sometimes(EMT):
    calls = 0
    def calculate(self, *args, **kwargs):
        super().calculate(*args, **kwargs)
        self.calls += 1
        with open({calls!r}, "a") as file:
            file.write(".")
        if self.calls <= {bad}:
            self.results["energy"] = float("nan")

def make_calculator():
    return Sometimes()
"""


@pytest.mark.parametrize(
    ("bad", "failed_share", "asked", "verdict", "said"),
    [
        (6, 0.5, 4, Verdict.TOO_MANY_FAILURES, "Stopped early after 4 failures of 6 items (4 non finite); 2 were not"),
        (6, 0.25, 2, Verdict.TOO_MANY_FAILURES, "Stopped early after 2 failures of 6 items (2 non finite); 4 were not"),
        (6, 1.0, 6, Verdict.NON_FINITE, "Every one of the 6 items failed"),
        (3, 0.5, 6, Verdict.OK, "Completed; 3 of 6 items failed"),
    ],
)
def test_a_task_stops_early_beyond_its_share_of_failures(
    world: World, bad: int, failed_share: float, asked: int, verdict: Verdict, said: str
) -> None:
    calls = world.root / "calls"
    submission = world.submit("model", NAN_FOR_FIRST.format(calls=str(calls), bad=bad))
    limits = Limits(startup_s=30, message_s=30, cpus=1, max_atoms_per_batch=8)  # one frame a batch
    report = world.run_unit(world.unit(submission, KINDS["labelled_frames"], limits, failed_share=failed_share))
    assert report.verdict is verdict
    assert report.sentence.startswith(said)
    assert len(calls.read_text()) == asked


def test_parts_and_notes_are_kept_with_the_result(world: World) -> None:
    world.run_unit(world.unit(submitted(world, "pass"), Energies()))
    result = only_result(world)
    assert [(part.by, part.name, part.metric, part.value, part.unit, part.n_items) for part in result.parts] == [
        ("group", "g0", "energy", 1.5, "eV", 6),
        ("group", "g1", "energy", None, "eV", 6),
        ("group", "g2", "energy", None, "eV", 6),
    ]
    assert result.notes == {"mean": "of all frames"}
    assert result.n_items == 6


def test_a_result_keeps_no_endless_list_of_parts_and_says_so(world: World) -> None:
    kind = Energies()
    kind.n_parts = MAX_PARTS + 1
    world.run_unit(world.unit(submitted(world, "pass"), kind))
    result = only_result(world)
    assert len(result.parts) == MAX_PARTS
    assert f"of {MAX_PARTS + 1}" in result.notes["parts"]


def save_dispersed(data: Path, d3: D3 | None) -> LabelSet:
    """Copper labelled with EMT and PBE's D3(BJ): takes the place of the labels of EMT alone."""
    theory = LabelSet(theory="EMT and D3", dispersion=True, d3=d3)
    structures = rattled("Cu", 6, seed=len("copper"))
    energy, forces, stress = [], [], []
    for atoms in structures:
        total = [np.zeros(()), np.zeros((len(atoms), 3)), np.zeros(6)]
        for calculator in (EMT(), DFTD3(damping="d3bj", params_tweaks={"method": "pbe", "atm": False})):
            atoms.calc = calculator
            found = (atoms.get_potential_energy(), atoms.get_forces(), atoms.get_stress())
            total = [a + b for a, b in zip(total, found, strict=True)]
        for column, value in zip((energy, forces, stress), total, strict=True):
            column.append(value)
    card = Card(
        name="copper",
        version="1",
        title="Rattled copper",
        domain="Inorganic Materials",
        periodic=True,
        default_label_set="EMT",
        label_sets={"EMT": theory},
    )
    ids = tuple(f"copper-{i}" for i in range(6))
    labels = Labels(np.array(energy), np.concatenate(forces), np.array(stress))
    shutil.rmtree(data / "copper@1")
    table = Table(id=ids, group=("",) * 6, cluster=ids)
    save_dataset(Dataset(card, Frames.from_atoms(structures), table, {"EMT": labels}), data)
    return theory


@pytest.mark.parametrize(("d3", "agrees"), [(D3(functional="pbe"), True), (None, False)])
def test_d3_is_added_to_what_a_container_answers(world: World, d3: D3 | None, agrees: bool) -> None:
    theory = save_dispersed(world.root / "data", d3)
    submission = world.submit("emt")
    plain = world.unit(submission, KINDS["labelled_frames"])
    correction = correction_of(theory, Declared(name="EMT", dispersion=False))
    assert world.run_unit(replace(plain, correction=correction)).verdict is Verdict.OK
    result = only_result(world)
    value = result.metrics["force_rmse"].value
    assert value is not None
    assert (value < 1e-9) is agrees
    assert agrees or value > 1e-3
    assert result.notes["dispersion"] == correction.note
    assert result.provenance.dispersion == ("DFT-D3(pbe, bj)" if agrees else "")


def test_an_impossible_d3_is_told_before_anything_is_started(world: World) -> None:
    submission = submitted(world, "pass")
    theory = LabelSet(theory="no such", dispersion=True, d3=D3(functional="no-such"))
    correction = correction_of(theory, Declared(name="EMT", dispersion=False))
    unit = replace(world.unit(submission, Energies()), correction=correction)
    driver = ProcessDriver(RunDir(world.settings.run_dir))
    target = ExecutionTarget(driver, driver.resolve(submission.image.reference), "this machine", None)
    claimed = claim(world.store, unit.prefix, (), 1.0)
    assert claimed is not None
    with pytest.raises(JudgeFault, match="no parameters for functional 'no-such'") as raised:
        observe_unit(
            unit, target, UnitStorage(world.store, world.settings.data), claimed, lambda done, total, unit: None
        )
    assert raised.value.cause is FaultCause.MEASURE
    assert not (world.root / "marks").exists()
