"""What a newcomer sees first: the page after two models, by a package that is installed outside a clone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from judge.cli.maintainer.demo import SUITE
from judge.demo.examples import AT_FIRST, MODELS, card_of_example
from submissions.card.file import read_card
from tasks.suites.suite import load_suite

ROOT = Path(__file__).parents[3]
PRODUCT = ("judge", "submissions", "sandbox", "tasks", "scoring", "templates")
BUILD = "from setuptools import setup; setup()"
# The first two models need numpy and ase alone, so this Python can run them.
DEMONSTRATION = """
import sys
from rich.console import Console
from judge.cli.maintainer import demo
from judge.demo.examples import AT_FIRST, EXAMPLES, MODELS

shown = demo.Demonstration(demo._workspace(), Console(), demo.SUITE, "process")
shown.judge([shown.submit(name, f"{EXAMPLES / name}?python={sys.executable}") for name in MODELS[:AT_FIRST]])
sys.exit(shown.exit_status)
"""


@pytest.fixture(scope="module")
def installed() -> Iterator[Path]:
    """A folder with the product as pip installs it, and none of the clone."""
    with TemporaryDirectory(prefix="lj") as place:
        source, target = Path(place) / "source", Path(place) / "installed"
        for name in PRODUCT:
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, source)
        build = [sys.executable, "-c", BUILD, "-q", "build", "--build-lib", str(target)]
        subprocess.run(build, cwd=source, check=True)
        shutil.rmtree(source)
        yield target


def run(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs this Python on the installed package, in an empty folder."""
    environment = {**os.environ, "PYTHONPATH": str(installed), "LAMBENCH_RUN_DIR": f"{folder}/run", "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_installed_package_explains_the_demonstration(installed: Path, tmp_path: Path) -> None:
    where = run(installed, tmp_path, "-c", "import judge; print(judge.__file__)")
    assert Path(where.stdout.strip()).is_relative_to(installed)
    helped = run(installed, tmp_path, "-m", "judge.cli.main", "demo", "--help")
    assert (helped.returncode, helped.stderr) == (0, "")
    assert "Judges five example models" in helped.stdout


@pytest.mark.soak
def test_the_first_page_shows_two_models_and_each_task_by_the_installed_package(installed: Path) -> None:
    with TemporaryDirectory(prefix="lj") as place:
        folder = Path(place)
        done = run(installed, folder, "-c", DEMONSTRATION)
        assert done.returncode == 0, done.stdout + done.stderr
        (address,) = re.findall(r"The leaderboard is (file://\S+)", done.stdout)
        index = Path(address.removeprefix("file://"))
        assert index.is_relative_to(folder)
        page = index.read_text()
        names = [read_card(card_of_example(name)).name for name in MODELS]
        assert all(name in page for name in names[:AT_FIRST])
        board = json.loads((index.parent / "leaderboard.json").read_text())
        assert {model["name"] for model in board["models"] if not model.get("reference")} == set(names[:AT_FIRST])
        tasks = load_suite(SUITE).tasks
        assert [task["name"] for task in board["tasks"]] == [task.name for task in tasks]
        assert all((index.parent / task["page"]).is_file() for task in board["tasks"])
        assert all(len(model["outcomes"]) == len(tasks) for model in board["models"])
