"""A site in a folder: its files come there so that a reader never sees half of two versions.

Assets carry a hash in their name and come first, then the pages of the submissions, then `index.html`. All files that
are not there already are written beside their places, and only then moved there, one after another. `site.json` lists
what the site has, so that a later build removes pages of its own that are no longer made, and nothing else. An old
stylesheet outlives its pages by one build: somebody may have loaded a page a moment ago that still asks for it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from pydantic import Field, ValidationError

from judge.records.manifest import FILE
from submissions.records import Record

INDEX = "index.html"
MANIFEST = "site.json"

_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{8}", re.DOTALL)


class SiteManifest(Record):
    """`site.json`: sha256 by path of what the last build wrote, and what it kept for readers of the build before."""

    files: dict[str, str] = Field(default_factory=dict)
    retired: tuple[str, ...] = ()


def publish(files: Mapping[str, bytes], out_dir: Path) -> list[Path]:
    """The paths of `files` in `out_dir`, written so that no reader sees a page whose assets are not there yet.

    Args:
        files: content by path in the site, with forward slashes; must hold `index.html`.
    """
    with staged(files, out_dir) as site:
        return site.show()


class StagedFolder:
    """Files that lie beside their places in a site, complete, and that no reader sees yet."""

    def __init__(self, out_dir: Path) -> None:
        self._out_dir = out_dir
        self._temporary: dict[str, Path] = {}
        self._hashes: dict[str, str] = {}
        self._left: dict[Path, dict[str, list[Path]]] = {}

    def add(self, name: str, content: bytes) -> None:
        """Writes the file that is to lie at `name`, unless it lies there as it is."""
        path = self._out_dir / name
        for left in self._left_in(path.parent).pop(path.name, ()):
            left.unlink()  # by a build that was killed: nobody else builds here now
        self._hashes[name] = hashlib.sha256(content).hexdigest()
        if name != INDEX and _holds(path, content):  # that page is written always: its time is that of the build
            return
        self._temporary[name] = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        with self._temporary[name].open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # a full disk, or a crash, shall leave the pages that are there

    def _left_in(self, folder: Path) -> dict[str, list[Path]]:
        """By the file that they were to become, what other builds left in a folder; it is looked into once."""
        if folder not in self._left:
            folder.mkdir(parents=True, exist_ok=True)
            found: dict[str, list[Path]] = {}
            for path in folder.iterdir():
                if of := _TEMPORARY.fullmatch(path.name):
                    found.setdefault(of[1], []).append(path)
            self._left[folder] = found
        return self._left[folder]

    def show(self) -> list[Path]:
        """Puts every file in its place, `index.html` last; then what the build before left behind goes."""
        ordered = sorted(self._hashes, key=order)
        retired, removed = _left_behind(_read_manifest(self._out_dir), self._hashes)
        listed = SiteManifest(files=dict(sorted(self._hashes.items())), retired=tuple(sorted(retired)))
        self.add(MANIFEST, listed.model_dump_json(indent=1).encode() + b"\n")
        for name in (*ordered, MANIFEST):
            if name in self._temporary:
                os.replace(self._temporary[name], self._out_dir / name)
        for name in removed:
            _remove(self._out_dir, name)
        return [self._out_dir / name for name in ordered]

    def discard(self) -> None:
        """Removes what was not shown."""
        for path in self._temporary.values():
            path.unlink(missing_ok=True)


def _holds(path: Path, content: bytes) -> bool:
    """Whether this very file, and not one that it points to, has the content."""
    try:
        return not path.is_symlink() and path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False


@contextmanager
def staged(files: Mapping[str, bytes], out_dir: Path) -> Iterator[StagedFolder]:
    """`files`, written beside their places in `out_dir`; what is not shown when this is left, is gone.

    Until they are shown the site there is as it was, byte by byte. One at a time: others wait.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    folder, site = os.open(out_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), StagedFolder(out_dir)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        for name, content in files.items():
            site.add(name, content)
        yield site
    finally:
        site.discard()
        os.close(folder)


def order(name: str) -> tuple[int, str]:
    """What is published before what: assets, what pages point to, pages, manifest, and the page that all begin with."""
    if is_asset(name):
        return 0, name
    if name in (FILE, INDEX):
        return (4 if name == INDEX else 3), name
    return (2 if name.endswith(".html") else 1), name


def is_asset(name: str) -> bool:
    """Whether the name of a file is made of its content."""
    return name.startswith("assets/")


def _read_manifest(out_dir: Path) -> SiteManifest:
    """What the last build wrote; nothing where that cannot be told, so that nothing is removed."""
    try:
        return SiteManifest.model_validate_json((out_dir / MANIFEST).read_bytes())
    except (FileNotFoundError, ValidationError):
        return SiteManifest()


def is_whole(out_dir: Path) -> bool:
    """Whether all that the last build wrote into `out_dir` lies there as it was written."""
    files = _read_manifest(out_dir).files
    return INDEX in files and all(_is_as_written(out_dir / name, digest) for name, digest in files.items())


def _is_as_written(file: Path, digest: str) -> bool:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest() == digest
    except OSError:
        return False


def _left_behind(previous: SiteManifest, names: Collection[str]) -> tuple[set[str], set[str]]:
    """What of the build before stays for one more build, and what goes, where `names` are the site's now."""
    gone = previous.files.keys() - set(names)
    retired = {name for name in gone if is_asset(name)}
    return retired, (gone | set(previous.retired)) - retired - set(names)


def _remove(out_dir: Path, name: str) -> None:
    """Removes a file of the site; a manifest that points out of the site is not followed."""
    path = (out_dir / name).resolve()
    if path.is_relative_to(out_dir.resolve()):
        path.unlink(missing_ok=True)


class FolderSite:
    """A site in a folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, name: str = "") -> str:
        return str(self._folder / name)

    def may_be_absent(self) -> bool:
        return not self._folder.is_dir()

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        for name in names:
            try:
                yield name, (self._folder / name).read_bytes()
            except OSError:
                yield name, None

    def misserved(self, names: Iterable[str]) -> tuple[str, ...]:
        return ()  # a folder says nothing of that

    def difference(self, files: Mapping[str, bytes], own: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {"new": [], "changed": [], "same": []}
        for name, there in self.read(sorted(files)):
            found["new" if there is None else "same" if there == files[name] else "changed"].append(name)
        _, removed = _left_behind(_read_manifest(self._folder), (*files, FILE))
        leaving = tuple(name for name in sorted(removed) if (self._folder / name).is_file())
        return {**{how: tuple(names) for how, names in found.items()}, "removed": leaving}

    def staged(self, files: Mapping[str, bytes], own: Collection[str] = ()) -> AbstractContextManager[StagedFolder]:
        return staged(files, self._folder)  # whatever lies there under the site's names, is the site's
