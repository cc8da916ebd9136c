"""A site that is built again has the bytes of a site that is built from nothing, and pages are not drawn needlessly."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from judge.publishing import build_cache, site_sources
from judge.publishing.folder import SiteManifest, as_written
from tests.world.judged import change_result, own_key_of, result_key, scaled
from tests.world.world import World

ROOT = Path(__file__).parents[3]
PACKAGES = ("judge", "sandbox", "scoring", "submissions", "tasks", "templates")


@pytest.fixture
def world(judged_world: World) -> World:
    """A world with a judged model and one that is not judged; its site was built."""
    judged_world.submit("beside")
    assert judged_world.run_here("site", "build")[0] == 0
    return judged_world


def model_pages(world: World) -> list[Path]:
    return sorted((world.root / "site" / "submissions").glob("*.html"))


def record(world: World) -> Path:
    """The file that remembers the build."""
    (path,) = (world.settings.log.parent / "index").glob("site-*.json")
    return path


def files_of(folder: Path) -> dict[str, str]:
    """The sha256 of all files of a site, which are as they were written."""
    files = SiteManifest.model_validate_json((folder / "site.json").read_bytes()).files
    read = as_written(folder)
    assert [name for name in files if read(name) is None] == []
    return files


def check_site(world: World, **environment: str) -> None:
    """The site is built again, and is as from nothing."""
    assert world.run("site", "build", **environment)[0] == 0
    fresh = world.root / "fresh"
    shutil.rmtree(fresh, ignore_errors=True)
    assert world.run("site", "build", "--out", str(fresh), "--anew", **environment)[0] == 0
    assert files_of(world.root / "site") == files_of(fresh)


def _a_better_result(world: World) -> None:
    change_result(world, scaled, own_key_of(world))


def _a_result_less(world: World) -> None:
    world.store.delete(result_key(world))


def _a_submission_less(world: World) -> None:
    (key,) = (key for key in world.store.list("submissions/beside") if key.endswith("submission.json"))
    world.store.delete(key)


def _another_submission(world: World) -> None:
    world.submit("third")


def _a_decision(world: World) -> None:
    (id,) = {key.split("/")[1] for key in world.store.list("submissions/beside")}
    assert world.run_here("withdraw", id, "--reason", "it was a mistake")[0] == 0


def _a_card(world: World) -> None:
    card = world.root / "data" / "copper@1" / "card.toml"
    card.write_text(card.read_text().replace('title = "', 'title = "Other '))


def _a_log(world: World) -> None:
    (id,) = {key.split("/")[1] for key in world.store.list("submissions/beside")}
    world.store.put(f"submissions/{id}/preflight.log", b"Loading weights")


def _a_page_edited(world: World) -> None:
    model_pages(world)[0].write_text("edited")


def _a_page_deleted(world: World) -> None:
    model_pages(world)[1].unlink()


def _pages_edited_and_a_result(world: World) -> None:
    for page in model_pages(world):
        page.write_text("edited")
    _a_better_result(world)


def _a_page_of_another_site(world: World) -> None:
    """Pages and list are as if another judge had written them, and a result has changed."""
    listed = world.root / "site" / "site.json"
    page = model_pages(world)[0]
    page.write_text("of another site")
    content = json.loads(listed.read_text())
    content["files"][f"submissions/{page.name}"] = "0" * 64
    listed.write_text(json.dumps(content))
    _a_better_result(world)


CHANGES = [
    _a_better_result,
    _a_result_less,
    _a_submission_less,
    _another_submission,
    _a_decision,
    _a_card,
    _a_log,
    _a_page_edited,
    _a_page_deleted,
    _pages_edited_and_a_result,
    _a_page_of_another_site,
]


@pytest.mark.parametrize("change", CHANGES)
def test_after_a_change_the_site_is_as_from_nothing(world: World, change: Callable[[World], None]) -> None:
    change(world)
    check_site(world)


def test_only_the_pages_with_other_inputs_are_drawn(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    # Else a result that is only just old enough is compared by its stamp for the first time, and its pages are drawn.
    monkeypatch.setattr("submissions.store.local.GRANULARITY_NS", 0)
    assert world.run_here("site", "build", "--anew")[0] == 0
    before = json.loads(record(world).read_text())["pages"]
    of_tasks = {"tasks/copper.html", "tasks/nickel.html"}
    assert set(before) == {f"submissions/{page.name}" for page in model_pages(world)} | of_tasks
    _a_better_result(world)
    assert world.run_here("site", "build")[0] == 0
    after = json.loads(record(world).read_text())["pages"]
    same = {path.partition("-")[0] for path in before if before[path] == after[path]}
    assert same == {"submissions/beside", "tasks/nickel.html"}


def test_a_changed_template_changes_all_pages(world: World, tmp_path: Path) -> None:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package)
    assert world.run("site", "build", PYTHONPATH=str(tmp_path))[0] == 0
    template = tmp_path / "templates" / "submission.html"
    template.write_text(template.read_text().replace(">Model card<", ">Card of the model<"))
    check_site(world, PYTHONPATH=str(tmp_path))
    assert all("Card of the model" in page.read_text() for page in model_pages(world))


def test_another_suite_in_the_same_folder(world: World) -> None:
    suite = world.root / "small.toml"
    other = world.root / "other.toml"
    other.write_text(suite.read_text().replace('title = "', 'title = "Other '))
    assert world.run("site", "build", "--suite", str(other))[0] == 0
    check_site(world)


def test_another_day_on_which_a_data_set_becomes_public(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    card = world.root / "data" / "copper@1" / "card.toml"
    lines = [line for line in card.read_text().splitlines() if not line.startswith("public_since")]
    card.write_text("\n".join(['public_since = "2090"', *lines]))
    assert world.run_here("site", "build")[0] == 0
    hidden = {page.name: page.read_text() for page in model_pages(world)}
    for module in (build_cache, site_sources):
        monkeypatch.setattr(module, "utc_now", lambda: datetime(2091, 1, 1, tzinfo=UTC))
    for folder in ("site", "fresh"):
        assert world.run_here("site", "build", "--out", str(world.root / folder))[0] == 0
    assert files_of(world.root / "site") == files_of(world.root / "fresh")
    assert hidden != {page.name: page.read_text() for page in model_pages(world)}


@pytest.mark.slow
@pytest.mark.parametrize("after_s", [0.0, 0.1, 0.2, 0.4, 0.8])
def test_a_build_that_was_killed_leaves_no_page_that_counts(world: World, after_s: float) -> None:
    _a_better_result(world)
    remembered = record(world)
    process = world.command("site", "build")
    while remembered.exists() and process.poll() is None:
        time.sleep(0.001)
    time.sleep(after_s)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    check_site(world)
