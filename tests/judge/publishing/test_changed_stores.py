"""After any changes of the store, a site that is built again has the bytes of a site that is built from nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from judge.publishing.folder import SiteManifest, as_written
from judge.publishing.site_files import build_site
from judge.records.cache_file import CacheFile
from judge.view.earlier_pages import EarlierPages
from submissions.store.local import LocalStore
from tests.judge.ranking.test_score_keys import changes
from tests.judge.ranking.test_score_keys import store as store
from tests.world.board_records import SUITE

N_STEPS = 6


def site(folder: Path) -> dict[str, bytes]:
    """The files of the site; assets of the build before stay for readers who have an old page."""
    files = SiteManifest.model_validate_json((folder / "site.json").read_bytes()).files
    return {name: (folder / name).read_bytes() for name in files}


@pytest.mark.parametrize("seed", range(2))
def test_the_site_is_as_from_nothing_after_any_changes(store: LocalStore, tmp_path: Path, seed: int) -> None:
    again, cache = tmp_path / "again", CacheFile(tmp_path / "kept.sqlite", "1")
    earlier, reused = EarlierPages(), 0
    done = changes(store, random.Random(seed))
    for number in range(N_STEPS):
        what, fresh = next(done), tmp_path / f"fresh {number}"
        lines: tuple[list[str], list[str]] = ([], [])
        build_site(store, SUITE, again, lines[0].append, cache=cache, earlier=earlier)
        build_site(store, SUITE, fresh, lines[1].append)
        assert site(again) == site(fresh), what
        assert lines[0] == lines[1], what
        reused += sum(earlier.made.get(path) == made for path, made in earlier.drawn.items())
        earlier = EarlierPages(earlier.drawn, as_written(again))
    assert reused > N_STEPS
