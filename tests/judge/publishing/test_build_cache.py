"""An unchanged site is not built again; a change of any of its sources builds it again."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from judge.config import load_settings
from judge.publishing.build_cache import interval_cache
from judge.publishing.folder import publish
from judge.records.cache_file import Cached
from tests.world.judged import result_key, submission_of
from tests.world.world import World


@pytest.fixture
def world(judged_world: World) -> World:
    """A world whose site was built."""
    assert build(judged_world)
    return judged_world


def build(world: World, *more: str) -> bool:
    """Builds the site; True if its pages were written."""
    index = world.root / "site" / "index.html"
    before = index.stat().st_ino if index.exists() else 0
    code, out, err = world.run_here("site", "build", *more)
    assert (code, out, err) == (0, f"The leaderboard is {index}\n", "")
    return index.stat().st_ino != before


def test_where_nothing_changed_nothing_is_drawn(world: World) -> None:
    assert not build(world)
    assert build(world, "--anew")
    assert not build(world)


def _another_submission(world: World) -> None:
    world.submit("beside")


def _a_record_written_again(world: World) -> None:
    key = result_key(world)
    world.store.put(key, world.store.get(key))


def _a_result_gone(world: World) -> None:
    world.store.delete(result_key(world))


def _a_card(world: World) -> None:
    (card, *_) = sorted((world.root / "data").glob("*/card.toml"))
    card.write_text(card.read_text() + "\n")


def _a_setting(world: World) -> None:
    settings = world.root / "judge.toml"
    settings.write_text('references = ["emt"]\n' + settings.read_text())


def _a_page(world: World) -> None:
    (world.root / "site" / "submissions" / f"{submission_of(world)}.html").write_text("other")


def _a_page_gone(world: World) -> None:
    (world.root / "site" / "how.html").unlink()


def _another_site_in_its_place(world: World) -> None:
    publish({"index.html": b"of another store"}, world.root / "site")


CHANGES = [
    _another_submission,
    _a_record_written_again,
    _a_result_gone,
    _a_card,
    _a_setting,
    _a_page,
    _a_page_gone,
    _another_site_in_its_place,
]


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_it_is_made_of_changes_it_is_drawn_anew(world: World, change: Callable[[World], None]) -> None:
    change(world)
    assert build(world)


def test_a_site_folder_that_cannot_be_written_is_named(world: World) -> None:
    folder = world.root / "site"
    shutil.rmtree(folder)
    folder.touch()
    line = f"judge: this machine (DISK): {folder} cannot be written (File exists): correct it, or set site_dir\n"
    assert world.run_here("site", "build") == (3, "", line)


def test_a_cache_that_cannot_be_written_stops_no_build(world: World) -> None:
    shutil.rmtree(world.root / "index")
    (world.root / "index").touch()
    for _ in range(2):
        assert build(world)


def test_problems_of_an_unchanged_site_are_reported_again(world: World) -> None:
    world.store.put(result_key(world), b"{}")
    first, again = world.run_here("site", "build"), world.run_here("site", "build")
    assert first[0] == 1
    assert "left out: " in first[2]
    assert again == first


def test_a_broken_manifest_is_named(world: World) -> None:
    world.store.put("manifests/000001.json", b"{}")
    code, _, err = world.run_here("site", "build")
    assert code == 1
    assert "manifests/000001.json: cannot be read: restore it" in err


def test_the_intervals_of_the_last_build_are_kept_and_anew_computes_them_again(
    judged_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file whose entries cannot be read changes no page, and entries of `--anew` come from no file."""
    monkeypatch.setattr("submissions.store.local.GRANULARITY_NS", 0)
    world, folder = judged_world, judged_world.root / "site"
    assert build(world)
    with monkeypatch.context() as place:
        place.chdir(world.root)
        cache = interval_cache(load_settings(), folder)
    kept = cache.read(["intervals/"])
    page = folder / "submissions" / f"{submission_of(world)}.html"
    before = page.read_bytes()
    assert kept
    cache.write({key: Cached("", b"other") for key in kept}, ())
    assert build(world, "--anew")
    assert cache.read(["intervals/"]) == kept
    cache.path.write_bytes(b"damaged")
    _a_record_written_again(world)
    assert build(world)
    assert page.read_bytes() == before
    assert cache.read(["intervals/"])
