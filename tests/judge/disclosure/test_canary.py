"""Nothing of a hidden data set gets out: hostile submissions try, and a search of public data finds no canary."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from judge.records.manifest import Manifest
from judge.records.records import Result
from submissions.preflight.log import store_log
from tests.judge.disclosure.hidden_world import hidden_world, ids, rendered
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
    needles_below,
    needles_in,
)
from tests.world.commands import ROOT
from tests.world.world import World

PREFLIGHT_LOG = "loading weights\n\x1b[31mred\x1b[0m <script>alert(1)</script>"


@pytest.fixture(scope="module")
def judged() -> Iterator[tuple[World, bytes]]:
    """A world in which every hostile submission and an honest one were judged, and the output of the command."""
    with TemporaryDirectory(prefix="lj") as folder:
        world = hidden_world(Path(folder))
        honest = world.submit("honest")
        store_log(world.store, honest.id, PREFLIGHT_LOG)
        for name, code in HOSTILE.items():
            world.submit(name, code)
        status, out, err = world.run_here("evaluate", "--all")
        assert status == 0, out + err
        yield world, (out + err).encode()


@pytest.mark.slow
def test_each_submission_was_asked_and_tried(judged: tuple[World, bytes]) -> None:
    """Each submission received a structure. Otherwise the other tests could find nothing."""
    verdicts = {(r.submission.rpartition("-")[0], r.task): str(r.verdict) for r in judged[0].results()}
    assert len(verdicts) == 2 * (1 + len(HOSTILE))
    assert {name: verdict for (name, task), verdict in verdicts.items() if task == "secret"} == {
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
    assert verdicts["says-it-in-its-hello", "drift"] == "OK"  # its hello with the canaries was accepted


@pytest.mark.slow
def test_nothing_is_on_the_pages(judged: tuple[World, bytes]) -> None:
    world, _ = judged
    status, out, err = world.run_here("site", "build")
    assert status == 0, out + err
    site = world.settings.site_dir
    assert needles_below(site, PUBLIC) == {}
    pages = "".join(path.read_text() for path in site.glob("submissions/*.html"))
    assert "Force RMSE" in pages
    assert GROUP not in pages  # with the whole it would reveal the one structure of the other group
    for data in rendered(world).values():
        assert needles_in(data, PUBLIC) == []


@pytest.mark.slow
def test_nothing_is_in_what_is_published(judged: tuple[World, bytes]) -> None:
    """The pages, the manifest beside them, the chain of manifests in the store, and the output of the command."""
    world, _ = judged
    status, out, err = world.run_here("site", "publish")
    assert status == 0, out + err
    site = Path(world.settings.publish_to)
    manifest = Manifest.read((site / "manifest.json").read_bytes())
    assert len(manifest.scores) == 1 + len(HOSTILE)
    assert all((site / name).exists() for name in manifest.files)
    assert len(manifest.results) == len(world.results())
    assert needles_below(site, PUBLIC) == {}
    for part in ("manifests", "submissions"):
        assert list((world.root / "store" / part).iterdir())
        assert needles_below(world.root / "store" / part, PUBLIC) == {}
    assert needles_in((out + err).encode(), PUBLIC) == []
    planted = manifest.model_copy(update={"suite": f"{COORDINATES[0]:.5f} {RARE}"})
    (site / "manifest.json").write_text(planted.model_dump_json())
    assert set(needles_below(site, PUBLIC)) == {str(site / "manifest.json")}


@pytest.mark.slow
def test_nothing_is_in_what_an_author_is_given(judged: tuple[World, bytes]) -> None:
    world, _ = judged
    for submission in ids(world):
        for extra in ([], ["--json"]):
            status, out, err = world.run_here("show", submission, "--author", *extra)
            assert status == 0, err
            assert needles_in((out + err).encode(), PUBLIC) == []
            assert "withheld" in out
    assert needles_below(world.root / "store" / "submissions", PUBLIC) == {}


@pytest.mark.slow
def test_nothing_is_in_the_log_or_on_the_terminal(judged: tuple[World, bytes]) -> None:
    world, output = judged
    log = world.settings.log.read_bytes()
    assert log.count(b"\n") > 2 * len(HOSTILE)
    assert needles_in(log, NUMBERS | NAMES | {RARE.encode()}) == []
    assert needles_in(output, NUMBERS | NAMES | {RARE.encode()}) == []


@pytest.mark.slow
@pytest.mark.parametrize("command", [["list"], ["plan"], ["show"], ["explain"]])
def test_nothing_is_in_what_a_maintainer_reads(judged: tuple[World, bytes], command: list[str]) -> None:
    """`explain` prints the names of items, which the maintainer chose. No command prints structures or hostile text."""
    world, _ = judged
    allowed = {ID.encode()} if command == ["explain"] else set()
    chosen = [name for name in ids(world) if command == ["show"] or name.startswith(("honest", "raises"))]
    for arguments in [[*command, name] for name in chosen] if command[0] in ("show", "explain") else [command]:
        for extra in ([], ["--json"]):
            status, out, err = world.run_here(*arguments, *extra)
            assert status == 0, err
            assert needles_in((out + err).encode(), (NUMBERS | NAMES) - allowed) == []


@pytest.mark.slow
def test_nothing_is_in_ends_and_results(judged: tuple[World, bytes]) -> None:
    world, _ = judged
    stored = [key for key in world.store.list("") if key.endswith(".json")]
    assert len([key for key in stored if key.startswith(("attempts/", "results/"))]) > 4 * len(HOSTILE)
    for key in stored:
        assert needles_in(world.store.get(key) + key.encode(), NUMBERS | NAMES) == [], key


@pytest.mark.slow
def test_nothing_is_in_the_output_of_a_second_submission(judged: tuple[World, bytes]) -> None:
    world, _ = judged
    command = [sys.executable, "-m", "submissions.cli.main", str(world.root / "prints"), "--driver", "process"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for extra in ([], ["--json"]):
        run = subprocess.run([*command, *extra], cwd=world.root, env=environment, capture_output=True, check=False)
        assert b"prints-" in run.stdout
        assert needles_in(run.stdout + run.stderr, PUBLIC) == []


@pytest.mark.slow
def test_the_log_of_the_preflight_is_on_the_page_as_text(judged: tuple[World, bytes]) -> None:
    world, _ = judged
    (honest,) = (name for name in ids(world) if name.startswith("honest"))
    page = rendered(world)[f"submissions/{honest}.html"].decode()
    assert "loading weights" in page
    assert "\\x1b[31mred\\x1b[0m &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page
    assert "Logs of hidden tasks are withheld" in page


@pytest.mark.slow
def test_planted_canaries_are_found(judged: tuple[World, bytes], tmp_path: Path) -> None:
    """The search finds every form of every canary in a page."""
    world, _ = judged
    files = rendered(world)
    for number, needle in enumerate(sorted(PUBLIC)):
        (tmp_path / f"{number}.html").write_bytes(files["index.html"] + needle)
    assert len(needles_below(tmp_path, PUBLIC)) == len(PUBLIC)
    spoilt = world.results()[0].model_copy(update={"sentence": f"It is at {COORDINATES[0]:.5f} Å."})
    assert needles_in(spoilt.model_dump_json().encode(), PUBLIC)


@pytest.mark.slow
def test_the_records_of_the_maintainer_have_canaries(judged: tuple[World, bytes]) -> None:
    """The canaries are in the items and in the parts by element and group, so a leak could be found."""
    world, _ = judged
    kept = {part.name for result in world.results() for part in result.parts}
    assert {RARE, GROUP, LONE_GROUP} <= kept
    assert any(ID.encode() in world.store.get(key) for key in world.store.list("results/") if "items" in key)
    assert isinstance(world.results()[0], Result)
