"""The files of a pinned source in a folder of the cache: fetched once, verified each time."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from judge.data.download import FetchError, download
from judge.data.folder_lock import lock_of
from judge.data.git_files import fetch_git_files
from judge.records.content_keys import hash_of
from submissions.progress import Report
from tasks.suites.sources import Source, SourceFile

DONE = ".complete"


def source_folder(source: Source, cache: Path) -> Path:
    """The folder of its files; another commit, hash or path gets another one."""
    pinned = source.model_dump(mode="json", include={"git", "commit", "url", "files"})
    return cache / f"{source.name}-{hash_of(pinned)[:12]}"


def mirrored(address: str, mirrors: Mapping[str, str]) -> str:
    """`address`, with its longest beginning that has a mirror replaced."""
    beginnings = [beginning for beginning in mirrors if beginning and address.startswith(beginning)]
    if not beginnings:
        return address
    longest = max(beginnings, key=len)
    return mirrors[longest] + address.removeprefix(longest)


def fetch_source(source: Source, cache: Path, mirrors: Mapping[str, str], report: Report) -> Path:
    """The folder with all files of `source`, each verified. What is there is not fetched again.

    Raises:
        FetchError: a file cannot be fetched, or is not what was pinned.
        OSError: the cache cannot be written.
    """
    folder = source_folder(source, cache)
    with lock_of(folder):
        if source.git:
            _fetch_repository(source, folder, mirrored(source.git, mirrors), report)
        else:
            address = mirrored(source.url, mirrors).rstrip("/")
            for file in source.files:
                target = folder / file.local
                target.parent.mkdir(parents=True, exist_ok=True)
                # The schema demands both of a file that git does not verify.
                download(f"{address}/{file.path}", target, file.sha256 or "", file.n_bytes or 0, report)
    return folder


def _fetch_repository(source: Source, folder: Path, address: str, report: Report) -> None:
    """Fetches to a folder beside, which takes its place at the end: so `folder` is whole, or is not there."""
    if (folder / DONE).exists():
        for file in source.files:
            _verify(file, folder / file.local, str(folder / file.local))
        return
    with tempfile.TemporaryDirectory(prefix=f"{folder.name}.", dir=folder.parent) as scratch:
        raw, made = Path(scratch, "raw"), Path(scratch, "made")
        report(0, len(source.files), "files")
        paths = [file.path for file in source.files]
        fetched = fetch_git_files(address, source.commit, paths, Path(scratch), raw)
        for file in source.files:
            for path in fetched[file.path]:
                target = made / file.local / Path(path).relative_to(file.path)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(raw / path, target)
            _verify(file, made / file.local, f"{address} at {source.commit[:12]}: {file.path}")
        report(len(source.files), len(source.files), "files")
        (made / DONE).touch()
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(made, folder)


def _verify(file: SourceFile, path: Path, name: str) -> None:
    """Checks the size and hash of a file, as far as they are stated.

    Raises:
        FetchError: it has others, or is not there.
    """
    if not path.exists():
        raise FetchError(f"{name}: is not there: delete {path.parent}, and run the command again")
    if file.n_bytes is not None and path.is_file() and path.stat().st_size != file.n_bytes:
        raise FetchError(f"{name}: has {path.stat().st_size} bytes, and {file.n_bytes} are pinned: {_REMEDY}")
    if file.sha256 is None:
        return
    if not path.is_file():
        raise FetchError(f"{name}: is a folder: state no sha256, because the commit verifies what is in it")
    with path.open("rb") as content:
        if hashlib.file_digest(content, "sha256").hexdigest() != file.sha256:
            raise FetchError(f"{name}: has another sha256 than {file.sha256}, which is pinned: {_REMEDY}")


_REMEDY = "correct the suite if the file is meant; if it lies in the cache, delete its folder and run the command again"
