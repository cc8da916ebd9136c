"""Files of a git repository at a commit, without a checkout.

The repository may be hostile. No file of it is ever checked out: its trees are listed, and the contents of regular
files are written under names that were checked. So no hook, filter, submodule or symbolic link has an effect. git names
each object by its hash, so the commit verifies all files below it.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from judge.data.download import FetchError

PROTOCOLS = "https:http:ssh:file"
REGULAR = ("100644", "100755")
OTHER = {"120000": "a symbolic link", "160000": "a submodule"}
_MIRRORS = "[mirrors] of judge.toml"
_UNREACHABLE = re.compile("could not resolve|failed to connect|couldn't connect|timed out|unreachable", re.IGNORECASE)
POINTER = b"version https://git-lfs.github.com/"
_OPTIONS = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "http.lowSpeedLimit=1000"),
    *("-c", "http.lowSpeedTime=60"),
)


class GitFile(NamedTuple):
    """A regular file of a commit.

    Args:
        path: in the repository.
        blob: the hash of its content.
    """

    path: str
    blob: str


class _Repository(NamedTuple):
    """A repository on disk that has one commit of another one.

    Args:
        name: address and commit, for errors.
    """

    folder: Path
    name: str

    def git(self, *arguments: str, given: bytes = b"") -> bytes:
        """Standard output of a git command.

        Raises:
            FetchError: it failed; with the last line that it wrote.
        """
        command = ["git", *_OPTIONS, "-C", str(self.folder), *arguments]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        network = {name: os.environ[name] for name in ("GIT_SSH", "GIT_SSH_COMMAND") if name in os.environ}
        guards = {
            "GIT_ALLOW_PROTOCOL": PROTOCOLS,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "LC_ALL": "C",
        }
        try:
            done = subprocess.run(command, input=given, capture_output=True, env=kept | network | guards, check=False)
        except FileNotFoundError:
            raise FetchError("git: is not installed: install it, for sources in git repositories") from None
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
            said = " ".join("".join(c for c in lines[-1] if c.isprintable()).split())[:200]
            to_check = "the network" if _UNREACHABLE.search(said) else "address and commit"
            remedy = f"check {to_check}, or state a mirror in {_MIRRORS}"
            raise FetchError(f"{self.name}: git {arguments[0]} failed ({said}): {remedy}")
        return done.stdout


def fetch_git_files(address: str, commit: str, paths: Sequence[str], scratch: Path, into: Path) -> dict[str, list[str]]:
    """Writes the files at `paths` of a commit below `into`, under their paths in the repository.

    Only these files are transferred, if the server can filter.

    Args:
        paths: files, or folders with all that they hold.
        scratch: an existing folder on the same disk, for the time of the transfer.

    Returns:
        by path the files in it, that is itself or what the folder holds.

    Raises:
        FetchError: the commit or a path is not there, or a file is none that may be written.
    """
    with tempfile.TemporaryDirectory(prefix=".git-", dir=scratch) as folder:
        repository = _Repository(Path(folder), f"{address} at {commit[:12]}")
        _fetch_commit(repository, address, commit)
        found = {path: _files(repository, commit, path) for path in paths}
        blobs = sorted({file.blob for files in found.values() for file in files})
        wanted = "".join(f"{blob}\n" for blob in blobs).encode()
        repository.git("fetch", "--quiet", "--no-tags", "--filter=blob:none", "--stdin", "origin", given=wanted)
        for files in found.values():
            for file in files:
                _write(repository, file, into / file.path)
    return {path: [file.path for file in files] for path, files in found.items()}


def _fetch_commit(repository: _Repository, address: str, commit: str) -> None:
    repository.git("init", "--quiet", "--bare", "--template=")
    for field, value in {"url": address, "promisor": "true", "partialclonefilter": "blob:none"}.items():
        repository.git("config", f"remote.origin.{field}", value)
    fetch = ("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--filter=blob:none")
    repository.git(*fetch, "origin", commit)
    there = repository.git("rev-parse", "--verify", f"{commit}^{{commit}}").decode().strip()
    if there != commit:
        raise FetchError(f"{repository.name}: is the hash of a tag or tree: state that of the commit, {there}")


def _files(repository: _Repository, commit: str, path: str) -> list[GitFile]:
    """The regular files at `path`.

    Raises:
        FetchError: there is none, or one is a link or a submodule, or has a name that leaves its folder.
    """
    listed = repository.git("--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", commit, "--", path)
    files = []
    for entry in listed.split(b"\0")[:-1]:
        about, _, name = entry.decode(errors="surrogateescape").partition("\t")
        mode, _, blob = about.split(" ")
        is_below = name == path or name.startswith(f"{path.rstrip('/')}/")
        if (
            mode not in REGULAR
            or not is_below
            or not name.isprintable()
            or {"..", ".git"} & {*PurePosixPath(name).parts}
        ):
            what = OTHER.get(mode, "a file with a name that is not allowed")
            raise FetchError(f"{repository.name}: {name!a}: is {what}, which is not fetched: state the file itself")
        files.append(GitFile(name, blob))
    if not files:
        raise FetchError(f"{repository.name}: {path}: is not there: check the path")
    return files


def _write(repository: _Repository, file: GitFile, target: Path) -> None:
    content = repository.git("cat-file", "blob", file.blob)
    if content.startswith(POINTER):
        raise FetchError(
            f"{repository.name}: {file.path}: is a pointer of Git LFS, not the file: "
            "state the address and sha256 of the file"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
