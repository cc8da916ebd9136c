"""Publishing: pages, manifest and index, whole or not at all."""

from __future__ import annotations

import json
import resource
import threading
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from judge.publishing.folder import FolderSite, staged
from judge.publishing.publish import propose, publish_site, published_scores
from judge.ranking.load import read_board
from judge.records.manifest import Manifest, manifest_path, read_chain, sha256
from judge.records.records import Result
from judge.records.signing import check_signature
from submissions.records import utc_now
from submissions.store.local import LocalStore
from tasks.suites.suite import load_suite
from tests.judge.publishing.published_content import PUBLISH, content, manifests
from tests.world.judged import own_key_of, result_key
from tests.world.world import World


@pytest.fixture
def world(judged_world: World) -> World:
    return judged_world


def test_the_pages_and_their_manifest_are_written(world: World) -> None:
    status, out, err = world.run_here(*PUBLISH)
    assert (status, err) == (0, "")
    assert out == f"Published, manifest 1: {world.root / 'public' / 'index.html'}\n"
    site = content(world.root / "public")
    data = site.pop("manifest.json")
    del site["site.json"]
    assert world.store.get(manifest_path(1)) == data
    assert check_signature(data, [own_key_of(world).public])
    manifest = Manifest.read(data)
    assert manifest.files == {name: sha256(text) for name, text in site.items()}
    assert manifest.results == {
        key: sha256(world.store.get(key)) for key in sorted(map(result_key, [world] * 2, ("copper", "nickel")))
    }
    assert (manifest.n, manifest.previous, manifest.suite, manifest.release) == (1, "", "small", "corrected")
    events = [json.loads(line) for line in (world.root / "judge.jsonl").read_text().splitlines()]
    assert [(e["key"], e["count"]) for e in events if e["event"] == "published"] == [(manifest_path(1), len(site))]


def test_scores_are_published_as_on_the_pages(world: World) -> None:
    assert world.run_here(*PUBLISH)[0] == 0
    stated = Manifest.read(world.store.get(manifest_path(1))).scores
    board = read_board(world.store, load_suite(world.settings.suite), lambda line: None)
    assert stated == published_scores(board)
    (row,) = board.rows
    value = row.scores["force_field"].value
    assert value is not None
    assert stated[row.submission.id].force_field == float(f"{value:.5e}")
    assert (stated[row.submission.id].rank, f"{value:.5e}" == f"{value!r}") == (1, False)


def test_the_next_names_the_one_before(world: World) -> None:
    for n in (1, 2):
        status, out, _ = world.run_here(*PUBLISH)
        assert (status, out.startswith(f"Published, manifest {n}: ")) == (0, True)
    first, second = (world.store.get(manifest_path(n)) for n in (1, 2))
    assert Manifest.read(second).previous == sha256(first)
    assert (world.root / "public" / "manifest.json").read_bytes() == second


def test_another_folder_may_be_named(world: World) -> None:
    status, _, _ = world.run_here(*PUBLISH, "--to", "elsewhere")
    assert status == 0
    assert not (world.root / "public").exists()
    assert "manifest.json" in content(world.root / "elsewhere")


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(world: World) -> None:
    before = content(world.root)
    status, out, _ = world.run_here(*PUBLISH, "--dry-run")
    assert (status, len(out.splitlines())) == (0, 1)
    status, out, _ = world.run_here(*PUBLISH, "--dry-run", "--files")
    assert status == 0
    assert "new: index.html" in out
    assert out.splitlines()[-1].startswith(f"To be published in {world.root / 'public'}: 1 submissions with 2 results;")
    assert content(world.root) == before
    assert world.run_here(*PUBLISH)[0] == 0
    status, out, _ = world.run_here(*PUBLISH, "--dry-run")
    assert (status, "0 new, 0 changed" in out, len(manifests(world))) == (0, True, 1)


def test_a_dry_run_tells_what_would_be_removed(world: World) -> None:
    folder = FolderSite(world.root / "public")
    assert world.run_here(*PUBLISH)[0] == 0
    (page,) = (world.root / "public" / "submissions").iterdir()
    written = {name for name in content(world.root / "public") if not name.startswith("assets/")}
    assert f"submissions/{page.name}" in written
    removed = folder.difference({"index.html": b""})["removed"]
    assert set(removed) == written - {"index.html", "manifest.json", "site.json"}
    with folder.staged({"index.html": b"", "manifest.json": b""}) as pages:
        pages.show()
    assert not page.exists()


def test_every_record_is_read_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    read: Counter[str] = Counter()
    get = LocalStore.get

    def counted(store: LocalStore, key: str) -> bytes:
        read[key] += 1
        return get(store, key)

    monkeypatch.setattr(LocalStore, "get", counted)
    propose(world.workspace, load_suite(world.settings.suite), utc_now())
    assert read
    assert set(read.values()) == {1}, read.most_common(3)


def test_where_pages_do_not_fit_the_old_ones_stay_whole(world: World) -> None:
    assert world.run_here(*PUBLISH)[0] == 0
    before, stored = content(world.root / "public"), manifests(world)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before["index.html"]) - 1, hard))  # as a full disk would
    try:
        status, _, err = world.run_here(*PUBLISH)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (status, err.count("\n")) == (3, 1)
    assert err.startswith(f"judge: this machine (DISK): {world.root / 'public'} cannot be written (")
    assert content(world.root / "public") == before
    assert manifests(world) == stored


def test_what_a_killed_publisher_left_beside_the_pages_goes(tmp_path: Path) -> None:
    site = tmp_path / "site"
    with staged({"index.html": b"old"}, site) as pages:
        pages.show()
    (site / ".index.html.0123abcd").write_bytes(b"half")
    (site / ".index.html.mine").write_bytes(b"not ours")
    with staged({"index.html": b"new"}, site):
        assert (site / "index.html").read_bytes() == b"old"
    assert {path.name for path in site.iterdir()} == {"index.html", "site.json", ".index.html.mine"}


def test_of_two_who_publish_at_once_the_last_number_is_shown(world: World) -> None:
    suite, settings, key = load_suite(world.settings.suite), world.settings, own_key_of(world)
    start, now = threading.Barrier(2), utc_now()
    proposal = propose(world.workspace, suite, now)

    def publish(later: int) -> None:
        start.wait(timeout=20)
        publish_site(world.store, proposal, FolderSite(Path(settings.publish_to)), key, now + timedelta(seconds=later))

    threads = [threading.Thread(target=publish, args=(i,)) for i in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    chain = read_chain(world.store, {key.public})
    assert ([stored.manifest.n for stored in chain.manifests], chain.defects) == ([1, 2], ())
    assert (Path(settings.publish_to) / "manifest.json").read_bytes() == chain.manifests[-1].data


def test_the_manifest_names_no_host(world: World) -> None:
    assert world.run_here(*PUBLISH)[0] == 0
    origins = [Result.read(world.store.get(result_key(world, task))).provenance.origin for task in ("copper", "nickel")]
    text = (world.root / "public" / "manifest.json").read_text()
    assert all(origin.host and origin.host not in text for origin in origins)
