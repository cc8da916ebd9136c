"""The rooms: `make lint` refuses an import that runs up or across, a module outside a room, and a refused word."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ("judge", "submissions", "sandbox", "tasks", "scoring", "templates")
MAX_MODULES = 30
PLANTED = {
    "judge/records/records.py": "from judge.cli.main import main",
    "judge/ranking/build.py": "from judge.evaluation.evaluate import evaluate",
    "tasks/structures/frames.py": "from tasks.kinds.registry import KINDS",
    "submissions/store/interface.py": "from submissions.client.upload import Web",
    "sandbox/limits.py": "from sandbox.wire.session import run_session",
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the product, to plant imports in."""
    for name in PRODUCT:
        shutil.copytree(
            ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "examples", "starters")
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint_imports(folder: Path) -> tuple[int, str]:
    """Exit status and output of the import contract, checked on `folder`."""
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=folder, capture_output=True, text=True, timeout=240, check=False)
    return done.returncode, done.stdout + done.stderr


def test_an_import_that_runs_up_or_across_is_refused(copy: Path) -> None:
    for path, line in PLANTED.items():
        with (copy / path).open("a") as module:
            module.write(f"\n{line}\n")
    (copy / "judge" / "stray.py").write_text('"""A module outside every room."""\n')
    status, output = lint_imports(copy)
    assert status != 0
    for path, line in PLANTED.items():
        importer, imported = path.removesuffix(".py").replace("/", "."), line.split()[1]
        assert f"{importer} -> {imported}" in output, output
    assert "- judge.stray" in output


def test_no_room_is_overfull() -> None:
    rooms = {init.parent for name in PRODUCT for init in (ROOT / name).rglob("__init__.py")}
    counts = {room: sum(file.name != "__init__.py" for file in room.glob("*.py")) for room in rooms}
    assert {room: count for room, count in counts.items() if count > MAX_MODULES} == {}


@pytest.mark.parametrize("root", ["judge", "tasks"])
def test_every_module_lies_in_a_room(root: str) -> None:
    outside = {file.stem for file in (ROOT / root).glob("*.py")}
    assert outside <= {"__init__", "config", "version", "gc_pause", "parallel", "workspace", "kind"}
