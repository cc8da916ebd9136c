"""Publishing: all or nothing, signed, and nothing that was not proven."""

from __future__ import annotations

import json
import resource
import threading
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from judge.disclosure.redaction import LEAST_ITEMS
from judge.publishing.folder import FolderSite, staged
from judge.publishing.publish import propose, publish_site, published_scores
from judge.ranking.load import read_board
from judge.records.manifest import FOLDER, Manifest, manifest_path, read_chain, sha256
from judge.records.records import Result
from judge.records.signing import SigningKey, check_signature
from judge.records.store_snapshot import StoreSnapshot
from submissions.records import Submission, utc_now
from submissions.store.local import LocalStore
from tasks.suites.suite import load_suite
from tests.world.judged import (
    change_result,
    own_key_of,
    proven_in_a_container,
    result_key,
    scaled,
    submission_of,
)
from tests.world.world import World

PUBLISH = ("site", "publish")


@pytest.fixture
def world(judged_world: World) -> World:
    return judged_world


def content(folder: Path) -> dict[str, bytes]:
    """Every file in `folder`, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def manifests(world: World) -> list[str]:
    return list(world.store.list(FOLDER))


def refused(world: World, *arguments: str, **environment: str) -> list[str]:
    """The reasons for which nothing was published."""
    status, out, err = world.run_here(*PUBLISH, *arguments, **environment)
    assert (status, out, manifests(world), (world.root / "public").exists()) == (1, "", [], False)
    *lines, last = err.splitlines()
    assert last == f"Nothing was published. Reasons against it, above: {len(lines)}"
    return lines


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
    assert status == 0
    assert "new: index.html" in out
    assert out.splitlines()[-1].startswith(f"To be published in {world.root / 'public'}: 1 submissions with 2 results;")
    assert content(world.root) == before
    assert world.run_here(*PUBLISH)[0] == 0
    status, out, _ = world.run_here(*PUBLISH, "--dry-run")
    assert (status, "0 new, 0 changed" in out, len(manifests(world))) == (0, True, 1)


def test_a_dry_run_tells_what_is_refused(world: World) -> None:
    change_result(world, scaled)
    status, _, err = world.run_here(*PUBLISH, "--dry-run")
    assert (status, "it was changed after it was signed" in err, manifests(world)) == (1, True, [])


def test_what_ran_without_isolation_is_refused_unless_that_is_allowed(world: World) -> None:
    lines = refused(world, LAMBENCH_ALLOW_PROCESS="false")
    assert lines
    assert all(line.startswith("NOT  ") for line in lines)


def test_a_result_that_is_not_signed_is_refused_with_the_remedy(world: World) -> None:
    change_result(world, lambda result: result.model_copy(update={"signature": None}))
    (submission,) = {result.submission for result in world.results()}
    remedy = f"judge it anew: judge rejudge {submission}"
    assert refused(world) == [f"NOT  {submission}: copper: it is not signed; {remedy}"]


def test_a_result_that_was_changed_is_refused(world: World) -> None:
    change_result(world, scaled)
    (line,) = refused(world)
    assert "copper: it was changed after it was signed" in line


def test_a_result_that_a_stranger_signed_is_refused_until_that_key_is_trusted(world: World) -> None:
    stranger = SigningKey(bytes(32))
    change_result(world, lambda result: result, stranger)
    (line,) = refused(world)
    assert f"copper: it is signed by {stranger.public[:16]}…, which is not trusted: judge keys trust KEY" in line
    assert world.run_here("keys", "trust", stranger.public)[0] == 0
    assert world.run_here(*PUBLISH)[0] == 0


def test_a_selftest_that_a_stranger_signed_proves_nothing(world: World) -> None:
    key = proven_in_a_container(world, SigningKey(bytes(32)))
    (line,) = refused(world)
    assert line.startswith(f"NOT  {key}: it is signed by 3b6a27bcceb6a42d…, which is not trusted")


def test_the_selftests_that_decide_are_named_by_their_hash(world: World) -> None:
    key = proven_in_a_container(world, own_key_of(world))
    assert world.run_here(*PUBLISH)[0] == 0
    assert Manifest.read(world.store.get(manifest_path(1))).selftests == (sha256(world.store.get(key)),)


def test_a_selftest_that_is_too_old_proves_nothing(world: World) -> None:
    proven_in_a_container(world, own_key_of(world), days_ago=31)
    (line,) = refused(world)
    assert "its selftest is 31 days old, 30 are allowed" in line


def test_a_record_that_cannot_be_read_is_refused(world: World) -> None:
    key = result_key(world)
    world.store.put(key, b"{}")
    lines = refused(world)
    assert any(key in line for line in lines)


def test_a_broken_chain_is_refused(world: World) -> None:
    for _ in range(2):
        assert world.run_here(*PUBLISH)[0] == 0
    world.store.delete(manifest_path(1))
    status, _, err = world.run_here(*PUBLISH)
    assert (status, "NOT  manifests/000001.json: is gone: restore it" in err) == (1, True)
    assert manifests(world) == [manifest_path(2)]


def test_a_decision_that_was_deleted_is_refused(world: World) -> None:
    submission = submission_of(world)
    assert world.run_here("disqualify", submission, "--reason", "It was trained on it.")[0] == 0
    assert world.run_here(*PUBLISH)[0] == 0
    (key,) = world.store.list(f"submissions/{submission}/events/")
    data = world.store.get(key)
    assert Manifest.read(world.store.get(manifest_path(1))).events == {key: sha256(data)}
    before = content(world.root / "public")
    world.store.delete(key)
    status, _, err = world.run_here(*PUBLISH)
    assert (status, err.splitlines()[0]) == (
        1,
        f"NOT  {key}: was published ({manifest_path(1)}) and is gone: restore it",
    )
    assert (content(world.root / "public"), manifests(world)) == (before, [manifest_path(1)])
    world.store.put(key, data)
    assert world.run_here("reinstate", submission, "--reason", "It was not.")[0] == 0
    assert world.run_here(*PUBLISH)[0] == 0
    assert len(Manifest.read(world.store.get(manifest_path(2))).events) == 2


def test_a_card_or_a_log_that_was_changed_is_refused(world: World) -> None:
    submission = submission_of(world)
    record, log = f"submissions/{submission}/submission.json", f"submissions/{submission}/preflight.log"
    world.store.put(log, b"ready")
    assert world.run_here(*PUBLISH)[0] == 0
    assert Manifest.read(world.store.get(manifest_path(1))).submissions == {
        key: sha256(world.store.get(key)) for key in (log, record)
    }
    read = Submission.read(world.store.get(record))
    world.store.put(record, read.model_copy(update={"author": "somebody else"}).model_dump_json().encode())
    world.store.put(log, b"steady")
    status, _, err = world.run_here(*PUBLISH)
    assert (status, manifests(world)) == (1, [manifest_path(1)])
    assert err.splitlines()[:2] == [
        f"NOT  {key}: is not what was published ({manifest_path(1)}): restore it" for key in (log, record)
    ]


def test_a_submission_under_another_name_is_refused(world: World) -> None:
    record = f"submissions/{submission_of(world)}/submission.json"
    read = Submission.read(world.store.get(record))
    card = read.card.model_copy(update={"name": "a better one"})
    world.store.put(record, read.model_copy(update={"card": card}).model_dump_json().encode())
    assert refused(world) == [f"NOT  {record}: its ID does not follow from its card's name and its image: restore it"]


@pytest.mark.parametrize("to", ["store", "store/pages", "data", ".", "judge.jsonl/pages"])
def test_nothing_is_published_where_private_records_are(world: World, to: str) -> None:
    before = content(world.root)
    status, out, err = world.run_here(*PUBLISH, "--to", to)
    assert (status, out, err.count("\n"), "which is private, are not apart: part them" in err) == (2, "", 1, True), err
    assert content(world.root) == before


def test_a_key_within_the_folder_that_is_named_for_once_is_refused(world: World) -> None:
    key = world.root / "elsewhere" / "signing.key"
    key.parent.mkdir()
    key.write_bytes(world.settings.key_file.read_bytes())
    key.chmod(0o600)
    status, _, err = world.run_here(*PUBLISH, "--to", "elsewhere", LAMBENCH_KEY_FILE=str(key))
    assert (status, "key_file" in err, manifests(world)) == (2, True, [])


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


def test_a_snapshot_is_what_the_store_held(world: World) -> None:
    store = StoreSnapshot(world.store)
    key, folder = result_key(world), f"results/{submission_of(world)}/copper/"
    held = world.store.get(key)
    world.store.put(key, b"other")
    world.store.put(f"{folder}new.json", b"{}")
    assert (store.get(key), f"{folder}new.json" in store.list(folder), key in store.list(folder)) == (held, False, True)
    assert (store.is_unchanged("results/"), store.is_unchanged("submissions/")) == (False, True)
    with pytest.raises(KeyError):
        store.get(f"{folder}new.json")


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


def test_numbers_of_so_few_hidden_items_that_they_tell_labels_are_not_published(world: World) -> None:
    def few(result: Result) -> Result:
        metrics = {name: replace(m, n_items=LEAST_ITEMS - 1) for name, m in result.metrics.items()}
        return result.model_copy(update={"metrics": metrics})

    change_result(world, few, own_key_of(world))
    assert world.run_here(*PUBLISH, "--dry-run")[::2] == (0, "")
    for name in ("copper", "nickel"):
        card = world.root / "data" / f"{name}@1" / "card.toml"
        card.write_text(card.read_text().replace('public_since = "2026"', 'public_since = "2999"'))
    (line,) = refused(world)
    assert line.startswith("NOT  copper: copper@1 is hidden, and numbers over fewer than 5 items tell of single labels")
