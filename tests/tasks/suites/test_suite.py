"""Suites: the packaged suites are complete, and a broken one is refused with file and field."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tasks.datasets.dataset import load_dataset
from tasks.kinds.dynamics import DynamicsParameters
from tasks.kinds.nve import NveParameters
from tasks.kinds.registry import KINDS
from tasks.learning.training import Learning
from tasks.suites.suite import SuiteError, load_suite, packaged_suites, read_suite
from tasks.timing.efficiency import EfficiencyParameters

CHECKOUT = Path(__file__).parents[3]
SHARED = CHECKOUT / os.environ.get("LAMBENCH_TEST_DATA", "../shared/data")
PUBLISHED = SHARED / "lambench_leaderboard" / "v0.3.1" / "config.json"

GOOD = """
name = "mine"
version = "1"
title = "Mine"
[[tasks]]
name = "drift"
kind = "nve"
dataset = "nve-crystals@1"
domain = "Inorganic Materials"
time_limit_s = 60
parameters = { steps = 10 }
"""


def test_quickstart_covers_all_kinds_that_train_nothing_and_its_datasets_exist(quickstart: Path) -> None:
    suite = load_suite("quickstart")
    assert "quickstart" in packaged_suites()
    assert {task.kind for task in suite.tasks} == {
        name for name, kind in KINDS.items() if not isinstance(kind, Learning)
    }
    for task in suite.tasks:
        assert load_dataset(quickstart / task.dataset).card.domain == task.model_domain == task.domain
    nve = [task for task in suite.tasks if task.kind == "nve"]
    sizes = [len(load_dataset(quickstart / task.dataset).frames) for task in nve]
    assert sizes == [3, 3, 3]
    for task in nve:
        assert isinstance(task.parameters, NveParameters)
        assert task.parameters.steps == 200
    timing = next(task.parameters for task in suite.tasks if task.kind == "efficiency")
    assert isinstance(timing, EfficiencyParameters)
    assert (timing.n_frames, timing.max_atoms) == (20, 128)


def test_a_suite_is_loaded_from_a_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    task = load_suite(path).tasks[0]
    assert isinstance(task.parameters, NveParameters)
    assert task.parameters.steps == 10


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"nve"', '"nvt"', r"tasks\.0 \(drift\): kind: there is no 'nvt', but"),
        ('"nve"', '"labeled_frames"', r"kind: there is no 'labeled_frames', but .*; did you mean labelled_frames\?$"),
        ("steps = 10", "steps = 0", r"tasks\.0 \(drift\): parameters\.steps: must be greater than 0, not 0$"),
        (
            "steps = 10",
            "step = 10",
            r"tasks\.0 \(drift\): parameters\.step: there is no such field; did you mean steps\?$",
        ),
        ("steps = 10", "timestep_fs = nan", r"parameters\.timestep_fs"),
        ("crystals@1", "crystals", r"tasks\.0 \(drift\): dataset: must be NAME@VERSION, .*, not 'nve-crystals'$"),
        ('"nve-crystals@1"', '"../x@1"', r"tasks\.0 \(drift\): dataset"),
        ('name = "drift"', r'name = "\u001b[2J"', r"mine\.toml: tasks\.0: name: must be .*, not '\\x1b\[2J'$"),
        ("time_limit_s = 60", "", r"tasks\.0 \(drift\): time_limit_s: is missing$"),
        (
            "time_limit_s =",
            "time_limit =",
            r"\(drift\): time_limit: there is no such field; did you mean time_limit_s\?$",
        ),
        (
            'name = "drift"',
            'name = "My drift"',
            r"name: must be lower-case letters, digits and dashes, not 'My drift'$",
        ),
        (
            "time_limit_s = 60",
            'time_limit_s = "long"',
            r"tasks\.0 \(drift\): time_limit_s: must be a number, not 'long'$",
        ),
        (
            "Inorganic Materials",
            "Rocks",
            r"tasks\.0 \(drift\): domain: must be 'Inorganic Materials', .*, not 'Rocks'$",
        ),
        ("[[tasks]]", "[[task]]", r"mine\.toml: task: there is no such field; did you mean tasks\?$"),
        ("[[tasks]]", "failed_share = 0\n[[tasks]]", r"mine\.toml: failed_share: must be greater than 0, not 0$"),
        (
            "[[tasks]]",
            "[domains]\nRocks = 'Stones'\n[[tasks]]",
            r"domains\.Rocks: must be 'Inorganic Materials', 'M.* or",
        ),
        (
            "[[tasks]]",
            "[domains]\nRocks = 'Catalysis'\n[[tasks]]",
            r"domain: must be 'Rocks', not 'Inorganic Materials'$",
        ),
        ('version = "1"', 'version = ""', r"mine\.toml: version: must not be empty"),
        ('version = "1"', f'version = "{"é" * 21}"', r"mine\.toml: version: must not be longer than 40 bytes$"),
        ('title = "Mine"', "title =", r"mine\.toml: is not TOML"),
    ],
)
def test_a_broken_suite_is_refused_with_file_and_field(old: str, new: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(SuiteError, match=says) as refused:
        load_suite(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_two_tasks_of_one_name_and_an_unknown_suite_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD + GOOD[GOOD.index("[[tasks]]") :])
    with pytest.raises(SuiteError, match=r"tasks\.1\.name: drift is there twice"):
        load_suite(path)
    with pytest.raises(SuiteError, match=r"nowhere: there is no such suite or file; .*quickstart"):
        load_suite("nowhere")


def test_the_suites_own_domains_stand_for_those_of_the_models() -> None:
    """Five domains under which tasks are reported, of which a model knows three."""
    domains = '[domains]\n"Reactions" = "Molecules"\n"Crystals" = "Inorganic Materials"\n[[tasks]]'
    text = GOOD.replace("[[tasks]]", domains).replace('"Inorganic Materials"\ntime', '"Reactions"\ntime')
    task = read_suite(text, "mine.toml").tasks[0]
    assert (task.domain, task.model_domain) == ("Reactions", "Molecules")
    (plain,) = read_suite(GOOD, "mine.toml").tasks
    assert (plain.domain, plain.model_domain) == ("Inorganic Materials", "Inorganic Materials")


def test_the_share_that_may_fail_is_the_tasks_or_the_suites_or_a_half() -> None:
    of_suite = GOOD.replace("[[tasks]]", "failed_share = 0.2\n[[tasks]]")
    assert read_suite(GOOD, "a").tasks[0].failed_share == 0.5
    assert read_suite(of_suite, "a").tasks[0].failed_share == 0.2
    assert read_suite(of_suite + "failed_share = 1.0\n", "a").tasks[0].failed_share == 1.0


def test_what_a_task_says_for_readers_and_scoring() -> None:
    lines = 'release_name = "NVE"\nmlipaudit = "reactivity"\nsource = "LAMBench"\nimport = "judge data import x"\n'
    task = read_suite(GOOD + lines, "a").tasks[0]
    assert (task.release_name, task.source, task.import_lines) == ("NVE", "LAMBench", ("judge data import x",))
    assert task.mlipaudit == ("reactivity",)
    assert read_suite(GOOD.replace("title", 'release = "lambench-0.3.1"\ntitle'), "a").release == "lambench-0.3.1"
    two = read_suite(GOOD + 'import = ["first", "second"]\n', "a").tasks[0]
    assert two.import_lines == ("first", "second")


@pytest.mark.parametrize("name", packaged_suites())
def test_every_packaged_suite_is_whole(name: str) -> None:
    suite = load_suite(name)
    assert suite.name == name
    assert not [task.name for task in suite.tasks if KINDS[task.kind].name != task.kind]
    by_dataset: dict[str, set[str]] = {}
    for task in suite.tasks:
        by_dataset.setdefault(task.dataset, set()).add(task.model_domain)
    assert all(len(domains) == 1 for domains in by_dataset.values())  # a data set is of one domain
    if name.startswith("lambench"):
        for task in suite.tasks:
            assert task.release_name
            assert task.source
            assert task.import_lines
            named = [line for line in task.import_lines if line.startswith("judge data import")]
            dataset, _, version = task.dataset.partition("@")
            for line in named:
                assert f"--name {dataset} --version {version} --domain '{task.model_domain}'" in line


FORCE_FIELD, PROPERTIES = (
    "labelled_frames",
    ("energy_differences", "energy_profiles", "phonons", "elasticity", "compression"),
)


@pytest.mark.parametrize(
    ("name", "force_field", "properties", "domains"),
    [("lambench-2025-five", 17, 2, 5), ("lambench-2025", 12, 5, 3), ("lambench-2026", 12, 12, 3)],
)
def test_the_task_lists_of_the_releases(name: str, force_field: int, properties: int, domains: int) -> None:
    tasks = load_suite(name).tasks
    assert sum(task.kind == FORCE_FIELD for task in tasks) == force_field
    assert sum(task.kind in PROPERTIES for task in tasks) == properties
    assert len({task.domain for task in tasks if task.kind == FORCE_FIELD}) == domains
    nve = [task.parameters for task in tasks if isinstance(task.parameters, NveParameters)]
    assert {(p.steps, p.timestep_fs, p.temperature_k, p.sample_every) for p in nve} == {(10_000, 1.0, 300.0, 100)}
    timing = [task.parameters for task in tasks if isinstance(task.parameters, EfficiencyParameters)]
    frames, warm_up = (2000, 0.2) if name == "lambench-2025-five" else (1000, 0.1)
    assert sum(p.n_frames for p in timing) == frames
    assert {(p.max_atoms, p.warm_up_fraction) for p in timing} == {(1000, warm_up)}


@pytest.mark.data
@pytest.mark.skipif(not PUBLISHED.exists(), reason="LAMBENCH_TEST_DATA has no lambench_leaderboard/v0.3.1")
def test_release_0_3_1_as_published() -> None:
    """Names and domains, against the configuration of that release."""
    published = json.loads(PUBLISHED.read_text())
    tasks = load_suite("lambench-2025").tasks
    ours = {task.release_name: task for task in tasks if task.kind == FORCE_FIELD}
    assert set(ours) == set(published["ff"]["tasks"])
    for name, stated in published["ff"]["tasks"].items():
        assert ours[name].domain == stated["domain"]
    properties = {task.release_name: task for task in tasks if task.kind in PROPERTIES}
    assert set(properties) == set(published["pc"]["tasks"])
    for name, stated in published["pc"]["tasks"].items():
        assert properties[name].domain == stated["domain"]


def test_a_suite_extends_a_packaged_one_with_changes_by_task() -> None:
    text = 'name = "mine"\nversion = "1"\ntitle = "Mine"\nextends = "physicality"\n'
    (base,) = load_suite("physicality").tasks
    (same,) = read_suite(text, "mine.toml").tasks
    assert same == base
    changed = read_suite(text + "[changes.physicality]\ntime_limit_s = 5\n", "mine.toml")
    assert changed.tasks == (replace(base, time_limit_s=5.0),)
    assert changed.name == "mine"
    own = read_suite(text + GOOD[GOOD.index("[[tasks]]") :], "mine.toml")
    assert [task.name for task in own.tasks] == ["physicality", "drift"]
    alone = read_suite(text + 'without = ["physicality"]\n' + GOOD[GOOD.index("[[tasks]]") :], "mine.toml")
    assert [task.name for task in alone.tasks] == ["drift"]
    for line, fault in (
        ('extends = "none"', r"^mine.toml: extends: there is no 'none', but demo, diatomics, gscdb"),
        ('extends = "mlipaudt"', r"^mine.toml: extends: there is no 'mlipaudt', but .*; did you mean mlipaudit\?$"),
        ('extends = "physicality"\n[changes.other]\ntime_limit_s = 5', r"changes\.other: physicality has no such task"),
        ('extends = "physicality"\nchanges = [1]', "changes: must be a table for each changed task"),
        ("[changes.physicality]\ntime_limit_s = 5", "changes: are of the tasks of another suite: state extends"),
        ('without = ["physicality"]', "without: is of the tasks of another suite: state extends"),
        ('extends = "physicality"\nwithout = ["other"]', "without: must list tasks of physicality without changes"),
        ('extends = "physicality"\nwithout = "physicality"', "without: must list tasks of physicality"),
        (
            'extends = "physicality"\nwithout = ["physicality"]\n[changes.physicality]\ntime_limit_s = 5',
            "without: must list tasks of physicality without changes: physicality",
        ),
    ):
        with pytest.raises(SuiteError, match=fault):
            read_suite(text.replace('extends = "physicality"', line), "mine.toml")


@pytest.mark.parametrize("name", packaged_suites())
def test_each_task_of_a_packaged_suite_can_be_left_out_with_its_published_numbers(name: str) -> None:
    base = load_suite(name)
    for task in base.tasks if len(base.tasks) > 1 else ():
        text = f'name = "mine"\nversion = "1"\ntitle = "Mine"\nextends = "{name}"\nwithout = ["{task.name}"]\n'
        left = read_suite(text, "mine.toml")
        assert left.tasks == tuple(other for other in base.tasks if other != task)
        metrics = [{key: r.metrics[key] for key in r.metrics if key != task.name} for r in base.references]
        assert [r.metrics for r in left.references] == [each for each in metrics if each]
        published = [(p.task, p.item, p.name, p.value) for p in base.published if p.task != task.name]
        assert [(p.task, p.item, p.name, p.value) for p in left.published] == published


@pytest.mark.parametrize(
    ("change", "stays"),
    [
        ('dataset = "mine@1"', False),
        ('parameters = { unit = "eV" }', False),
        ('name = "noble"', False),
        ("time_limit_s = 5", True),
        ('parameters = { unit = "kcal/mol" }', True),  # as it is
    ],
)
def test_published_numbers_stay_with_the_task_that_they_were_published_for(change: str, stays: bool) -> None:
    text = 'name = "mine"\nversion = "1"\ntitle = "Mine"\nextends = "gscdb"\n[changes.a24]\n'
    base, changed = load_suite("gscdb"), read_suite(text + change, "mine.toml")
    assert [r.metrics for r in changed.references] == [
        {task: metrics for task, metrics in r.metrics.items() if stays or task != "a24"} for r in base.references
    ]


def test_a_task_with_another_data_set_has_no_published_baseline() -> None:
    first, *others = load_suite("lambench-2025").tasks
    text = 'name = "mine"\nversion = "1"\ntitle = "Mine"\nextends = "lambench-2025"\n'
    text += f'[changes.{first.name}]\ndataset = "mine@1"\n'
    changed = read_suite(text, "mine.toml")
    assert changed.tasks == (replace(first, dataset="mine@1", release_name=""), *others)
    restated = read_suite(text + 'release_name = "mine"\n', "mine.toml")
    assert restated.tasks == (replace(first, dataset="mine@1", release_name="mine"), *others)


def test_the_run_modes_of_mlipaudit_measure_all_18_benchmarks_and_share_what_is_the_same() -> None:
    whole, fast, dev = (load_suite(name) for name in ("mlipaudit", "mlipaudit-fast", "mlipaudit-dev"))
    for suite in (whole, fast, dev):
        assert (
            sum(len(task.mlipaudit) for task in suite.tasks) == len({n for t in suite.tasks for n in t.mlipaudit}) == 18
        )
        assert [task.name for task in suite.tasks] == [task.name for task in whole.tasks]
    same = {t.name for t in whole.tasks if t in fast.tasks}
    assert {t.name for t in whole.tasks} - same == {"water", "solvents", "stability", "proteins"}
    assert not [t.name for t in whole.tasks if t in dev.tasks]
    water = next(task for task in fast.tasks if task.name == "water").parameters
    assert isinstance(water, DynamicsParameters)
    assert (water.steps, water.store_every, water.temperature_k, water.adapts_throughout) == (
        250_000,
        250,
        295.15,
        True,
    )


@pytest.mark.parametrize("name", packaged_suites())
def test_every_task_of_a_packaged_suite_has_a_title_of_its_own(name: str) -> None:
    titles = [task.title for task in load_suite(name).tasks]
    assert "" not in titles
    assert len(set(titles)) == len(titles)


def test_a_task_without_a_title_is_called_by_its_name_in_words() -> None:
    suite = load_suite("quickstart")
    assert suite.label_of("dbh24") == "Barrier heights, diverse (DBH24)"
    assert suite.label_of("nve-crystals: Cu") == "Energy drift of crystals: Cu"
    assert suite.label_of("Molecules") == "Molecules"
    assert replace(suite.tasks[0], name="vacancies-fcc", title="").label == "Vacancies fcc"
