"""Faults of the judge and of its data sets: units are refused, tried again, held or left to another judge."""

from __future__ import annotations

import errno
import shutil
import sys

import pytest

from judge.config import UsageError
from judge.evaluation.observe import kind_at_fault
from judge.evaluation.unit_report import Did
from judge.records.attempts import LEFT, MAX_DEATHS, claim, read_histories, read_history
from judge.records.process_identity import process_identity
from judge.records.records import Claim
from sandbox.verdict import FaultCause, JudgeFault, Verdict
from submissions.records import utc_now
from tasks.datasets.dataset import DatasetError
from tasks.kinds.registry import KINDS
from tests.world.world import World

pytestmark = pytest.mark.takes(1.5)

RAISES = "def make_calculator():\n    raise RuntimeError('no')\n"


def make_driver_unusable(world: World) -> None:
    """No run directory, no folder of the submission: nothing could be started."""
    shutil.rmtree(world.root / "run")
    (world.root / "run").write_text("in the way")
    shutil.rmtree(world.root / "emt")


def test_a_folder_changed_since_it_was_submitted_is_not_judged(world: World) -> None:
    world.submit("emt")
    (world.root / "emt" / "calculator.py").write_text(RAISES)
    summary, _ = world.evaluate()
    assert {unit.fault for unit in summary.units} == {FaultCause.REGISTRY}
    assert "submit it again" in summary.units[0].sentence
    assert summary.exit_status == 1
    assert not list(world.store.list("attempts/"))


def test_a_judges_fault_is_tried_three_times_then_held_then_tried_once_more(world: World) -> None:
    """The fault is real: the Python that the submission names is there, and cannot be run."""
    python = world.root / "python"
    python.write_text("no program")
    python.chmod(0o755)
    submission = world.submit("emt", python=python)

    def tries() -> int:
        (history,) = read_histories(world.store, [submission.id]).values()
        return len(history.faults)

    summary, _ = world.evaluate(tasks=("copper",))
    assert [(unit.did, unit.fault) for unit in summary.units] == [(Did.HELD, FaultCause.DISK)]
    assert "--retry-held" in summary.units[0].sentence
    assert summary.exit_status == 1
    assert tries() == 3
    again, _ = world.evaluate(tasks=("copper",))
    assert [unit.did for unit in again.units] == [Did.HELD]
    assert tries() == 3
    world.evaluate(tasks=("copper",), retry_held=True)
    assert tries() == 4
    assert not world.results()
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    corrected, _ = world.evaluate(tasks=("copper",), retry_held=True)
    assert [unit.did for unit in corrected.units] == [Did.OBSERVED]
    assert [result.verdict for result in world.results()] == [Verdict.OK]


def test_a_claim_of_a_dead_judge_elsewhere_is_taken_over_after_its_beat_has_stood_still(world: World) -> None:
    world.submit("emt")
    prefixes = sorted(prefixes_of(world))
    for prefix in prefixes:
        record = Claim(owner="another boot/ns/1/1/t", host="elsewhere", started=utc_now())
        world.store.put_if_absent(f"{prefix}1/claim.json", record.model_dump_json().encode())
    summary, output = world.evaluate()
    assert [unit.did for unit in summary.units] == [Did.OBSERVED] * 2
    assert "claimed by another judge" in output
    assert [read_history(world.store, prefix).attempts[-1].n for prefix in prefixes] == [2, 2]


def test_a_claim_of_a_living_judge_is_left_to_it(world: World) -> None:
    world.submit("emt")
    prefix = min(prefixes_of(world))
    claimed = claim(world.store, prefix, (), 0.1)
    assert claimed is not None
    with claimed:
        summary, _ = world.evaluate()
    assert sorted(unit.did for unit in summary.units) == [Did.ELSEWHERE, Did.OBSERVED]
    assert len(world.results()) == 1


def test_a_unit_over_which_one_judge_after_another_died_is_held(world: World) -> None:
    world.submit("emt")
    poisoned, _ = sorted(prefixes_of(world))
    boot, namespace, pid, _, token = process_identity().split("/")
    for n in range(1, MAX_DEATHS + 1):
        gone = Claim(owner=f"{boot}/{namespace}/{pid}/1/{token}", host="here", started=utc_now())
        world.store.put(f"{poisoned}{n}/claim.json", gone.model_dump_json().encode())
    summary, output = world.evaluate()
    assert sorted(unit.did for unit in summary.units) == [Did.HELD, Did.OBSERVED]
    assert f"died or was killed {MAX_DEATHS} times" in output
    again, _ = world.evaluate()
    assert sorted(unit.did for unit in again.units) == [Did.HELD, Did.NOTHING]
    assert len(read_history(world.store, poisoned).attempts) == MAX_DEATHS + 1
    freed, _ = world.evaluate(retry_held=True)
    assert sorted(unit.did for unit in freed.units) == [Did.NOTHING, Did.OBSERVED]


def test_attempts_that_workers_left_in_good_order_are_no_deaths(world: World) -> None:
    world.submit("emt")
    prefix, _ = sorted(prefixes_of(world))
    for n in range(1, MAX_DEATHS + 1):
        elsewhere = Claim(owner="another boot/pid:[1]/1/1/0", host="elsewhere", started=utc_now())
        world.store.put(f"{prefix}{n}/claim.json", elsewhere.model_dump_json().encode())
        world.store.put(f"{prefix}{n}/beat.json", LEFT)
    summary, _ = world.evaluate()
    assert [unit.did for unit in summary.units] == [Did.OBSERVED, Did.OBSERVED]


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (AssertionError("a law of ours"), FaultCause.MEASURE),
        (MemoryError(), FaultCause.MEASURE),
        (FileNotFoundError("gone"), FaultCause.MEASURE),
        (OSError(errno.ENOSPC, "No space left on device"), FaultCause.DISK),
    ],
)
def test_whatever_our_own_code_raises_ends_one_unit_only(world: World, error: Exception, cause: FaultCause) -> None:
    unit = world.unit(world.submit("emt"), KINDS["labelled_frames"])
    with pytest.raises(JudgeFault) as caught, kind_at_fault(unit):
        raise error
    assert caught.value.cause is cause


def prefixes_of(world: World) -> set[str]:
    """The units' prefixes, learnt from a run whose records are then removed."""
    world.evaluate()
    prefixes = {key.rsplit("/", 2)[0] + "/" for key in world.store.list("attempts/")}
    for top in ("attempts/", "results/", "observations/"):
        for key in list(world.store.list(top)):
            world.store.delete(key)
    return prefixes


def test_observing_opens_no_label(world: World) -> None:
    """A task without labels and table is observed; once they exist, it is only measured."""
    world.submit("emt")
    folder, aside = world.root / "data" / "copper@1", world.root / "aside"
    aside.mkdir()
    for name in ("labels.safetensors", "table.json"):
        (folder / name).rename(aside / name)
    summary, output = world.evaluate(tasks=("copper",))
    assert [(unit.did, unit.fault) for unit in summary.units] == [(Did.FAULT, FaultCause.MEASURE)]
    assert "copper@1/table.json" in output
    assert summary.exit_status == 1
    for file in list(aside.iterdir()):
        file.rename(folder / file.name)
    make_driver_unusable(world)
    summary, _ = world.evaluate(tasks=("copper",))
    assert [(unit.did, unit.verdict) for unit in summary.units] == [(Did.MEASURED, Verdict.OK)]


def test_broken_structures_are_refused_before_anything_is_started(world: World) -> None:
    world.submit("emt")
    path = world.root / "data" / "copper@1" / "frames.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(DatasetError, match=r"copper@1/frames\.safetensors: sha256"):
        world.evaluate()
    assert not list(world.store.list("attempts/"))


def test_what_cannot_be_asked_for_is_named(world: World) -> None:
    submission = world.submit("emt")
    with pytest.raises(UsageError, match="no submission 'nobody'"):
        world.evaluate(ids=("nobody",))
    with pytest.raises(UsageError, match="has copper, nickel"):
        world.evaluate(tasks=("tin",))
    with pytest.raises(UsageError, match="--driver process"):
        world.evaluate(ids=(submission.id,), driver="docker")
    suite = (world.root / "small.toml").read_text()
    (world.root / "other.toml").write_text(suite.replace("Inorganic Materials", "Molecules", 1))
    with pytest.raises(UsageError, match="task copper: domain: is Molecules"):
        world.evaluate(suite=str(world.root / "other.toml"))
    summary, output = world.evaluate(driver="docker")
    assert not summary.units
    assert "--driver process" in output


def test_a_gpu_that_is_not_there_is_a_judges_fault_and_never_the_cpu(world: World) -> None:
    world.submit("emt")
    with pytest.raises(Exception, match="GPU-0000 is not in this machine"):
        world.evaluate(gpus=("GPU-0000",))
    assert not list(world.store.list("attempts/"))


def test_a_broken_data_set_is_named_with_file_and_field(world: World) -> None:
    world.submit("emt")
    card = world.root / "data" / "copper@1" / "card.toml"
    card.write_text(card.read_text().replace('title = "Rattled copper"\n', ""))
    with pytest.raises(DatasetError, match=r"copper@1/card\.toml: title") as raised:
        world.evaluate()
    assert "\n" not in str(raised.value)


def test_what_a_dead_judge_left_is_removed_even_where_there_is_nothing_to_do(world: World) -> None:
    world.submit("emt")
    world.evaluate()
    left = world.root / "run" / "sessions" / "1-deadbeef-0a1b2c3d"
    left.mkdir()
    summary, _ = world.evaluate()
    assert {unit.did for unit in summary.units} == {Did.NOTHING}
    assert not left.exists()
