"""The demonstration: its parts are in the package, its suite fits its data, and judging gives a page."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from io import BytesIO, StringIO
from pathlib import Path

import pytest
import requests
from rich.console import Console

from judge.cli.maintainer.demo import SUITE, Demonstration
from judge.demo.cache import run_quietly
from judge.demo.examples import BASE, EXAMPLES, MODELS, REFERENCES, card_of_example
from judge.demo.images import ExampleImages, build_client, find_base, write_context
from judge.demo.wheel_server import WheelServer
from judge.demo.wheels import pip
from sandbox.verdict import JudgeFault
from submissions.card.file import read_card
from tasks.kinds.registry import KINDS
from tasks.quickstart.registry import BUILDERS
from tasks.suites.suite import load_suite
from tests.world.world import World

ROOT = Path(__file__).parents[3]
PRODUCT = ("judge", "submissions", "sandbox", "tasks", "scoring", "templates")
KINDS_SHOWN = {"energy_differences", "labelled_frames", "equation_of_state", "nve", "efficiency"}


def test_the_suite_shows_five_kinds_on_data_that_come_along() -> None:
    tasks = load_suite(SUITE).tasks
    assert {task.kind for task in tasks} == KINDS_SHOWN <= set(KINDS)
    for task in tasks:
        assert BUILDERS[task.dataset.partition("@")[0]]().card.domain == task.model_domain == task.domain


def test_the_models_shown_for_comparison_are_among_those_that_are_judged() -> None:
    names = {read_card(card_of_example(name)).name for name in MODELS}
    assert set(REFERENCES) < names
    assert {"chgnet", "sevennet"} < set(MODELS)
    assert len(MODELS) == len(names) == 5


def test_an_installed_package_has_all_that_the_examples_are_built_from(tmp_path: Path) -> None:
    for name in PRODUCT:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    build = [sys.executable, "-c", "from setuptools import setup; setup()", "-q", "build", "--build-lib", "installed"]
    subprocess.run(build, cwd=tmp_path, check=True)
    for name in (BASE, *MODELS):
        files = {path.name for path in (EXAMPLES / name).iterdir() if path.is_file()}
        assert {"Dockerfile", "requirements.txt"} <= files
        folder = tmp_path / "installed" / "submissions" / "examples" / name
        assert {path.name for path in folder.iterdir()} == files


def test_a_model_is_submitted_once_and_judged_and_the_page_is_there(world: World) -> None:
    demo = Demonstration(world.workspace, Console(quiet=True), SUITE, "process")
    id = demo.submit("emt", f"{EXAMPLES / 'emt'}?python={sys.executable}")
    assert id is not None
    assert demo.submit("emt", f"{EXAMPLES / 'emt'}?python={sys.executable}") == id
    demo.judge([id])
    assert demo.exit_status == 0
    assert id in (world.settings.site_dir / "index.html").read_text()
    results = [key for key in world.store.list(f"results/{id}/") if key.endswith(".json")]
    assert len(results) == len(load_suite(SUITE).tasks)


def test_the_last_lines_make_other_commands_build_the_same_leaderboard(world: World) -> None:
    demo = Demonstration(world.with_settings(references=REFERENCES).workspace, Console(quiet=True), SUITE, "process")
    id = demo.submit("emt", f"{EXAMPLES / 'emt'}?python={sys.executable}")
    assert id is not None
    demo.judge([id])
    took, why, *settings = demo.last_lines(300.0)
    assert took.startswith("Done in 5 min 0 s. Judging took ")
    assert why == "GFN2-xTB has no rank. Other commands need these lines in judge.toml:"
    folder = world.settings.site_dir
    names = {path.relative_to(folder) for path in folder.rglob("*.html")}
    shutil.rmtree(folder)
    world.with_settings(**tomllib.loads("\n".join(settings))).write_settings()
    status, _, err = world.run("site", "build")
    assert status == 0, err
    assert {path.relative_to(folder) for path in folder.rglob("*.html")} == names


def test_a_model_that_fails_its_preflight_is_left_out_and_named(world: World, tmp_path: Path) -> None:
    (tmp_path / "calculator.py").write_text("raise RuntimeError('no weights')\n")
    text = StringIO()
    demo = Demonstration(world.workspace, Console(file=text, width=200), SUITE, "process")
    assert demo.submit("emt", f"{tmp_path}?python={sys.executable}") is None
    demo.judge([])
    assert demo.exit_status == 1
    assert "EMT is left out: it did not pass the preflight" in text.getvalue()
    assert "no weights" in text.getvalue()


def test_anyone_may_read_the_files_of_an_image_whatever_the_umask_was(tmp_path: Path) -> None:
    path = tmp_path / "calculator.py"
    path.write_text("x = 1\n")
    path.chmod(0o600)
    context = BytesIO()
    write_context(context, {"calculator.py": path, "model/a.txt": path})
    with tarfile.open(fileobj=context) as tar:
        assert [(entry.name, entry.mode) for entry in tar] == [("calculator.py", 0o644), ("model/a.txt", 0o644)]


def test_a_command_that_fails_is_one_line_with_a_remedy() -> None:
    code = "import sys; print('first'); sys.exit('last')"
    with pytest.raises(JudgeFault, match=r"do this: first \| last"):
        run_quietly([sys.executable, "-c", code], "do this")


def test_pip_installs_from_a_page_of_wheels_alone(tmp_path: Path) -> None:
    wheel = tmp_path / "a_model-1.0+cpu-py3-none-any.whl"  # a name as those of torch
    info = "a_model-1.0+cpu.dist-info"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("a_model.py", "x = 1\n")
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: a-model\nVersion: 1.0+cpu\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    address = WheelServer().address([wheel])
    options = ["--no-index", "--find-links", address, "--target", str(tmp_path / "out"), "--no-cache-dir"]
    run_quietly([*pip(), "install", "-q", *options, "a-model==1.0"], "it must be installed")
    assert (tmp_path / "out" / "a_model.py").exists()
    for other in (f"{address}pip.conf", f"{address}../{wheel.name}"):
        assert requests.get(other, timeout=10).status_code == 404


@pytest.mark.docker
def test_an_image_is_built_once() -> None:
    client, said = build_client(), list[str]()
    images = ExampleImages(client, find_base(client, None, said.append), said.append)
    images.build("emt")
    said.clear()
    assert images.build("emt") == "lambench/emt:latest"
    assert said == []
