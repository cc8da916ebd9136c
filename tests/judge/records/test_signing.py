"""Signatures: what they cover, which keys count, and where the private key may be."""

from __future__ import annotations

import json
import resource
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.config import ConfigError
from judge.records.manifest import Manifest, ManifestScores
from judge.records.signing import (
    BadSignature,
    SigningKey,
    canonical,
    check_signature,
    own_key,
    safe_key_file,
    trust,
    trusted_keys,
)
from submissions.records import utc_now
from tests.world.world import World

KEY = SigningKey(bytes(range(32)))
OTHER = SigningKey(bytes(32))
# RFC 8032, 7.1, test 1: the public key of this secret.
RFC_SECRET = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
RFC_PUBLIC = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
scores = st.none() | st.floats(allow_nan=False, allow_infinity=False)


def manifest(score: float | None = 0.1, suite: str = "small") -> Manifest:
    scores = ManifestScores(force_field=score, property_error=None, efficiency=1e300, instability=-0.0, rank=1)
    return Manifest(
        n=1,
        suite=suite,
        release="corrected",
        published=utc_now(),
        judge_version="0.1.0",
        judge_commit="",
        files={},
        results={},
        submissions={},
        events={},
        scores={"emt-0123456789ab": scores},
        selftests=(),
        previous="",
    )


def test_the_public_key_is_that_of_the_standard() -> None:
    assert SigningKey(bytes.fromhex(RFC_SECRET)).public == RFC_PUBLIC


@given(scores, st.text(max_size=40))
def test_what_was_signed_holds_as_it_was_stored(score: float | None, suite: str) -> None:
    signed = KEY.sign(manifest(score, suite))
    for data in (signed.model_dump_json().encode(), signed.model_dump_json(indent=3).encode()):
        assert check_signature(data, [KEY.public]) == KEY.public
        assert Manifest.read(data) == signed


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_any_changed_byte_is_detected_or_changes_nothing(place: int, flip: int) -> None:
    data = bytearray(KEY.sign(manifest()).model_dump_json().encode())
    before = canonical(json.loads(data))
    data[place % len(data)] ^= flip
    try:
        check_signature(bytes(data), [KEY.public])
    except BadSignature:
        return
    assert canonical(json.loads(data)) == before  # an escape written otherwise, or upper-case hexadecimal digits


def test_a_signature_counts_only_if_its_key_is_trusted() -> None:
    data = OTHER.sign(manifest()).model_dump_json().encode()
    with pytest.raises(BadSignature, match=r"3b6a27bcceb6a42d…, which is not trusted: judge keys trust KEY"):
        check_signature(data, [KEY.public])
    assert check_signature(data, [KEY.public, OTHER.public]) == OTHER.public


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b"null", b"\xff", b'{"signature": 3}', b'{"signature": {}}', b"[" * 100_000]
)
def test_an_unsigned_record_is_reported_as_unsigned(data: bytes) -> None:
    with pytest.raises(BadSignature, match="it is not signed"):
        check_signature(data, [KEY.public])


def test_a_number_that_json_does_not_have_cannot_be_signed() -> None:
    fields = json.loads(KEY.sign(manifest()).model_dump_json())
    text = json.dumps({**fields, "n": float("nan")})
    with pytest.raises(BadSignature, match="changed after it was signed"):
        check_signature(text.encode(), [KEY.public])


def test_the_private_key_is_its_owners_alone(world: World) -> None:
    world.write_settings()
    status, out, _ = world.run_here("keys", "create")
    public, path = out.split("\n")[0], world.root / "signing.key"
    assert (status, path.stat().st_mode & 0o777) == (0, 0o600)
    assert SigningKey.load(path).public == public
    status, answer = world.run_json_here("keys", "show")
    assert answer == {"public": public, "key_file": str(path)}
    status, _, err = world.run_here("keys", "create")
    assert status == 2
    assert err == f"judge: key_file: {path} exists: a key is never overwritten; name another\n"
    path.chmod(0o640)
    status, _, err = world.run_here("keys", "show")
    assert (status, err) == (2, f"judge: key_file: {path} can be read by others: chmod 600 {path}\n")


def test_without_a_key_the_command_that_makes_one_is_named(world: World) -> None:
    world.write_settings()
    status, _, err = world.run_here("keys", "show")
    assert (status, err.endswith("judge keys create\n"), err.count("\n")) == (2, True, 1)
    status, out, _ = world.run_here("keys", "list")
    assert (status, out) == (0, "No key is trusted yet: judge keys create, or judge keys trust KEY\n")


@pytest.mark.parametrize("inside", ["store", "data", "public", "site", "run", "store/deep/er"])
def test_a_key_lies_nowhere_that_is_copied_or_shown(world: World, inside: str) -> None:
    world.write_settings()
    lies = world.root / inside / "signing.key"
    for command in (["keys", "show"], ["keys", "create"], ["keys", "list"]):
        status, _, err = world.run_here(*command, LAMBENCH_KEY_FILE=str(lies))
        assert (status, err.count("\n")) == (2, 1)
        assert err.startswith(f"judge: key_file: {lies} lies within the ")
    assert not lies.exists()


def test_a_link_into_the_store_is_followed(world: World) -> None:
    (world.root / "store").mkdir()
    (world.root / "elsewhere").symlink_to(world.root / "store")
    settings = world.settings.model_copy(update={"key_file": world.root / "elsewhere" / "signing.key"})
    with pytest.raises(ConfigError, match="lies within the store"):
        safe_key_file(settings)
    as_url = settings.model_copy(update={"store": f"file://{world.root}/store"})
    with pytest.raises(ConfigError, match="lies within the store"):
        safe_key_file(as_url)


def test_who_is_trusted_is_this_judge_the_settings_and_the_file(world: World) -> None:
    world.write_settings()
    public = SigningKey.create(world.settings.key_file).public
    assert trusted_keys(world.settings) == {public}
    status, out, _ = world.run_here("keys", "trust", OTHER.public.upper())
    assert (status, out) == (0, f"Trusted from now on, in {world.root / 'trusted.keys'}.\n")
    assert (world.root / "trusted.keys").stat().st_mode & 0o777 == 0o600
    assert world.run_here("keys", "trust", OTHER.public)[1] == "It is trusted already.\n"
    settings = world.settings.model_copy(update={"trusted_keys": (KEY.public,)})
    assert trusted_keys(settings) == {public, OTHER.public, KEY.public}
    status, answer = world.run_json_here("keys", "list")
    assert answer == {"own": [public], "settings": [], "file": [OTHER.public]}


@pytest.mark.parametrize("key", ["", "ab", "z" * 64, "a" * 63, "a" * 65, f"{'a' * 64}\n{'b' * 64}", "-"])
def test_what_is_no_key_is_not_trusted(world: World, key: str) -> None:
    world.write_settings()
    status, _, err = world.run_here("keys", "trust", "--", key)
    assert (status, err.count("\n")) == (2, 1)
    assert "is no public key: 64 hexadecimal digits" in err
    assert trusted_keys(world.settings) == frozenset()
    with pytest.raises(ConfigError, match=r"trusted_keys: .* is no public key"):
        trusted_keys(world.settings.model_copy(update={"trusted_keys": (key,)}))


def test_a_file_of_trusted_keys_that_others_may_write_is_refused(world: World) -> None:
    trust(world.settings, KEY.public)
    path: Path = world.root / "trusted.keys"
    path.chmod(0o620)
    with pytest.raises(ConfigError, match=r"can be written by others: chmod 600 .*trusted\.keys, after a look"):
        trusted_keys(world.settings)


def test_a_key_that_cannot_be_written_whole_is_not_there(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))  # as a full disk would, or a kill between two steps
    try:
        with pytest.raises(ConfigError, match="cannot be written"):
            SigningKey.create(tmp_path / "signing.key")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_all_who_make_the_key_at_once_sign_with_the_same(tmp_path: Path) -> None:
    n, keys = 8, []
    for attempt in range(20):
        path, start = tmp_path / f"{attempt}" / "signing.key", threading.Barrier(n)

        def sign(path: Path = path, start: threading.Barrier = start) -> None:
            start.wait(timeout=20)
            keys.append(own_key(path).public)

        threads = [threading.Thread(target=sign) for _ in range(n)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)
        assert keys == [SigningKey.load(path).public] * n
        assert [file.name for file in path.parent.iterdir()] == ["signing.key"]
        keys.clear()


def test_a_link_to_nowhere_is_no_place_for_a_key(tmp_path: Path) -> None:
    (tmp_path / "signing.key").symlink_to(tmp_path / "absent")
    with pytest.raises(ConfigError, match="exists: a key is never overwritten"):
        own_key(tmp_path / "signing.key")


def test_a_key_is_trusted_on_a_line_of_its_own(world: World) -> None:
    path = world.root / "trusted.keys"
    path.write_text(OTHER.public)  # by an editor that ends no line
    path.chmod(0o600)
    assert trust(world.settings, KEY.public)
    assert path.read_text() == f"{OTHER.public}\n{KEY.public}\n"
    assert trusted_keys(world.settings) == {OTHER.public, KEY.public}
