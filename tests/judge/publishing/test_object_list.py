"""Laws of the site's own list, and of the files that it hands out."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.publishing.object_list import ListedObject, SiteList, going, is_same, read_list, with_claimed, with_shown
from judge.publishing.served_file import site_object, unpacked
from submissions.store.interface import StoreError

NAMES = st.frozensets(st.sampled_from([f"assets/{character}.css" for character in "abcdef"]))
START, HOUR = datetime(2026, 1, 1, tzinfo=UTC), timedelta(hours=1)


@given(st.lists(st.tuples(NAMES, st.booleans(), st.integers(0, 30)), max_size=12), st.integers(0, 48))
def test_nothing_goes_that_was_shown_within_the_grace_time_and_nothing_is_forgotten(
    publications: list[tuple[frozenset[str], bool, int]], grace: int
) -> None:
    """Some publications end after the claim, with all of their files put or none; the list is all that is remembered.

    What is read is of the last that ended, or, for all that is known, of one that died.
    """
    listed, now = SiteList(objects={}), START
    present: set[str] = set()
    read_until: dict[str, datetime] = {}  # of each name the last time at which a page may have asked for it
    reading: frozenset[str] = frozenset()
    for names, ends, hours in publications:
        now += hours * HOUR
        read_until |= dict.fromkeys(reading, now)
        listed = with_claimed(listed, names, now)
        assert names <= listed.objects.keys()
        assert not names & set(going(listed))
        before = set(present)
        present |= names
        reading |= names
        if ends:
            reading = names
            shown = {name: ListedObject(sha256="1") for name in names}
            listed = with_shown(listed, shown, before, now, grace * HOUR)
            gone = set(going(listed))
            assert not gone & names
            assert all(now - read_until.get(name, START) >= grace * HOUR for name in gone)
            present -= gone
        assert present <= listed.objects.keys()
        assert read_list(listed.model_dump_json(exclude_defaults=True).encode(), "site.json") == listed
    now += 1000 * HOUR
    listed = with_shown(with_claimed(listed, (), now), {}, present, now, grace * HOUR)
    now += grace * HOUR
    listed = with_shown(with_claimed(listed, (), now), {}, present, now, grace * HOUR)
    assert present <= set(going(listed))
    assert with_shown(with_claimed(listed, (), now), {}, (), now, grace * HOUR).objects == {}


@given(st.sampled_from(["a.html", "assets/a.css", "logs/a.txt", "a.bin", "a"]), st.binary(max_size=2000))
def test_what_is_handed_out_is_the_file(name: str, content: bytes) -> None:
    wanted = site_object(name, content)
    assert unpacked(wanted.body, wanted.served.content_encoding) == content
    assert len(wanted.body) <= len(content)
    assert site_object(name, content) == wanted  # byte by byte, whenever
    assert is_same(None, wanted.md5.hex(), wanted) is None
    entry = ListedObject(sha256=wanted.sha256, etag="e", served=str(wanted.served))
    assert is_same(entry, "e", wanted) is True
    assert is_same(entry, "f", wanted) is False
    assert is_same(entry.model_copy(update={"going": True}), "e", wanted) is False
    assert is_same(entry.model_copy(update={"served": "otherwise"}), "e", wanted) is False


def test_what_would_unpack_to_more_than_fits_is_not_unpacked() -> None:
    bomb = gzip.compress(bytes(10_000_000))
    assert unpacked(bomb, "gzip", max_bytes=10_000_000) == bytes(10_000_000)
    assert unpacked(bomb, "gzip", max_bytes=9_999_999) is None
    assert unpacked(b"1234", "", max_bytes=3) is None
    assert unpacked(b"1234", "br") is None


@pytest.mark.parametrize("data", [b"", b"[]", b'{"objects": {"a": {"size": 1}}}', b'{"files": 1}', b"\xff"])
def test_a_list_of_another_make_is_not_taken_for_an_empty_one(data: bytes) -> None:
    with pytest.raises(StoreError, match=r"^STORE: site\.json cannot be read"):
        read_list(data, "site.json")
