"""A kind that the judge does not know is imported, judged, scored, explained and shown, with no other file changed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.io import write

from tasks.kind import Traits
from tasks.kinds.nve import Nve
from tasks.kinds.registry import KINDS, KindError, KindRegistry
from tasks.metrics.kind_metric import Better
from tests.judge import own_kind
from tests.judge.own_kind import STRETCH, Stretch
from tests.world.commands import ROOT
from tests.world.world import World

METAL_NAMES = ("Al", "Cu", "Ag", "Ni", "Au", "Pd")
TASK = """
[[tasks]]
name = "stretched"
kind = "stretch"
dataset = "metals@1"
domain = "Inorganic Materials"
time_limit_s = 60
"""
STATED = ("--name", "metals", "--version", "1", "--domain", "Inorganic Materials")
Run = Callable[..., tuple[int, str, str]]


def prepared(world: World) -> World:
    """A world with a file of crystals whose references are 1.1 times what EMT answers, and a task for them."""
    crystals = [bulk(metal) for metal in METAL_NAMES]
    for atoms in crystals:
        wider = atoms.copy()
        wider.set_cell(1.01 * wider.cell, scale_atoms=True)
        before, after = ((EMT().get_potential_energy(each)) / len(each) for each in (atoms, wider))
        atoms.info[STRETCH.name] = 1.1 * 1000.0 * (after - before)
    write(world.root / "metals.xyz", crystals, format="extxyz")
    world.write_settings()
    (world.root / "small.toml").write_text((world.root / "small.toml").read_text() + TASK)
    return world


def judged(world: World, run: Run) -> tuple[dict[str, object], str]:
    """The output of `judge explain --json` for EMT after import and evaluation, and the page of the task."""
    id = world.submit("emt").id
    status, out, err = run("data", "import", "stretches", "metals.xyz", *STATED, "--label-set", "EMT")
    assert status == 0, err
    assert "6 structures of 1 atoms, 6 in all, 6 items" in out
    status, out, err = run("evaluate", "--all")
    assert status == 0, (out, err)
    status, out, err = run("explain", id, "--json")
    assert status == 0, err
    explained = json.loads(out)
    status, out, err = run("site", "build")
    assert status == 0, (out, err)
    return explained, (world.root / "site" / "tasks" / "stretched.html").read_text()


def check(explained: dict[str, object], page: str) -> None:
    """References are 1.1 times what the model answers, so its error is 1/11 of that of a model that answers zero."""
    scores = explained["scores"]
    assert isinstance(scores, dict)
    assert scores["property"]["value"] == pytest.approx(1 / 11)
    assert "stretched" in json.dumps(scores["property"])
    assert "How much energy a stretch by 1.0\u00a0% takes." in page
    assert "A trivial model in which a stretch takes no energy." in page
    assert "Energy of a stretch by 1 %, mean absolute error" in page
    assert "0.091" in page


@pytest.fixture
def own_world(world: World) -> Iterator[World]:
    with KINDS.also(Stretch()):
        yield prepared(world)


def test_a_kind_of_a_test_file_is_imported_judged_scored_explained_and_shown(own_world: World) -> None:
    explained, page = judged(own_world, own_world.run_here)
    check(explained, page)
    status, out, _ = own_world.run_here("explain", str(explained["submission"]), "--json", "--as-published")
    assert status == 0
    assert "stretched" not in json.dumps(json.loads(out)["scores"].get("property", {}))  # no release knows it
    board = json.loads((own_world.root / "site" / "leaderboard.json").read_text())
    (task,) = (task for task in board["tasks"] if task["name"] == "stretched")
    assert (task["kind"], task["kind_label"]) == ("stretch", "stretch")


@pytest.mark.parametrize("page", ["", "{{ no_such_name }}", "{% no such tag %}", "{{ 1 / 0 }}", "{{ fact.no.such }}"])
def test_without_a_page_text_that_can_be_rendered_a_plain_one_is_shown(
    world: World, page: str, caplog: pytest.LogCaptureFixture
) -> None:
    kind = Stretch()
    kind.traits = replace(kind.traits, page=page)
    with KINDS.also(kind):
        prepared(world)
        assert world.run_here("site", "build")[0] == 0
    text = (world.root / "site" / "tasks" / "stretched.html").read_text()
    assert "Energy that it takes to stretch a crystal by 1 %." in text
    assert "A trivial model in which a stretch takes no energy." in text
    assert ("kind stretch: its page text cannot be rendered: " in caplog.text) is bool(page)


def test_a_missing_data_set_is_named_with_the_format_that_the_kind_brings(own_world: World) -> None:
    own_world.submit("emt")
    status, _, err = own_world.run_here("evaluate", "--all")
    assert status == 2
    assert (
        "judge data import stretches FILE --name metals --version 1 --domain 'Inorganic Materials' --label-set" in err
    )
    status, _, err = own_world.run_here("data", "import", "stretches", "metals.xyz", *STATED)
    assert (status, "--label-set: is missing" in err) == (2, True)
    status, _, err = own_world.run_here("data", "import", "bends", "metals.xyz", *STATED)
    assert (status, "FORMAT: 'bends' is unknown; one of extxyz, " in err) == (2, True)
    assert err.rstrip().endswith(", stretches, mlipaudit, ml-peg")
    status, _, err = own_world.run_here("data", "import", "mlipaudt", "metals.xyz", *STATED)
    assert (status, "did you mean mlipaudit?" in err) == (2, True)


def test_results_of_a_kind_that_is_no_longer_installed_stand_in_no_way(world: World) -> None:
    with KINDS.also(Stretch()):
        judged(prepared(world), world.run_here)
    suite = (world.root / "small.toml").read_text()
    (world.root / "small.toml").write_text(suite.removesuffix(TASK).replace('version = "1"', 'version = "2"'))
    status, out, err = world.run_here("list", "--json")
    assert (status, err) == (0, "")
    assert json.loads(out)[0]["ok"] == 3
    assert world.run_here("store", "digest")[0] == 0
    assert world.run_here("site", "build")[0] == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "nve"}, "there is another kind nve"),
        ({"name": "Stretch it"}, "name: 'Stretch it' must be lower-case letters, digits and _"),
        ({"parameters": dict}, "parameters: must be a class derived from tasks.kind.Parameters"),
        ({"traits": None}, "traits: must be a tasks.kind.Traits"),
        ({"observe": None}, "observe: cannot be called"),
        ({"traits": Traits("t", metrics=(STRETCH.metric,))}, "score is the property error if, and only if"),
        (
            {"traits": replace(Stretch.traits, metrics=(replace(STRETCH.metric, better=Better.HIGHER),))},
            "lower must be better",
        ),
    ],
)
def test_what_is_no_kind_is_refused_by_name(change: dict[str, object], words: str) -> None:
    kind = Stretch()
    vars(kind).update(change)
    with pytest.raises(KindError, match=f"^kind .*: .*{words}"), KINDS.also(kind):
        raise AssertionError("it was registered")
    assert "stretch" not in KINDS


def package(folder: Path, entries: str, module: str = "") -> Path:
    """A folder in which a package with these entry points is installed; its module is `own_kind` unless stated."""
    about = folder / "stretch_kind-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: stretch-kind\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[lambench.kinds]\n{entries}\n")
    (folder / "stretch_kind.py").write_text(module or Path(own_kind.__file__).read_text())
    return folder


def test_an_installed_package_brings_a_kind(world: World) -> None:
    path = f"{ROOT}:{package(world.root / 'packages', 'stretch = stretch_kind:Stretch')}"
    prepared(world)
    check(*judged(world, lambda *arguments: world.run(*arguments, PYTHONPATH=path)))


def test_a_broken_package_is_one_line_of_every_command_that_asks_for_kinds(world: World) -> None:
    path = f"{ROOT}:{package(world.root / 'packages', 'stretch = stretch_kind:Bend')}"
    world.write_settings()
    status, _, err = world.run("evaluate", "--all", PYTHONPATH=path)
    assert status == 2
    (line,) = err.splitlines()
    assert line.startswith(f"judge: {ENTRY}cannot be loaded: AttributeError: ")


ENTRY = "entry point stretch of lambench.kinds (stretch_kind:Bend, package stretch-kind 1.0): "


@pytest.mark.parametrize(
    ("entries", "module", "words"),
    [
        ("stretch = stretch_kind:Bend", "", "cannot be loaded: AttributeError: module 'stretch_kind' has no attribute"),
        ("stretch = no_such_module:Kind", "", "cannot be loaded: ModuleNotFoundError: No module named"),
        (
            "stretch = stretch_kind:Kind",
            "raise RuntimeError('it\\nbreaks')",
            "cannot be loaded: RuntimeError: it break",
        ),
        ("stretch = stretch_kind:KIND", "KIND = 3", "is no kind: it has no name"),
        ("nve = tasks.kinds.nve:Nve", "", "there is another kind nve"),
        ("stretch = stretch_kind:Stretch\nagain = stretch_kind:Stretch", "", "there is another kind stretch"),
    ],
)
def test_a_broken_or_double_kind_is_one_line_that_names_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: str, module: str, words: str
) -> None:
    monkeypatch.syspath_prepend(package(tmp_path, entries, module))
    monkeypatch.delitem(sys.modules, "stretch_kind", raising=False)
    registry = KindRegistry([Nve()])
    for _ in range(2):  # a kind that is broken stays so
        with pytest.raises(KindError) as refused:
            registry.traits("nve")
        line = str(refused.value)
        assert line.startswith("entry point ")
        assert f"package stretch-kind 1.0): {words}" in line
        assert "\n" not in line
    monkeypatch.delitem(sys.modules, "stretch_kind", raising=False)
