"""The chain of manifests: no gaps in the numbers, even if several publish at once, and every defect is named."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from judge.records.manifest import (
    FOLDER,
    Manifest,
    ManifestChain,
    append,
    lost_results,
    manifest_path,
    read_chain,
    sha256,
)
from judge.records.published_submissions import unlike_published
from judge.records.signing import SigningKey
from submissions.store.local import LocalStore
from tests.world.board_records import NOON

KEY = SigningKey(bytes(range(32)))
OTHER = SigningKey(bytes(32))
TRUSTED = frozenset({KEY.public})


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


def made(**stated: object) -> Callable[[int, str], Manifest]:
    def make(n: int, previous: str) -> Manifest:
        fields = {
            "suite": "small",
            "release": "corrected",
            "published": NOON,
            "judge_version": "0.1.0",
            "judge_commit": "",
            "files": {},
            "results": {},
            "submissions": {},
            "events": {},
            "scores": {},
            "selftests": (),
            **stated,
        }
        return Manifest.model_validate({"n": n, "previous": previous, **fields})

    return make


def said(chain: ManifestChain) -> list[str]:
    return [str(defect) for defect in chain.defects]


def test_each_manifest_names_the_stored_bytes_of_the_one_before(store: LocalStore) -> None:
    written = [append(store, KEY, made(suite=suite)) for suite in ("one", "two", "one")]
    assert [stored.manifest.n for stored in written] == [1, 2, 3]
    assert [stored.manifest.previous for stored in written] == ["", written[0].sha256, written[1].sha256]
    assert [store.get(manifest_path(n)) for n in (1, 2, 3)] == [stored.data for stored in written]
    chain = read_chain(store, TRUSTED)
    assert chain == ManifestChain(tuple(written), ())
    assert (chain.newest("two"), chain.newest("one"), chain.newest("three")) == (written[1], written[2], None)


def test_of_many_who_publish_at_once_each_gets_a_number(store: LocalStore) -> None:
    n, start, written = 8, threading.Barrier(8), []

    def publish(name: str) -> None:
        start.wait(timeout=20)
        written.append(append(store, KEY, made(suite=name)))

    threads = [threading.Thread(target=publish, args=(f"suite {i}",)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert sorted(stored.manifest.n for stored in written) == list(range(1, n + 1))
    chain = read_chain(store, TRUSTED)
    assert (len(chain.manifests), chain.defects) == (n, ())
    assert {stored.manifest.suite for stored in chain.manifests} == {f"suite {i}" for i in range(n)}


@pytest.fixture
def three(store: LocalStore) -> LocalStore:
    for suite in ("one", "two", "three"):
        append(store, KEY, made(suite=suite))
    return store


def test_one_that_is_gone_is_named(three: LocalStore) -> None:
    three.delete(manifest_path(1))
    assert said(read_chain(three, TRUSTED)) == ["manifests/000001.json: is gone: restore it"]
    three.delete(manifest_path(2))
    assert [defect.what for defect in read_chain(three, TRUSTED).defects] == [manifest_path(1), manifest_path(2)]


def test_two_that_changed_places_are_named(three: LocalStore) -> None:
    first, second = three.get(manifest_path(1)), three.get(manifest_path(2))
    three.put(manifest_path(1), second)
    three.put(manifest_path(2), first)
    assert said(read_chain(three, TRUSTED))[0] == "manifests/000001.json: says that it is number 2: restore it"


def test_one_that_was_made_anew_breaks_the_chain_though_it_is_signed(three: LocalStore) -> None:
    signed = KEY.sign(made(suite="forged")(2, sha256(three.get(manifest_path(1)))))
    three.put(manifest_path(2), signed.model_dump_json(indent=1).encode())
    (line,) = said(read_chain(three, TRUSTED))
    assert line.startswith("manifests/000003.json: does not follow from the manifest before it")


def test_one_that_was_changed_is_named(three: LocalStore) -> None:
    three.put(manifest_path(3), three.get(manifest_path(3)).replace(b"three", b"seven"))
    assert said(read_chain(three, TRUSTED)) == [
        "manifests/000003.json: it was changed after it was signed; restore it, or trust who signed it"
    ]


def test_one_that_a_stranger_signed_is_named(three: LocalStore) -> None:
    append(three, OTHER, made())
    (line,) = said(read_chain(three, TRUSTED))
    assert line.startswith(f"manifests/000004.json: it is signed by {OTHER.public[:16]}…, which is not trusted")
    assert read_chain(three, TRUSTED | {OTHER.public}).defects == ()


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\x00", b"[" * 50_000])
def test_one_that_cannot_be_read_is_named(three: LocalStore, content: bytes) -> None:
    three.put(manifest_path(3), content)
    assert said(read_chain(three, TRUSTED)) == ["manifests/000003.json: cannot be read: restore it"]


def test_what_is_no_manifest_is_named(three: LocalStore) -> None:
    three.put(f"{FOLDER}notes.json", b"{}")
    assert said(read_chain(three, TRUSTED)) == ["manifests/notes.json: is no manifest: look at it, then delete it"]
    append(three, KEY, made())  # and does not keep anybody from publishing
    assert len(read_chain(three, TRUSTED).manifests) == 4


def test_results_that_were_published_must_stay(store: LocalStore) -> None:
    store.put("results/a.json", b"a")
    store.put("results/b.json", b"b")
    append(store, KEY, made(results={"results/a.json": sha256(b"a"), "results/b.json": sha256(b"b")}))
    append(store, KEY, made(results={"results/a.json": sha256(b"a")}))
    assert lost_results(store, read_chain(store, TRUSTED)) == []
    store.delete("results/a.json")
    store.put("results/b.json", b"c")
    assert [str(defect) for defect in lost_results(store, read_chain(store, TRUSTED))] == [
        "results/a.json: was published (manifests/000001.json) and is gone: restore it",
        "results/b.json: is not what was published (manifests/000001.json): restore it",
    ]


def test_what_is_published_of_a_submission_must_stay(store: LocalStore) -> None:
    files = {f"submissions/{name}": name.encode() for name in ("a/submission.json", "b/submission.json", "b/events/1")}
    for key, data in files.items():
        store.put(key, data)
    digests = {key: sha256(data) for key, data in files.items()}
    events = {key: digests.pop(key) for key in ("submissions/b/events/1",)}
    append(store, KEY, made(submissions=digests, events=events))
    append(store, KEY, made())
    store.put("submissions/b/events/2", b"later")
    assert unlike_published(store, read_chain(store, TRUSTED)) == []
    store.delete("submissions/b/events/1")
    store.put("submissions/b/submission.json", b"better")
    store.put("submissions/a/preflight.log", b"said afterwards")
    assert [str(defect) for defect in unlike_published(store, read_chain(store, TRUSTED))] == [
        "submissions/b/events/1: was published (manifests/000001.json) and is gone: restore it",
        "submissions/b/submission.json: is not what was published (manifests/000001.json): restore it",
        "submissions/a/preflight.log: was not there when its submission was published (manifests/000001.json): "
        "remove it",
    ]
