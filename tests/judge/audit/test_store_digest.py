"""The digest of a store: two stores have the same digest exactly if the same was judged."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from judge.audit.store_digest import digest_lines, digest_of, line_of
from judge.records.records import Result, Signature
from sandbox.verdict import Verdict
from tasks.metrics.metric import Metric
from tests.world.board_records import SUITE, good_results, refused, submission
from tests.world.small_data import save_frames
from tests.world.world import World

MODEL = submission("emt")
FRAMES, *_, SPEED = good_results(MODEL, 0.5)


def changed(result: Result, **fields: Any) -> str:
    return line_of(result.model_copy(update=fields))


def with_provenance(result: Result, **fields: Any) -> str:
    return changed(result, provenance=result.provenance.model_copy(update=fields))


def metric(result: Result, value: float) -> dict[str, Metric]:
    return {name: replace(record, value=value) for name, record in result.metrics.items()}


def test_when_where_and_by_whom_does_not_show() -> None:
    origin = FRAMES.provenance.origin.model_copy(update={"host": "another", "gpu": "GPU-1", "selftest": "s"})
    signature = Signature(key="0" * 64, value="1" * 128)
    line = line_of(FRAMES)
    assert changed(FRAMES, measured=FRAMES.measured + timedelta(days=1)) == line
    assert changed(FRAMES, peaks=None, signature=signature, phase="done", result_key="0" * 32) == line
    assert with_provenance(FRAMES, origin=origin, measured_with="0.2.0") == line


@pytest.mark.parametrize(
    "fields",
    [
        {"submission": "other-0123456789ab"},
        {"task": "other"},
        {"verdict": Verdict.CRASHED},
        {"n_items": 9},
        {"failures": {"ERROR": 1}},
        {"metrics": {}},
        {"metrics": metric(FRAMES, 0.1 + 0.2)},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_all_that_was_found_does(fields: dict[str, Any]) -> None:
    assert changed(FRAMES, **fields) != line_of(FRAMES)


def test_the_observation_and_the_last_digit_of_a_metric_show() -> None:
    assert with_provenance(FRAMES, observation="0" * 64) != line_of(FRAMES)
    a, b = (changed(FRAMES, metrics=metric(FRAMES, value)) for value in (0.3, 0.1 + 0.2))
    assert a != b
    assert "0.30000000000000004" in b


def test_of_what_takes_times_only_verdict_and_counts_show() -> None:
    line = line_of(SPEED)
    assert SPEED.kind == "efficiency"
    assert changed(SPEED, metrics=metric(SPEED, 1.0), result_key="0" * 32) == line
    assert with_provenance(SPEED, observation="0" * 64) == line
    assert changed(SPEED, verdict=Verdict.TIME_LIMIT) != line
    assert changed(SPEED, failures={"ERROR": 1}) != line


def test_a_verdict_without_an_observation_has_a_line() -> None:
    result = refused(MODEL, SUITE.tasks[0], Verdict.CRASHED)
    assert json.loads(line_of(result))["verdict"] == "CRASHED"


def test_the_digest_is_of_the_lines_in_any_order() -> None:
    assert digest_of(["b", "a"]) == digest_of(["a", "b"]) == hashlib.sha256(b"a\nb\n").hexdigest()
    assert digest_of(["ab"]) != digest_of(["a", "b"])


def test_two_stores_judged_alike_have_one_digest_and_a_label_changes_it(world: World, tmp_path: Path) -> None:
    world.submit("emt")
    world.evaluate()
    elsewhere = replace(world, root=tmp_path)
    save_frames(tmp_path / "data", "Cu", "copper")
    save_frames(tmp_path / "data", "Ni", "nickel")
    (tmp_path / "small.toml").write_bytes((world.root / "small.toml").read_bytes())
    elsewhere.submit("emt")
    elsewhere.evaluate(tasks=("nickel",))
    assert digest_lines(elsewhere.store) == [line for line in digest_lines(world.store) if '"nickel"' in line]
    elsewhere.evaluate()
    assert digest_lines(elsewhere.store) == digest_lines(world.store)
    save_frames(tmp_path / "data", "Cu", "copper", shift=0.1)
    elsewhere.evaluate()
    assert digest_lines(elsewhere.store) != digest_lines(world.store)
    assert len(digest_lines(elsewhere.store)) == 2


def test_the_command_says_it_to_people_and_machines(world: World) -> None:
    world.write_settings()
    status, out, _ = world.run_here("store", "digest")
    assert (status, out) == (0, f"{hashlib.sha256(b'').hexdigest()}  0 results\n")
    world.submit("emt")
    world.evaluate()
    status, answer = world.run_json_here("store", "digest", "--lines")
    assert status == 0
    assert answer == {"digest": digest_of(answer["lines"]), "results": 2, "lines": digest_lines(world.store)}
    status, out, _ = world.run_here("store", "digest", "--lines")
    *lines, last = out.splitlines()
    assert lines == answer["lines"]
    assert last == f"{answer['digest']}  2 results"
    status, out, _ = world.run_here("store", "digest")
    assert out == f"{last}\n"
    assert not (world.root / "judge.jsonl").exists()
