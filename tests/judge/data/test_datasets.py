"""Data sets that are missing, built, or of the wrong sort: told before anything is run."""

from __future__ import annotations

import re
import shlex
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path

import click
import numpy as np
import pytest
import typer
from ase.build import bulk, molecule
from ase.calculators.emt import EMT
from ase.io import write
from pydantic import BaseModel
from rich.console import Console
from typer.testing import CliRunner

from judge.cli.main import app
from judge.data.datasets import build_quickstart, import_lines
from judge.evaluation.evaluate import in_words
from judge.evaluation.unit_report import Did
from submissions.progress import Reporter
from tasks.datasets.dataset import load_dataset
from tasks.importing.crystal_tables import StatedCrystals
from tasks.importing.dynamics import StatedSystems
from tasks.importing.ml_peg.import_layout import card_of
from tasks.importing.mlipaudit.import_layout import dataset_name
from tasks.importing.reaction_paths import StatedPaths
from tasks.importing.reactions import StatedReactions
from tasks.importing.scans import StatedScans
from tasks.kinds.dynamics import DynamicsParameters
from tasks.kinds.registry import GROUP, KINDS
from tasks.simulation.start_geometries import start_geometries
from tasks.suites.suite import Task, load_suite, packaged_suites, read_suite
from tests.world.world import World

MANUAL = Path(__file__).parents[3] / "docs" / "suites.md"

MORE = """
[[tasks]]
name = "tin"
kind = "labelled_frames"
dataset = "tin@2"
domain = "Inorganic Materials"
time_limit_s = 60
source = "the drawer of A. Author"
import = ["judge data import deepmd TIN --name tin --version 2", "judge data verify tin@2"]

[[tasks]]
name = "barriers"
kind = "energy_differences"
dataset = "barriers@1"
domain = "Molecules"
time_limit_s = 60

[[tasks]]
name = "barriers-again"
kind = "energy_differences"
dataset = "barriers@1"
domain = "Molecules"
time_limit_s = 60
"""


def test_nothing_is_built_for_no_submission_and_what_is_missing_is_named_all_the_same(world: World) -> None:
    world.write_settings(suite="quickstart")
    status, out, _ = world.run_here("evaluate", "--all")
    assert (status, "Building" in out, "nothing to judge" in out) == (0, False, True)
    assert not (world.root / "data" / "s22@1").exists()
    world.write_settings(suite="gscdb")
    status, _, err = world.run_here("plan")
    assert (status, "data sets are missing" in err) == (2, True)


TABLES: dict[str, type[BaseModel]] = {
    "reactions.json": StatedReactions,
    "scans.json": StatedScans,
    "paths.json": StatedPaths,
    "crystals.json": StatedCrystals,
    "systems.json": StatedSystems,
}


def test_the_tables_of_the_manual_are_tables_that_are_read() -> None:
    sections = re.findall(
        r"^### (\w+\.json)\n(.*?)(?=^##)", MANUAL.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert [name for name, _ in sections] == list(TABLES)
    for name, text in sections:
        (example,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
        assert TABLES[name].model_validate_json(example)


def add_tasks(world: World, text: str) -> None:
    """The suite of the world, and more."""
    path = world.root / "small.toml"
    path.write_text(path.read_text() + text)


def test_missing_data_sets_are_all_named_with_the_remedy_and_nothing_is_run(world: World) -> None:
    world.write_settings()
    world.submit("emt")
    add_tasks(world, MORE)
    status, _, err = world.run("evaluate", "--all")
    assert status == 2
    assert f"suite small: 2 of 4 data sets are missing in {world.root / 'data'}" in err
    assert "tin@2 for tin (labelled_frames)" in err
    assert "the drawer of A. Author" in err
    assert "judge data import deepmd TIN --name tin --version 2\n      judge data verify tin@2" in err
    assert "barriers@1 for barriers (energy_differences), barriers-again (energy_differences)" in err
    generic = "judge data import reactions FOLDER --name barriers --version 1 --domain Molecules --label-set"
    assert generic in err.replace("'", "")
    assert "--skip-missing" in err
    assert "Traceback" not in err
    assert not list(world.store.list("attempts/"))


def test_a_misspelt_data_set_gets_the_closest_name(world: World) -> None:
    world.write_settings()
    add_tasks(world, MORE.replace('"barriers@1"', '"nickl@1"').replace('"tin@2"', '"coper@1"'))
    _, _, err = world.run_here("plan")
    assert "barriers-again (energy_differences); did you mean nickel@1?" in err
    assert "coper@1 for tin (labelled_frames)\n" in err  # the suite states how to get it


def test_the_rest_is_judged_when_told_to_and_what_is_left_out_is_said(world: World) -> None:
    world.submit("emt")
    add_tasks(world, MORE)
    summary, printed = world.evaluate(skip_missing=True)
    assert [(unit.task, unit.did) for unit in summary.units] == [("copper", Did.OBSERVED), ("nickel", Did.OBSERVED)]
    assert summary.skipped_tasks == ("tin", "barriers", "barriers-again")
    assert summary.exit_status == 0
    assert "Left out because their data sets are missing: tin, barriers, barriers-again" in printed
    assert "Not judged, since their data sets are missing: tin, barriers, barriers-again." in in_words(summary)
    again, _ = world.evaluate(skip_missing=True)
    assert in_words(again)[-1].startswith("Not judged")  # also when there is nothing else to do


def test_nothing_left_to_judge_is_an_error_also_when_missing_data_are_skipped(world: World) -> None:
    world.submit("emt")
    add_tasks(world, MORE)
    with pytest.raises(ValueError, match="suite small: 1 of 1 data sets are missing"):
        world.evaluate(skip_missing=True, tasks=("tin",))


def test_lists_and_pages_do_not_need_the_data_sets(world: World) -> None:
    world.write_settings()
    submission = world.submit("emt")
    add_tasks(world, MORE)
    world.evaluate(skip_missing=True)
    status, listed = world.run_json("list")
    assert (status, isinstance(listed, list) and listed[0]["ok"]) == (0, 2)
    assert world.run("site", "build")[0] == 0
    assert "tin" in (world.root / "site" / "submissions" / f"{submission.id}.html").read_text()


def test_a_kind_that_does_not_fit_its_data_set_is_told_before_anything_is_run(world: World) -> None:
    world.submit("emt")
    suite = (world.root / "small.toml").read_text()
    other = world.root / "other.toml"
    other.write_text(suite.replace("labelled_frames", "energy_differences", 1))
    with pytest.raises(ValueError, match="task copper: kind: energy_differences needs differences, and copper@1/table"):
        world.evaluate(suite=str(other))
    other.write_text(suite.replace("labelled_frames", "equation_of_state", 1))
    with pytest.raises(ValueError, match=r"needs curves, and copper@1/table\.json has no items at all"):
        world.evaluate(suite=str(other))
    assert not list(world.store.list("attempts/"))


def test_labelled_frames_of_a_data_set_without_labels_are_told_too_and_our_own_sets_are_built(world: World) -> None:
    world.submit("emt")
    other = world.root / "other.toml"
    other.write_text((world.root / "small.toml").read_text().replace("copper@1", "nve-crystals@1", 1))
    with pytest.raises(
        ValueError, match="task copper: kind: labelled_frames needs labels, and nve-crystals@1 has none"
    ):
        world.evaluate(suite=str(other))
    assert (world.root / "data" / "nve-crystals@1" / "card.toml").exists()
    assert not (world.root / "data" / "s22@1").exists()  # what is not asked for is not built


def test_a_domain_of_the_suites_own_is_named_beside_that_of_the_models(world: World) -> None:
    world.submit("emt")
    other = world.root / "other.toml"
    suite = (world.root / "small.toml").read_text().replace('"Inorganic Materials"', '"Reactions"')
    other.write_text(suite.replace("[[tasks]]", '[domains]\n"Reactions" = "Molecules"\n[[tasks]]', 1))
    with pytest.raises(
        ValueError, match=r"domain: is Molecules \(the suite's Reactions\), the data set's is Inorganic"
    ):
        world.evaluate(suite=str(other))


def every_import() -> list[tuple[str, str]]:
    """The import commands of all packaged suites, by data set; those of no suite come from the kinds."""
    lines: dict[tuple[str, str], None] = {}
    for name in packaged_suites():
        for task in load_suite(name).tasks:
            lines |= {(task.dataset, line): None for line in import_lines(task) if line.startswith("judge ")}
    return list(lines)


def test_every_import_line_is_one_that_the_command_understands() -> None:
    command = typer.main.get_command(app)
    lines = every_import()
    assert lines
    for dataset, line in lines:
        words = shlex.split(line)
        assert words[:2] == ["judge", "data"]
        context = click.Context(command)
        data = command.get_command(context, "data")  # type: ignore[attr-defined]
        stated = data.get_command(context, words[2]).make_context(words[2], words[3:]).params
        if words[2] == "make-trajectory":
            assert set(stated["molecules"]) <= start_geometries().keys()
            assert f"{stated['name']}@{stated['version']}" == dataset
        elif stated["format"] == "mlipaudit":  # many data sets by one command
            assert [f"{dataset_name(name, stated['mode'] or 'standard')}@1" for name in stated["only"]] == [dataset]
        elif stated["format"] == "ml-peg":
            assert [card_of(name).full_name for name in stated["only"]] == [dataset]
        else:
            assert f"{stated['name']}@{stated['version']}" == dataset


@pytest.mark.parametrize("name", [name for name in packaged_suites() if name.startswith("lambench")])
def test_with_no_data_every_set_of_a_release_is_named_with_its_import(name: str, world: World) -> None:
    with pytest.raises(ValueError, match=f"suite {name}: ") as refused:
        world.evaluate(suite=name)
    message = str(refused.value)
    tasks: list[Task] = list(load_suite(name).tasks)
    assert f"{len({task.dataset for task in tasks})} of {len({task.dataset for task in tasks})} data sets" in message
    for task in tasks:
        assert f"\n  {task.dataset} for " in message
        assert all(f"\n      {line}\n" in message for line in import_lines(task))
    assert not Path(world.settings.data / tasks[0].dataset).exists()


def test_the_equations_of_state_that_the_manual_imports(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command in docs/suites.md, as it stands, on volumes with EMT's energies."""
    world.write_settings()
    monkeypatch.chdir(world.root)
    frames = []
    for a in np.linspace(3.5, 3.7, 7):
        atoms = bulk("Cu", a=a, cubic=True)
        atoms.calc = EMT()
        atoms.info = {"name": "copper", "energy": atoms.get_potential_energy()}
        atoms.calc = None
        frames.append(atoms)
    write("curves.extxyz", frames, format="extxyz")
    (line,) = re.findall(r"^ *judge (data import eos .*)$", MANUAL.read_text(encoding="utf-8"), re.MULTILINE)
    result = CliRunner().invoke(app, shlex.split(line))
    assert result.exit_code == 0, result.output
    made = load_dataset(world.settings.data / "curves@1")
    assert made.table.curves[0].structures == tuple(range(7))


def test_the_suite_that_the_manual_shows_can_be_read() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)
    block, shorter, references, published, sources, _, package = blocks
    (task,) = read_suite(block, "docs/suites.md").tasks
    of_this_suite = references.partition("[references.metrics.s66]")[0].replace("bh28", task.name)
    (reference,) = read_suite(f"{block}\n{of_this_suite}", "docs/suites.md").references
    assert reference.metrics == {task.name: {"mae": 0.9851}}
    numbers = published.replace("bh28", task.name).replace("items.s66", f"items.{task.name}")
    suite = read_suite(f"{block}\n{numbers}", "docs/suites.md")
    assert [(number.item, number.name, number.value) for number in suite.published] == [
        ("", "mae", 4.21),
        ("01", "error", 0.52),
    ]
    pinned = read_suite(block + sources.replace('sha256 = "…"', f'sha256 = "{"0" * 64}"'), "docs/suites.md").sources
    assert [(source.name, source.n_bytes) for source in pinned] == [("mlip-arena", 2024), ("my-files", 1024)]
    water = next(task for task in read_suite(shorter, "docs/suites.md").tasks if task.name == "water")
    assert isinstance(water.parameters, DynamicsParameters)
    assert (water.parameters.steps, water.parameters.ensemble) == (20_000, "npt")
    assert (task.domain, task.model_domain, task.failed_share) == ("Reactions", "Molecules", 0.2)
    assert all(f"`{name}`" in MANUAL.read_text(encoding="utf-8") for name in (*packaged_suites(), *KINDS))
    assert list(tomllib.loads(package)["project"]["entry-points"]) == [GROUP]


class Together(StringIO):
    """Holds each of several writers until all of them write."""

    def __init__(self, barrier: threading.Barrier) -> None:
        super().__init__()
        self._barrier = barrier

    def write(self, text: str) -> int:
        self._barrier.wait(60)
        return super().write(text)


def test_several_workers_may_build_the_same_data_sets_at_once(tmp_path: Path) -> None:
    """All of them have found that they are missing before the first one is built."""
    tasks = [task for task in load_suite("demo").tasks if task.kind == "nve"]
    molecule("H2O")  # reads the collection of ASE, which threads cannot do at once; workers are processes
    barrier = threading.Barrier(3)
    reporters = [Reporter(Console(file=Together(barrier))) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda reporter: build_quickstart(tmp_path, tasks, reporter), reporters))
    assert [path.name for path in tmp_path.iterdir()] == [tasks[0].dataset]
    load_dataset(tmp_path / tasks[0].dataset)
