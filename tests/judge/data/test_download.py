"""Downloads: verified, continued after an interruption, refused if they are not what was pinned."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from judge.data import download as downloads
from judge.data.download import FetchError, download
from tests.judge.data.file_servers import FileServer, serving

CONTENT = bytes(range(256)) * 4000  # 1,024,000 bytes
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def ignore(done: int, total: int, unit: str) -> None:
    """A report that nobody reads."""


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "PAUSE_S", 0.01)


def test_a_file_is_fetched_once(tmp_path: Path):
    reported = []
    with serving(FileServer({"a/b.bin": CONTENT})) as server:
        for _ in range(2):
            download(
                f"{server.address}/a/b.bin", tmp_path / "b.bin", SHA256, len(CONTENT), lambda *r: reported.append(r)
            )
    assert (tmp_path / "b.bin").read_bytes() == CONTENT
    assert server.asked == [("/a/b.bin", "")]
    assert reported[-1] == (len(CONTENT), len(CONTENT), "bytes")
    assert [path.name for path in tmp_path.iterdir()] == ["b.bin"]


def test_an_interrupted_download_goes_on_where_it_ended(tmp_path: Path):
    with serving(FileServer({"b.bin": CONTENT}, cut_after=300_000)) as server:
        download(f"{server.address}/b.bin", tmp_path / "b.bin", SHA256, len(CONTENT), ignore)
    assert (tmp_path / "b.bin").read_bytes() == CONTENT
    assert [asked for _, asked in server.asked] == ["", "bytes=300000-", "bytes=600000-", "bytes=900000-"]


def test_the_next_command_goes_on(tmp_path: Path):
    target = tmp_path / "b.bin"
    with serving(FileServer({"b.bin": CONTENT}, cut_after=100_000)) as server:
        with pytest.raises(FetchError, match=r"500000 of 1024000 bytes are kept: run the command again"):
            download(f"{server.address}/b.bin", target, SHA256, len(CONTENT), ignore)
        server.cut_after = None
        download(f"{server.address}/b.bin", target, SHA256, len(CONTENT), ignore)
    assert server.asked[-1] == ("/b.bin", "bytes=500000-")
    assert target.read_bytes() == CONTENT


def test_a_server_without_ranges_sends_all_again(tmp_path: Path):
    target = tmp_path / "b.bin"
    with serving(FileServer({"b.bin": CONTENT}, cut_after=100_000, ranges=False)) as server:
        with pytest.raises(FetchError, match="100000 of 1024000 bytes are kept"):
            download(f"{server.address}/b.bin", target, SHA256, len(CONTENT), ignore)
        server.cut_after = None
        download(f"{server.address}/b.bin", target, SHA256, len(CONTENT), ignore)
    assert server.asked[-1] == ("/b.bin", "bytes=100000-")
    assert target.read_bytes() == CONTENT


def test_another_content_is_refused_and_not_kept(tmp_path: Path):
    with (
        serving(FileServer({"b.bin": CONTENT[:-1] + b"!"})) as server,
        pytest.raises(FetchError, match=f"b.bin: has another sha256 than {SHA256}"),
    ):
        download(f"{server.address}/b.bin", tmp_path / "b.bin", SHA256, len(CONTENT), ignore)
    assert not list(tmp_path.iterdir())


def test_a_larger_file_is_not_received(tmp_path: Path):
    with (
        serving(FileServer({"b.bin": CONTENT * 20})) as server,
        pytest.raises(FetchError, match="is larger than 1024000 bytes"),
    ):
        download(f"{server.address}/b.bin", tmp_path / "b.bin", SHA256, len(CONTENT), ignore)
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_not_there_is_asked_for_once(tmp_path: Path):
    with serving(FileServer({})) as server, pytest.raises(FetchError, match="answers 404"):
        download(f"{server.address}/b.bin", tmp_path / "b.bin", SHA256, len(CONTENT), ignore)
    assert len(server.asked) == 1


def test_a_rest_that_belongs_to_a_smaller_file_begins_again(tmp_path: Path):
    target = tmp_path / "b.bin"
    target.with_name("b.bin.part").write_bytes(b"x" * 5000)
    with serving(FileServer({"b.bin": CONTENT[:4000]})) as server, pytest.raises(FetchError):
        download(f"{server.address}/b.bin", target, SHA256, len(CONTENT), ignore)
    assert [asked for _, asked in server.asked[:2]] == ["bytes=5000-", ""]
