"""Publishing is refused if a result, a selftest or a decision is not proven, with the remedy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from judge.records.few_items import LEAST_ITEMS
from judge.records.manifest import Manifest, manifest_path, sha256
from judge.records.records import Result
from judge.records.signing import SigningKey
from submissions.records import Submission
from tests.judge.publishing.published_content import PUBLISH, content, manifests, refused
from tests.world.judged import change_result, own_key_of, proven_in_a_container, result_key, scaled, submission_of
from tests.world.world import World


@pytest.fixture
def world(judged_world: World) -> World:
    return judged_world


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
    remedy = f"judge it again: judge rejudge {submission}"
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
    assert (status, err.splitlines()[-1]) == (
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
    assert err.splitlines()[-2:] == [
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
    assert (status, out, err.count("\n"), "which is private: one lies within the other: separate them" in err) == (
        2,
        "",
        1,
        True,
    ), err
    assert content(world.root) == before


def test_a_key_within_the_folder_that_is_named_for_once_is_refused(world: World) -> None:
    key = world.root / "elsewhere" / "signing.key"
    key.parent.mkdir()
    key.write_bytes(world.settings.key_file.read_bytes())
    key.chmod(0o600)
    status, _, err = world.run_here(*PUBLISH, "--to", "elsewhere", LAMBENCH_KEY_FILE=str(key))
    assert (status, "key_file" in err, manifests(world)) == (2, True, [])


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
    assert line.startswith(
        "NOT  copper: copper@1 is hidden, and numbers over fewer than 5 items would reveal single labels"
    )
