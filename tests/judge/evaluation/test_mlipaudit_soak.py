"""MLIPAudit's smallest variant through containers, by commands alone: nothing is missing, and it takes as planned."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from judge.ranking.load import read_board
from judge.records.records import Claim, End
from sandbox.limits import GIB
from scoring import Term
from scoring.names import MLIPAUDIT
from submissions.store.local import LocalStore
from tasks.suites.suite import load_suite

pytestmark = [pytest.mark.docker, pytest.mark.data, pytest.mark.soak, pytest.mark.timeout(900)]

SUITE = "mlipaudit-dev"
ROOT = Path(__file__).parents[3]
PERIODIC = {"water", "solvents", "proteins"}
MEMORY = 16 * GIB  # CHGNet takes 9 GB for 1,503 atoms of water


@pytest.fixture(scope="module")
def folder(images: None, reference_data: Path) -> Iterator[Path]:
    """A folder with the data sets."""
    with TemporaryDirectory(prefix="lj") as name:
        command(Path(name), "judge", "data", "import", "mlipaudit", str(reference_data / "mlipaudit"), "--mode", "dev")
        yield Path(name)


def command(folder: Path, name: str, *arguments: str) -> str:
    """The output of a command in `folder`."""
    environment = {**os.environ, "LAMBENCH_LIMITS__MEMORY_BYTES": str(MEMORY)}
    program = Path(sys.executable).parent / name
    done = subprocess.run([program, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr  # 1: a task has another verdict than OK
    return done.stdout


def judged(folder: Path, model: str) -> tuple[str, float, float]:
    """The ID of an example, and the seconds of its units: planned, and taken."""
    card = ROOT / "submissions" / "examples" / model / "lambench.toml"
    submitted = json.loads(command(folder, "lambench-submit", f"lambench/{model}", "--card", str(card), "--json"))
    plan = json.loads(command(folder, "judge", "plan", submitted["id"], "--suite", SUITE, "--json"))
    command(folder, "judge", "evaluate", submitted["id"], "--suite", SUITE)
    return submitted["id"], plan["seconds"], seconds_taken(folder / "var" / "store" / "attempts" / submitted["id"])


def seconds_taken(attempts: Path) -> float:
    """The time from the claims of all units to their ends."""
    taken = 0.0
    for claim in attempts.glob("*/*/*/claim.json"):
        started = Claim.model_validate_json(claim.read_bytes()).started
        taken += (End.model_validate_json((claim.parent / "end.json").read_bytes()).ended - started).total_seconds()
    return taken


def benchmarks_of(overall: Term) -> dict[str, float | None]:
    """The scores of MLIPAudit's benchmarks."""
    return {each.name: each.value for category in overall.parts for each in category.parts}


@pytest.mark.parametrize("model", ["xtb", "chgnet"])
def test_the_smallest_variant(folder: Path, model: str) -> None:
    """The example of GFN2-xTB knows molecules alone, CHGNet all."""
    id, planned, taken = judged(folder, model)
    print(f"{model}: planned {planned:.0f} s, took {taken:.0f} s")
    assert 0.5 < taken / planned < 2.0
    suite = load_suite(SUITE)
    board = read_board(LocalStore(folder / "var" / "store"), suite, pytest.fail)
    (row,) = [row for row in board.rows if row.submission.id == id]
    refused = PERIODIC if model == "xtb" else set()
    assert {line.task.name: line.status for line in row.tasks} == {
        task.name: "UNSUPPORTED" if task.name in refused else "OK" for task in suite.tasks
    }
    lost = {benchmark for task in suite.tasks if task.name in refused for benchmark in task.mlipaudit}
    scores = benchmarks_of(row.scores[MLIPAUDIT])
    assert len(scores) == 18
    assert {name for name, score in scores.items() if score is None} == lost
    assert row.scores[MLIPAUDIT].value == pytest.approx(sum(score or 0.0 for score in scores.values()) / 18)
