"""Events: a fixed vocabulary, one line of JSON each, no control characters; a log that fails does not stop judging."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.upkeep.event_log import events_to
from sandbox.events import Event, emit, plain
from tests.world.world import World

ROOT = str(Path(__file__).parents[3])


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_event_is_a_line_with_time_name_and_facts(tmp_path: Path) -> None:
    with events_to(tmp_path / "log" / "judge.jsonl"):
        emit(Event.ENDED, unit="attempts/a/b/", attempt=2, seconds=1.23456)
    emit(Event.ENDED, unit="nobody listens")
    (line,) = lines(tmp_path / "log" / "judge.jsonl")
    assert str(line.pop("time")).endswith("Z")
    assert line == {"event": "ended", "unit": "attempts/a/b/", "attempt": 2, "seconds": 1.235}


def test_facts_that_are_not_of_the_list_are_not_written(tmp_path: Path) -> None:
    with events_to(tmp_path / "log"):
        emit(Event.FAULT, positions="1.234567", sentence="x")  # type: ignore[call-arg]
    assert "1.234567" not in (tmp_path / "log").read_text()


@given(st.text())
def test_no_text_breaks_a_line_or_moves_a_cursor(text: str) -> None:
    assert plain(text).isprintable()


def test_control_characters_are_escaped_in_the_file(tmp_path: Path) -> None:
    with events_to(tmp_path / "log"):
        emit(Event.FAULT, sentence="one\ntwo\x1b[2J\u202e")
    raw = (tmp_path / "log").read_bytes()
    assert raw.count(b"\n") == 1
    assert b"\x1b" not in raw
    assert lines(tmp_path / "log")[0]["sentence"] == "one\\ntwo\\x1b[2J\\u202e"


def test_a_log_that_cannot_be_written_is_reported_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    with events_to(tmp_path / "file" / "log"):
        emit(Event.REAPED)
        emit(Event.REAPED)
    assert capsys.readouterr().err.count("cannot be written") == 1


WRITER = """
import sys
from pathlib import Path
from judge.upkeep import event_log
from sandbox.events import Event, emit

event_log.MAX_BYTES = 8_000
with event_log.events_to(Path(sys.argv[1])):
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(100):
        emit(Event.CLAIMED, unit="attempts/a/b/", attempt=number)
"""


def test_processes_that_rotate_one_log_lose_no_event(tmp_path: Path) -> None:
    """What four write fits into the files that are kept."""
    log = tmp_path / "judge.jsonl"
    program = [sys.executable, "-c", WRITER, str(log)]
    pipe = subprocess.PIPE
    writers = [subprocess.Popen(program, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT) for _ in range(4)]
    for writer in writers:
        assert writer.stdout
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin
        writer.stdin.write("begin\n")
        writer.stdin.flush()
    assert [writer.communicate(timeout=60)[1] for writer in writers] == [""] * 4
    files = sorted(log.parent.iterdir())
    assert [file.name for file in files] == ["judge.jsonl", *(f"judge.jsonl.{n}" for n in range(1, len(files)))]
    assert len(files) > 2
    assert max(file.stat().st_size for file in files) <= 8_000
    attempts = sorted(str(line["attempt"]) for file in files for line in lines(file))
    assert attempts == sorted(str(number) for number in range(100) for _ in writers)


def test_a_run_tells_its_steps_in_order_and_looking_tells_nothing(world: World) -> None:
    world.write_settings()
    assert world.run_here("list")[0] == 0
    assert not (world.root / "judge.jsonl").exists()
    world.submit("emt")
    assert world.run_here("evaluate", "--all", "--task", "copper")[0] == 0
    events = [line["event"] for line in lines(world.root / "judge.jsonl")]
    assert events == [
        "run begun",
        "reaped",
        "claimed",
        "container started",
        "ready",
        "answered",
        "container ended",
        "observation stored",
        "ended",
        "measured",
        "items stored",
        "result stored",
        "run ended",
    ]
