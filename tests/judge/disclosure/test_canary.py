"""Nothing of a hidden data set gets out: canaries in it, submissions that try, and a search of all that is public."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import docker
import pytest

from judge.disclosure.redaction import public_sets
from judge.evaluation.observe import ExecutionTarget, UnitStorage, observe_unit
from judge.evaluation.plan import Unit
from judge.evaluation.provenance import origin
from judge.pages.site import render
from judge.publishing.site_sources import with_stored
from judge.ranking.load import read_board
from judge.records.attempts import claim
from judge.records.manifest import Manifest
from judge.records.probe_secret import KEY
from judge.records.records import End, Result
from judge.view.assets import plotly
from judge.view.sources import Sources
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.rundir import RunDir
from submissions.preflight.log import store_log
from tasks.kinds.nve import NveParameters
from tasks.kinds.registry import KINDS
from tasks.suites.suite import load_suite
from tests.judge.disclosure.leaks import (
    COORDINATES,
    GROUP,
    HOSTILE,
    ID,
    LONE_GROUP,
    NAMES,
    NUMBERS,
    PUBLIC,
    RARE,
    SUITE,
    found_below,
    found_in,
    save_secret,
)
from tests.world.commands import ROOT
from tests.world.world import World

PREFLIGHT_LOG = "loading weights\n\x1b[31mred\x1b[0m <script>alert(1)</script>"


def hidden_world(root: Path, driver: str = "process") -> World:
    save_secret(root / "data")
    (root / "small.toml").write_text(SUITE)
    world = World(root)
    world.write_settings(driver=driver)
    return world


@pytest.fixture(scope="module")
def judged() -> Iterator[tuple[World, bytes]]:
    """A world in which every hostile submission and an honest one was judged, and what was said meanwhile."""
    with TemporaryDirectory(prefix="lj") as folder:
        world = hidden_world(Path(folder))
        honest = world.submit("honest")
        store_log(world.store, honest.id, PREFLIGHT_LOG)
        for name, code in HOSTILE.items():
            world.submit(name, code)
        status, out, err = world.run_here("evaluate", "--all")
        assert status == 0, out + err
        yield world, (out + err).encode()


def ids(world: World) -> list[str]:
    return sorted({key.split("/")[1] for key in world.store.list("submissions/")})


@pytest.mark.slow
def test_each_submission_was_asked_and_tried(judged: tuple[World, bytes]) -> None:
    """Else nothing could have been found: each has come as far as it takes to see a structure."""
    verdicts = {(r.submission.rpartition("-")[0], r.task): str(r.verdict) for r in judged[0].results()}
    assert len(verdicts) == 2 * (1 + len(HOSTILE))
    of_secret = {name: verdict for (name, task), verdict in verdicts.items() if task == "secret"}
    assert of_secret == {
        "honest": "OK",
        "prints": "OK",
        "raises": "TOO_MANY_FAILURES",
        "says-it-in-its-hello": "OK",
        "fails-to-start-again": "OK",
        "answers-not-a-number": "NON_FINITE",
        "answers-coordinates": "OK",
        "ends-with-a-number": "CRASHED",
        "writes-to-the-wire": "PROTOCOL_ERROR",
    }
    assert verdicts["fails-to-start-again", "drift"] == "STARTUP_FAILED"
    assert verdicts["says-it-in-its-hello", "drift"] == "OK"  # the hello in which it says it was taken


@pytest.mark.slow
def test_nothing_is_on_the_pages(judged: tuple[World, bytes]) -> None:
    world, _ = judged
    status, out, err = world.run_here("site", "build")
    assert status == 0, out + err
    site = world.settings.site_dir
    assert found_below(site, PUBLIC) == {}
    pages = "".join(path.read_text() for path in site.glob("submissions/*.html"))
    assert "Force RMSE" in pages
    assert GROUP not in pages  # the whole without this group is the one structure of the other
    for data in rendered(world).values():
        assert found_in(data, PUBLIC) == []


def rendered(world: World) -> dict[str, bytes]:
    """The pages with the logs of the preflight."""
    suite, problems = load_suite(world.settings.suite), []
    board = read_board(world.store, suite, problems.append)
    public = public_sets(world.settings.data, [task.dataset for task in suite.tasks], date(2030, 1, 1))
    assert not public
    files = render(board, with_stored(Sources(public=public), world.store, board))
    return {path: content for path, content in files.items() if content != plotly()}  # which others have made


@pytest.mark.slow
def test_nothing_is_in_what_is_published(judged: tuple[World, bytes]) -> None:
    """The pages, the manifest beside them, the chain of manifests in the store, and what the command says."""
    world, _ = judged
    status, out, err = world.run_here("site", "publish")
    assert status == 0, out + err
    site = Path(world.settings.publish_to)
    manifest = Manifest.read((site / "manifest.json").read_bytes())
    assert len(manifest.scores) == 1 + len(HOSTILE)
    assert all((site / name).exists() for name in manifest.files)
    assert len(manifest.results) == len(world.results())
    assert found_below(site, PUBLIC) == {}
    for part in ("manifests", "submissions"):
        assert list((world.root / "store" / part).iterdir())
        assert found_below(world.root / "store" / part, PUBLIC) == {}
    assert found_in((out + err).encode(), PUBLIC) == []
    planted = manifest.model_copy(update={"suite": f"{COORDINATES[0]:.5f} {RARE}"})
    (site / "manifest.json").write_text(planted.model_dump_json())
    assert set(found_below(site, PUBLIC)) == {str(site / "manifest.json")}


@pytest.mark.slow
def test_nothing_is_in_what_an_author_is_given(judged: tuple[World, bytes]) -> None:
    world, _ = judged
    for submission in ids(world):
        for extra in ([], ["--json"]):
            status, out, err = world.run_here("show", submission, "--author", *extra)
            assert status == 0, err
            assert found_in((out + err).encode(), PUBLIC) == []
            assert "withheld" in out
    assert found_below(world.root / "store" / "submissions", PUBLIC) == {}


@pytest.mark.slow
def test_nothing_is_in_the_log_or_on_the_terminal(judged: tuple[World, bytes]) -> None:
    world, said = judged
    log = world.settings.log.read_bytes()
    assert log.count(b"\n") > 2 * len(HOSTILE)
    assert found_in(log, NUMBERS | NAMES | {RARE.encode()}) == []
    assert found_in(said, NUMBERS | NAMES | {RARE.encode()}) == []


@pytest.mark.slow
@pytest.mark.parametrize("command", [["list"], ["plan"], ["show"], ["explain"]])
def test_nothing_is_in_what_a_maintainer_is_told(judged: tuple[World, bytes], command: list[str]) -> None:
    """Names of items are the maintainer's own, and `explain` has them; structures and strangers' words are nowhere."""
    world, _ = judged
    own = {ID.encode()} if command == ["explain"] else set()
    of_each = [[*command, of] for of in ids(world) if command == ["show"] or of.startswith(("honest", "raises"))]
    for arguments in of_each if command[0] in ("show", "explain") else [command]:
        for extra in ([], ["--json"]):
            status, out, err = world.run_here(*arguments, *extra)
            assert status == 0, err
            assert found_in((out + err).encode(), (NUMBERS | NAMES) - own) == []


@pytest.mark.slow
def test_nothing_is_in_ends_and_results(judged: tuple[World, bytes]) -> None:
    world, _ = judged
    stored = [key for key in world.store.list("") if key.endswith(".json")]
    assert len([key for key in stored if key.startswith(("attempts/", "results/"))]) > 4 * len(HOSTILE)
    for key in stored:
        assert found_in(world.store.get(key) + key.encode(), NUMBERS | NAMES) == [], key


@pytest.mark.slow
def test_nothing_is_said_to_whoever_submits_again(judged: tuple[World, bytes]) -> None:
    world, _ = judged
    command = [sys.executable, "-m", "submissions.cli.main", str(world.root / "prints"), "--driver", "process"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for extra in ([], ["--json"]):
        run = subprocess.run([*command, *extra], cwd=world.root, env=environment, capture_output=True, check=False)
        assert b"prints-" in run.stdout
        assert found_in(run.stdout + run.stderr, PUBLIC) == []


@pytest.mark.slow
def test_the_log_of_the_preflight_is_on_the_page_as_text(judged: tuple[World, bytes]) -> None:
    world, _ = judged
    (honest,) = (of for of in ids(world) if of.startswith("honest"))
    page = rendered(world)[f"submissions/{honest}.html"].decode()
    assert "loading weights" in page
    assert "\\x1b[31mred\\x1b[0m &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page
    assert "Logs of hidden tasks are withheld" in page


@pytest.mark.slow
def test_what_is_planted_is_found(judged: tuple[World, bytes], tmp_path: Path) -> None:
    """The search itself: every form of every canary, put into a page, is found there."""
    world, _ = judged
    files = rendered(world)
    for place, needle in enumerate(sorted(PUBLIC)):
        (tmp_path / f"{place}.html").write_bytes(files["index.html"] + needle)
    found = found_below(tmp_path, PUBLIC)
    assert len(found) == len(PUBLIC)
    spoilt = world.results()[0].model_copy(update={"sentence": f"It is at {COORDINATES[0]:.5f} Å."})
    assert found_in(spoilt.model_dump_json().encode(), PUBLIC)


@pytest.mark.slow
def test_what_the_maintainer_has_holds_them(judged: tuple[World, bytes]) -> None:
    """The canaries are there to be found: in the observations, the items, and the parts by element and group."""
    world, _ = judged
    kept = {part.name for result in world.results() for part in result.parts}
    assert {RARE, GROUP, LONE_GROUP} <= kept
    assert any(ID.encode() in world.store.get(key) for key in world.store.list("results/") if "items" in key)
    assert isinstance(world.results()[0], Result)


def observe(world: World, unit: Unit) -> End:
    """What a first attempt at `unit` comes to, observed and not measured."""
    driver = ProcessDriver(RunDir(world.settings.run_dir))
    image = driver.resolve(unit.submission.image.reference)
    attempt = claim(world.store, unit.prefix, [], 1.0)
    assert attempt is not None
    with attempt:
        target = ExecutionTarget(driver, image, origin(driver, "this machine", None, ""), None)
        return observe_unit(unit, target, UnitStorage(world.store, world.settings.data), attempt, lambda *_: None)


@pytest.mark.parametrize("kind", ["labelled_frames", "nve"])
def test_the_same_is_observed_where_there_are_no_labels(kind: str) -> None:
    """Whoever talks to a container needs neither labels nor table: they are not even there."""
    ends = []
    for labels in (True, False):
        with TemporaryDirectory(prefix="lj") as folder:
            world = hidden_world(Path(folder))
            world.store.put(KEY, bytes(32))  # else each store would draw copies of its own
            parameters = {"parameters": NveParameters(steps=3, sample_every=1)} if kind == "nve" else {}
            unit = world.unit(world.submit("honest"), KINDS[kind], dataset="secret@1", **parameters)
            if not labels:
                for name in ("labels.safetensors", "table.json"):
                    (world.settings.data / "secret@1" / name).unlink()
            ends.append(observe(world, unit))
    assert ends[0].observation is not None
    assert ends[0].observation == ends[1].observation


@pytest.mark.docker
@pytest.mark.slow
def test_nothing_gets_out_of_a_container(engine: docker.DockerClient, images: docker.DockerClient) -> None:
    built = []
    try:
        with TemporaryDirectory(prefix="lj") as folder:
            world = hidden_world(Path(folder), "docker")
            for name in ("prints", "raises", "ends-with-a-number"):
                built.append(build(engine, world, name))
                world.record(name, DockerDriver(RunDir(world.root / "run")).resolve(built[-1]))
            status, out, err = world.run_here("evaluate", "--all")
            assert status == 0, out + err
            assert {str(result.verdict) for result in world.results()} >= {"OK", "TOO_MANY_FAILURES", "CRASHED"}
            for data in rendered(world).values():
                assert found_in(data, PUBLIC) == []
            assert found_below(world.root / "store" / "attempts", NUMBERS | NAMES) == {}
            assert found_below(world.root / "store" / "submissions", PUBLIC) == {}
            assert found_in(world.settings.log.read_bytes() + (out + err).encode(), NUMBERS | NAMES) == []
            for of in ids(world):
                _, said = world.run_json_here("show", of, "--author")
                assert found_in(json.dumps(said).encode(), PUBLIC) == []
    finally:
        for tag in built:
            engine.images.remove(tag, force=True)


def build(engine: docker.DockerClient, world: World, name: str) -> str:
    """An image of a hostile submission."""
    folder = world.folder(name, HOSTILE[name])
    (folder / "Dockerfile").write_text(
        "FROM lambench/calculator:latest\nCOPY calculator.py /model/\nWORKDIR /model\n"
        'LABEL org.lambench.calculator="calculator:make_calculator"\n'
    )
    tag = f"lambench-test/canary-{name}:{os.getpid()}"
    engine.images.build(path=str(folder), tag=tag, rm=True)
    return tag
