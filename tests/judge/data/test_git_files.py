"""Files of a git repository at a commit: only regular files, and nothing of the repository runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.data.download import FetchError
from judge.data.git_files import fetch_git_files
from tests.judge.data.file_servers import commit, git, repository


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A folder for the transfer."""
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


def test_files_and_folders_at_a_commit_that_is_not_the_last(tmp_path: Path, scratch: Path):
    files = {
        "data/a.txt": b"a\n",
        "data/deep/b.bin": b"\0\r\n",
        "other.txt": b"other",
        ".gitattributes": b"*.txt text eol=crlf\n",
    }
    address, pinned = repository(tmp_path / "theirs", files)
    (tmp_path / "theirs" / "data/a.txt").write_bytes(b"changed")
    commit(tmp_path / "theirs")
    found = fetch_git_files(address, pinned, ["data", "other.txt"], scratch, tmp_path / "into")
    assert found == {"data": ["data/a.txt", "data/deep/b.bin"], "other.txt": ["other.txt"]}
    written = {str(path.relative_to(tmp_path / "into")): path.read_bytes() for path in (tmp_path / "into").rglob("*.*")}
    assert written == {name: files[name] for name in ("data/a.txt", "data/deep/b.bin", "other.txt")}
    assert not list(scratch.iterdir())


def test_a_server_that_cannot_filter(tmp_path: Path, scratch: Path):
    address, pinned = repository(tmp_path / "theirs", {"a.txt": b"a"})
    git(tmp_path / "theirs", "config", "uploadpack.allowFilter", "false")
    fetch_git_files(address, pinned, ["a.txt"], scratch, tmp_path / "into")
    assert (tmp_path / "into/a.txt").read_bytes() == b"a"


def test_a_commit_or_path_that_is_not_there(tmp_path: Path, scratch: Path):
    address, pinned = repository(tmp_path / "theirs", {"a.txt": b"a"})
    with pytest.raises(FetchError, match=r"host.*: check the network, or state a mirror in \[mirrors\]"):
        fetch_git_files("https://host.invalid/theirs", pinned, ["a.txt"], scratch, tmp_path / "into")
    with pytest.raises(FetchError, match=r"theirs at 0{12}: git fetch failed \(.*\): check address and commit"):
        fetch_git_files(address, "0" * 40, ["a.txt"], scratch, tmp_path / "into")
    with pytest.raises(FetchError, match=r"b\.txt: is not there: check the path"):
        fetch_git_files(address, pinned, ["b.txt"], scratch, tmp_path / "into")
    with pytest.raises(FetchError, match="git fetch failed"):
        fetch_git_files(f"file://{tmp_path}/nowhere", pinned, ["a.txt"], scratch, tmp_path / "into")


def test_a_tag_is_no_commit(tmp_path: Path, scratch: Path):
    address, pinned = repository(tmp_path / "theirs", {"a.txt": b"a"})
    git(tmp_path / "theirs", "tag", "--annotate", "--message=one", "one")
    tag = git(tmp_path / "theirs", "rev-parse", "one")
    with pytest.raises(FetchError, match=f"is the hash of a tag or tree: state that of the commit, {pinned}"):
        fetch_git_files(address, tag, ["a.txt"], scratch, tmp_path / "into")


@pytest.mark.parametrize("target", ["/etc/passwd", "../../secret", "a.txt"])
def test_a_symbolic_link_is_refused(tmp_path: Path, scratch: Path, target: str):
    repository(tmp_path / "theirs", {"data/a.txt": b"a"})
    (tmp_path / "theirs/data/link").symlink_to(target)
    pinned = commit(tmp_path / "theirs")
    with pytest.raises(FetchError, match="'data/link': is a symbolic link"):
        fetch_git_files(f"file://{tmp_path}/theirs", pinned, ["data"], scratch, tmp_path / "into")
    assert not (tmp_path / "into").exists()


def test_a_submodule_is_refused(tmp_path: Path, scratch: Path):
    address, _ = repository(tmp_path / "other", {"a.txt": b"a"})
    repository(tmp_path / "theirs", {"data/a.txt": b"a"})
    git(tmp_path / "theirs", "submodule", "--quiet", "add", address, "data/sub")
    pinned = commit(tmp_path / "theirs")
    with pytest.raises(FetchError, match="'data/sub': is a submodule"):
        fetch_git_files(f"file://{tmp_path}/theirs", pinned, ["data"], scratch, tmp_path / "into")


def test_a_pointer_of_git_lfs_is_not_the_file(tmp_path: Path, scratch: Path):
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"
    address, pinned = repository(tmp_path / "theirs", {"big.db": pointer})
    with pytest.raises(FetchError, match=r"big\.db: is a pointer of Git LFS"):
        fetch_git_files(address, pinned, ["big.db"], scratch, tmp_path / "into")


def test_nothing_runs(tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch):
    """Neither a transport that is a command, nor a hook or filter of the user's templates and settings."""
    mark = tmp_path / "mark"
    template = tmp_path / "template/hooks"
    template.mkdir(parents=True)
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        hook = template / name
        hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
        hook.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    hooks = f"[init]\n\ttemplateDir = {template.parent}\n[core]\n\thooksPath = {template}\n"
    (home / ".gitconfig").write_text(f'{hooks}[filter "bad"]\n\tsmudge = touch {mark}\n')
    address, pinned = repository(tmp_path / "theirs", {"a.txt": b"a", ".gitattributes": b"* filter=bad\n"})
    monkeypatch.setenv("HOME", str(home))
    fetch_git_files(address, pinned, ["a.txt"], scratch, tmp_path / "into")
    with pytest.raises(FetchError, match="git fetch failed"):
        fetch_git_files(f"ext::sh -c 'touch {mark}'", pinned, ["a.txt"], scratch, tmp_path / "into")
    assert not mark.exists()
