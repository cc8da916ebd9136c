"""What a trainer left: which names can be kept, and that a model is placed and packed as it was left."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.guest.training import MAX_FOLDERS, files_in
from sandbox.training import MAX_FILES, MAX_PATH, TrainedModel, problem_of
from sandbox.wire.training import MAX_LISTING_BYTES

MANY = 1 << 40


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ([], "nothing"),
        (["model"], ""),
        (["a b", "é", "深/度"], ""),
        (["x" * 255], ""),
        (["x" * 256], "names"),
        (["é" * 128], "names"),
        (["/".join(["x" * 124] * 8)], ""),
        (["/".join(["😀" * 31] * 9)], "names"),  # 1,124 bytes in 287 characters
        (["a", "a/b"], "names"),
        (["a/b/c", "a/b"], "names"),
        (["a", "a"], "names"),
        (["/a"], "names"),
        (["a/"], "names"),
        (["a//b"], "names"),
        (["../a"], "names"),
        (["a/./b"], "names"),
        ([""], "names"),
        (["a\0b"], "names"),
        (["a\nb"], "names"),
        (["\x1b[2J"], "names"),
        (["\udcff"], "names"),
        (["\u202e"], "names"),
        ([f"{k:0255}" for k in range(MAX_FILES)], ""),
        ([str(k) for k in range(MAX_FILES + 1)], "too many"),
    ],
)
def test_names_that_can_be_kept(names: list[str], problem: str) -> None:
    assert problem_of([(name, 1) for name in names], MANY) == problem


def test_sizes_are_added_up() -> None:
    assert problem_of([("a", 4), ("b", 6)], 10) == ""
    assert problem_of([("a", 4), ("b", 7)], 10) == "too large"
    assert problem_of([("a", 10**4000)], 10) == "too large"


@pytest.mark.parametrize(
    "name", ["a/" * (MAX_LISTING_BYTES // 2) + "a", "/" * MAX_LISTING_BYTES, "a" * MAX_LISTING_BYTES]
)
def test_a_name_of_megabytes_is_refused_at_once(name: str) -> None:
    """All folders of a name with two million parts would take the judge hours."""
    begin = time.monotonic()
    assert problem_of([(name, 1)], MANY) == "names"
    assert time.monotonic() - begin < 1.0


PARTS = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters="/"), min_size=1, max_size=20).filter(
    lambda part: part not in (".", "..")
)
FILES = st.dictionaries(st.lists(PARTS, min_size=1, max_size=3).map("/".join), st.binary(max_size=20), max_size=4)


@given(FILES)
def test_a_packed_model_is_unpacked_as_it_was(files: dict[str, bytes]) -> None:
    if problem_of([(name, len(content)) for name, content in files.items()], MANY) == "":
        model = TrainedModel(files, "time")
        assert TrainedModel.unpacked(model.packed()).files == files
        again = TrainedModel(dict(reversed(files.items())))
        assert again.packed() == model.packed()


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_any_user_can_read_a_placed_model_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        TrainedModel({"a/b/c": b"1", "a/d": b"2", "e": b""}).place(tmp_path)
    finally:
        os.umask(before)
    modes = {str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    folders, files = ("model", "model/a", "model/a/b"), ("model/a/b/c", "model/a/d", "model/e")
    assert modes == dict.fromkeys(folders, 0o755) | dict.fromkeys(files, 0o444)


def test_the_guest_names_what_it_cannot_state(tmp_path: Path) -> None:
    out = str(tmp_path)
    assert files_in(out, 100) == ("", [])
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c").write_bytes(b"12")
    (tmp_path / "a").write_bytes(b"1")
    assert files_in(out, 3) == ("", [("a", 1), ("b/c", 2)])
    assert files_in(out, 2)[0] == "too large"


def test_the_guest_stops_at_the_first_file_or_folder_too_many(tmp_path: Path) -> None:
    for number in range(MAX_FOLDERS):
        (tmp_path / str(number)).mkdir()
    assert files_in(str(tmp_path), MANY)[0] == "too many"
    (tmp_path / "0").rmdir()
    assert files_in(str(tmp_path), MANY)[0] == ""


def test_the_guest_states_no_path_that_is_too_long(tmp_path: Path) -> None:
    """So whatever an honest trainer leaves, its listing fits into a message."""
    folder = os.fsencode(tmp_path)
    for _ in range(5):
        folder += b"/" + b"x" * 240
        os.mkdir(folder)
    assert files_in(str(tmp_path), MANY)[0] == "names"
    longest = 2.4 * MAX_PATH * MAX_FILES  # three bytes of UTF-8 are seven characters of JSON in JSON
    assert longest + 200 * MAX_FILES < MAX_LISTING_BYTES
