"""The commands that withdraw, disqualify and reinstate a submission."""

from __future__ import annotations

import json

import pytest

from judge.config import UsageError
from judge.evaluation.current_results import current_results
from judge.evaluation.unit_report import Did
from judge.records.attempts import read_histories
from judge.records.decisions import EventKind, record_event
from judge.records.signing import SigningKey
from submissions.store.interface import StoreError
from tasks.suites.suite import load_suite
from tests.judge.records.decision_events import a_round
from tests.world.world import World


def test_who_was_taken_out_is_not_judged_any_more_until_reinstated(world: World) -> None:
    world.write_settings()
    model = world.submit("emt")
    status, out, _ = world.run_here("withdraw", model.id, "--reason", "  a mistake\n in it ")
    assert status == 0
    assert f"{model.id}: withdrawn on 2" in out
    assert out.splitlines()[0].endswith(": a mistake in it")
    summary, output = world.evaluate()
    assert summary.units == ()
    assert f"{model.id} was withdrawn on" in output
    assert summary.skipped
    with pytest.raises(UsageError, match=rf"{model.id} was withdrawn on .*: a mistake in it \(judge reinstate"):
        world.evaluate(ids=(model.id,))
    assert read_histories(world.store, [model.id]) == {}
    assert world.run_here("reinstate", model.id, "--reason", "corrected")[0] == 0
    summary, _ = world.evaluate()
    assert [unit.did for unit in summary.units] == [Did.OBSERVED] * 2


def test_a_person_reads_in_list_and_show_who_was_taken_out(world: World) -> None:
    world.write_settings()
    model = world.submit("emt")
    assert json.loads(world.run_here("list", "--json")[1])[0]["decision"] == ""
    world.run_here("disqualify", model.id, "--reason", "[bold]trained[/] on the test set")
    _, listed = world.run_json_here("list")
    assert isinstance(listed, list)
    assert listed[0]["decision"].startswith("disqualified on 2")
    _, shown = world.run_json_here("show", model.id)
    assert isinstance(shown, dict)
    assert shown["decision"].endswith(": [bold]trained[/] on the test set")
    assert "Disqualified on 2" in world.run_here("show", model.id)[1]
    assert "[bold]trained[/]" in " ".join(world.run_here("show", model.id)[1].split())


def test_what_cannot_be_decided_is_one_line(world: World) -> None:
    world.write_settings()
    model = world.submit("emt").id
    why = ("--reason", "why")
    cases: list[tuple[tuple[str, ...], str]] = [
        (("withdraw", "nobody", *why), "there is no submission 'nobody'"),
        (("withdraw", model), "give a reason"),
        (("withdraw", model, "--reason", " \n "), "give a reason"),
        (("disqualify", model, "--reason", "w" * 501), "501 characters; 500 are allowed"),
        (("reinstate", model, *why), "nothing to reinstate"),
    ]
    for command, complaint in cases:
        status, _, err = world.run_here(*command)
        assert (status, err.count("\n")) == (2, 1), command
        assert complaint in err
    assert list(world.store.list(f"submissions/{model}/events/")) == []


def test_twice_the_same_is_refused_and_a_disqualification_is_not_softened(world: World) -> None:
    world.write_settings()
    model, why = world.submit("emt").id, ("--reason", "why")
    assert world.run_here("withdraw", model, *why)[0] == 0
    status, _, err = world.run_here("withdraw", model, *why)
    assert status == 2
    assert f"{model} was withdrawn on" in err
    assert world.run_here("disqualify", model, *why)[0] == 0
    for command in ("withdraw", "disqualify"):
        status, _, err = world.run_here(command, model, *why)
        assert (status, err.count("\n")) == (2, 1)
        assert f"{model} was disqualified on" in err
    assert len(list(world.store.list(f"submissions/{model}/events/"))) == 2
    lines = (world.root / "judge.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines if "event recorded" in line]
    assert [line["sentence"] for line in events] == ["withdrawn", "disqualified"]


def test_a_strangers_event_keeps_every_command_from_trusting_the_store(world: World) -> None:
    world.write_settings()
    model = world.submit("emt")
    world.evaluate()
    record_event(world.store, SigningKey(b"s" * 32), EventKind.APPLIED, model.id, "mine counts", rounds=(a_round(1),))
    for command in (("list",), ("show", model.id), ("evaluate", "--all"), ("score", "suite")):
        status, _, err = world.run_here(*command)
        assert status == 3, command
        assert "not trusted" in err
    status, _, err = world.run_here("site", "build")  # which leaves out what it cannot trust, and says so
    assert status == 1
    assert "not trusted" in err
    assert not (world.root / "site" / "submissions" / f"{model.id}.html").exists()
    with pytest.raises(StoreError, match="not trusted"):
        current_results(world.workspace, load_suite(world.settings.suite))
