"""The plan, without a store."""

from __future__ import annotations

from typing import Any

import pytest

from judge.data.testset import TestSet
from judge.evaluation.plan import Circumstances, Planned, Step, TaskUnits, Unit, make_plan
from judge.records.attempts import Attempt, History
from judge.records.items_file import result_path
from judge.records.records import Claim, End
from sandbox.limits import Limits
from sandbox.verdict import FaultCause, Verdict
from submissions.records import ImageRecord, ModelCard, PreflightReport, StatedLabelSet, Submission, utc_now
from tasks.datasets.card import D3, LabelSet
from tasks.kinds.dynamics import DynamicsParameters
from tasks.kinds.registry import KINDS
from tasks.learning.training import Learning
from tasks.suites.suite import Task


def a_unit(
    declared: str | None = None,
    label_sets: tuple[str, ...] = ("PBE", "r2SCAN"),
    *,
    dispersion: bool = False,
    kind: str = "labelled_frames",
    task: dict[str, Any] | None = None,
    hardware: str = "this machine",
    **testset: Any,
) -> Unit:
    """A unit of a submission that declares `declared` for molecules, at a data set with these `label_sets`."""
    labels = {"Molecules": StatedLabelSet(name=declared, dispersion=dispersion)} if declared else {}
    submission = Submission(
        id="m-0123456789ab",
        created=utc_now(),
        card=ModelCard(name="m", label_sets=labels),
        image=ImageRecord(reference="m", id="sha256:0"),
        preflight=PreflightReport(checks=()),
    )
    stated: dict[str, Any] = {
        "name": "t",
        "kind": kind,
        "dataset": "d@1",
        "domain": "Molecules",
        "model_domain": "Molecules",
        "parameters": KINDS[kind].parameters(),
        "time_limit_s": 12.0,
        **(task or {}),
    }
    facts = {"frames_sha256": "f", "labels_sha256": "l", "table_sha256": "t", "reference_sha256": "r", **testset}
    default = label_sets[0] if label_sets else None
    known = TestSet("d@1", label_sets=label_sets, default_label_set=default, **facts)
    common = Circumstances("guest", Limits(cpus=1), hardware)
    return TaskUnits(Task(**stated), KINDS[kind], known, common).unit(submission)


def attempt(n: int, verdict: Verdict | None = None, fault: FaultCause | None = None) -> Attempt:
    claim = Claim(owner="o", host="h", started=utc_now())
    if verdict is None and fault is None:
        return Attempt(n, claim)
    observation = "0" * 64 if verdict is Verdict.OK else None
    return Attempt(n, claim, End(owner="o", ended=utc_now(), verdict=verdict, fault=fault, observation=observation))


def step(unit: Unit, *attempts: Attempt, results: tuple[str, ...] = (), retry_held: bool = False) -> Step:
    (planned,) = make_plan([unit], {unit.prefix: History(attempts)}, results.__contains__, retry_held)
    assert isinstance(planned, Planned)
    return planned.step


def result_of(unit: Unit, ended: Attempt) -> str:
    assert ended.end is not None
    return result_path(unit.submission.id, unit.task.name, unit.result_key(ended.end))


def test_what_was_never_tried_is_observed() -> None:
    assert step(a_unit()) is Step.OBSERVE


@pytest.mark.parametrize("verdict", [Verdict.OK, Verdict.CRASHED])
def test_what_ended_is_measured_once(verdict: Verdict) -> None:
    ended = attempt(1, verdict)
    assert step(a_unit(), ended) is Step.MEASURE
    assert step(a_unit(), ended, results=(result_of(a_unit(), ended),)) is Step.DONE


def test_a_claim_without_an_end_is_open_whatever_came_before() -> None:
    assert step(a_unit(), attempt(1, Verdict.OK), attempt(2)) is Step.OPEN


def test_judges_faults_are_tried_again_and_then_held() -> None:
    faults = [attempt(n, fault=FaultCause.DOCKER) for n in (1, 2, 3)]
    assert step(a_unit(), *faults[:2]) is Step.OBSERVE
    assert step(a_unit(), *faults) is Step.HELD
    assert step(a_unit(), *faults, retry_held=True) is Step.OBSERVE
    assert step(a_unit(), *faults, attempt(4, Verdict.OK)) is Step.MEASURE


@pytest.mark.parametrize("part", ["labels_sha256", "table_sha256", "reference_sha256"])
def test_other_labels_mean_measuring_and_other_structures_observing(part: str) -> None:
    ended = attempt(1, Verdict.OK)
    before, after = a_unit(), a_unit(**{part: "other"})
    assert after.prefix == before.prefix
    assert step(after, ended, results=(result_of(before, ended),)) is Step.MEASURE
    assert a_unit(frames_sha256="other").prefix != before.prefix


def test_other_labels_do_not_touch_a_verdict_without_an_observation() -> None:
    ended = attempt(1, Verdict.TIME_LIMIT)
    assert step(a_unit(labels_sha256="other"), ended, results=(result_of(a_unit(), ended),)) is Step.DONE


def test_the_declared_label_set_counts_if_there_are_such_labels() -> None:
    unit = a_unit("r2SCAN")
    assert (unit.label_set, unit.declared, unit.measured_label_set) == ("r2SCAN", True, "r2SCAN")
    unit = a_unit("HF")
    assert (unit.label_set, unit.declared, unit.measured_label_set) == ("PBE", False, "PBE")
    unit = a_unit()
    assert (unit.label_set, unit.declared) == ("PBE", False)
    assert a_unit("r2SCAN").prefix != a_unit("PBE").prefix == a_unit().prefix


def test_without_labels_the_declared_set_still_chooses_the_head() -> None:
    unit = a_unit("HF", ())
    assert (unit.label_set, unit.declared, unit.measured_label_set) == ("HF", True, None)
    assert a_unit(None, ()).label_set is None


def test_the_tasks_time_limit_is_the_containers() -> None:
    assert a_unit().limits == Limits(cpus=1, task_s=12.0)


def test_the_model_is_asked_as_its_own_domain_whatever_the_suite_calls_it() -> None:
    """A suite's own name of a domain is shown only: the model is asked the same."""
    five = a_unit("r2SCAN", task={"domain": "Small molecules"})
    assert (five.label_set, five.declared) == ("r2SCAN", True)
    assert five.prefix == a_unit("r2SCAN").prefix
    other = a_unit("r2SCAN", task={"model_domain": "Catalysis"})
    assert (other.label_set, other.declared) == ("PBE", False)
    assert other.prefix != a_unit().prefix


def test_another_share_of_failures_is_another_observation() -> None:
    assert a_unit(task={"failed_share": 0.25}).prefix != a_unit(task={"failed_share": 0.5}).prefix == a_unit().prefix


def test_one_observation_under_another_share_of_failures_has_another_verdict_and_so_another_result() -> None:
    end = attempt(1, Verdict.OK).end
    assert end is not None
    keys = {a_unit(task={"failed_share": share}).result_key(end) for share in (0.25, 0.5)}
    assert len(keys) == 2


def test_dynamics_know_their_runs_before_there_is_an_observation() -> None:
    assert a_unit(None, (), kind="nve", n_structures=3).n_unanswered == 3
    assert a_unit(n_structures=3).n_unanswered == 0


D3_OF_PBE = D3(functional="pbe")
DISPERSED = LabelSet(theory="PBE with D3", dispersion=True, d3=D3_OF_PBE)
DISPERSED_SOMEHOW = LabelSet(theory="PBE with something", dispersion=True)
BARE = LabelSet(theory="PBE", dispersion=False)


@pytest.mark.parametrize("kind", ["labelled_frames", "energy_differences"])
@pytest.mark.parametrize(
    ("theory", "dispersion", "added", "note"),
    [
        (DISPERSED, False, D3_OF_PBE, "DFT-D3(pbe, bj) was added"),
        (DISPERSED, True, None, ""),
        (DISPERSED, None, None, "does not say"),
        (DISPERSED_SOMEHOW, False, None, "states no D3"),
        (DISPERSED_SOMEHOW, True, None, ""),
        (DISPERSED_SOMEHOW, None, None, "does not say"),
        (BARE, False, None, ""),
        (BARE, True, None, "the labels have none"),
        (BARE, None, None, ""),
        (None, False, None, ""),
        (None, True, None, ""),
        (None, None, None, ""),
    ],
)
def test_dispersion_is_added_in_one_case_only(
    kind: str, theory: LabelSet | None, dispersion: bool | None, added: D3 | None, note: str
) -> None:
    """Labels: with D3 stated, with dispersion of another sort, without. Model: without, with, silent."""
    unit = a_unit(
        None if dispersion is None else "PBE",
        () if theory is None else ("PBE",),
        dispersion=bool(dispersion),
        kind=kind,
        theories={} if theory is None else {"PBE": theory},
    )
    assert unit.correction.d3 == added
    assert note in unit.correction.note
    assert bool(note) is bool(unit.correction.note)


def test_dispersion_is_never_added_where_nothing_is_held_against_a_label() -> None:
    unlabelled = {name for name, kind in KINDS.items() if not kind.traits.labelled}
    assert unlabelled == {"nve", "efficiency", "physicality"}
    for kind in unlabelled:
        unit = a_unit("PBE", dispersion=False, kind=kind, theories={"PBE": DISPERSED})
        assert unit.correction == (None, "")


def test_the_class_of_hardware_is_in_the_key_of_timings_and_of_what_is_trained_alone() -> None:
    """A trainer gets further on better hardware."""
    for kind in KINDS:
        prefixes = {a_unit(kind=kind, hardware=hardware).prefix for hardware in ("this machine", "that machine")}
        depends = kind == "efficiency" or isinstance(KINDS[kind], Learning)
        assert len(prefixes) == (2 if depends else 1), kind


def test_a_variant_of_dynamics_shares_no_answer_and_no_result_with_the_full_run() -> None:
    """Names and parameters are in the keys of observations and results, and a ranking is made task by task."""
    ended = attempt(1, Verdict.OK)
    full = a_unit(kind="dynamics")
    short = DynamicsParameters(steps=1000, variant="short")
    named = DynamicsParameters(variant="short")
    for parameters in (short, named):
        other = a_unit(kind="dynamics", task={"parameters": parameters})
        assert other.observation_key != full.observation_key
        assert result_of(other, ended) != result_of(full, ended)
        assert step(other, ended, results=(result_of(full, ended),)) is Step.MEASURE
    assert result_of(a_unit(kind="dynamics", task={"name": "u"}), ended) != result_of(full, ended)


def test_what_the_labels_say_of_dispersion_changes_the_key_only_where_it_is_added() -> None:
    plain = a_unit("PBE").prefix
    for theory in (BARE, DISPERSED_SOMEHOW):
        assert a_unit("PBE", theories={"PBE": theory}).prefix == plain
    added = a_unit("PBE", theories={"PBE": DISPERSED}).prefix
    assert added != plain
    assert a_unit("PBE", dispersion=True, theories={"PBE": DISPERSED}).prefix == plain
    of_another = a_unit("r2SCAN", theories={"PBE": DISPERSED, "r2SCAN": BARE})
    assert of_another.correction.d3 is None
    zero = LabelSet(theory="PBE with D3", dispersion=True, d3=D3(functional="pbe", damping="zero"))
    assert a_unit("PBE", theories={"PBE": zero}).prefix not in (plain, added)
    assert a_unit("HF", theories={"PBE": DISPERSED}).correction.d3 == D3_OF_PBE  # held against the default labels
