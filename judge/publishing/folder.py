"""A site in a folder. A reader never sees a mixture of two versions.

Assets have a hash in their name and are moved into place first, then the pages of submissions, then `index.html`. New
files are first written beside their final names, and moved only when all are complete. `site.json` lists the site's
files, so that a later build removes only pages of its own that are no longer made. An old stylesheet stays for one more
build: a reader may have loaded a page a moment ago that refers to it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationError

from judge.records.manifest import FILE
from submissions.records import Record

INDEX = "index.html"
MANIFEST = "site.json"

_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{8}", re.DOTALL)


class SiteManifest(Record):
    """`site.json`: sha256 by path of the files of the last build, and the assets kept from the build before."""

    files: dict[str, str] = Field(default_factory=dict)
    retired: tuple[str, ...] = ()


def publish(files: Mapping[str, bytes], out_dir: Path) -> list[Path]:
    """The paths of `files` in `out_dir`, written so that no reader sees a page without its assets.

    Args:
        files: content by path in the site, with forward slashes; must contain `index.html`.
    """
    with staged(files, out_dir) as site:
        return site.show()


class StagedFolder:
    """Complete files of a site beside their final names, not visible to readers yet."""

    def __init__(self, out_dir: Path) -> None:
        self._out_dir = out_dir
        self._temporary: dict[str, Path] = {}
        self._hashes: dict[str, str] = {}
        self._leftovers: dict[Path, dict[str, list[Path]]] = {}

    def add(self, name: str, content: bytes) -> None:
        """Writes the file `name`, unless it is there with this content."""
        path = self._out_dir / name
        for leftover in self._leftovers_in(path.parent).pop(path.name, ()):
            leftover.unlink()  # of a build that was killed: no other build runs here now
        self._hashes[name] = hashlib.sha256(content).hexdigest()
        if name != INDEX and _holds(path, content):  # the index is always written: its time is that of the build
            return
        self._temporary[name] = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        with self._temporary[name].open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # a full disk or a crash must not damage the present pages

    def _leftovers_in(self, folder: Path) -> dict[str, list[Path]]:
        """Temporary files of earlier builds in a folder, by their final name. Each folder is read once."""
        if folder not in self._leftovers:
            folder.mkdir(parents=True, exist_ok=True)
            leftovers: dict[str, list[Path]] = {}
            for path in folder.iterdir():
                if temporary := _TEMPORARY.fullmatch(path.name):
                    leftovers.setdefault(temporary[1], []).append(path)
            self._leftovers[folder] = leftovers
        return self._leftovers[folder]

    def show(self) -> list[Path]:
        """Moves every file into place, `index.html` last; then removes the files of earlier builds."""
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
        """Removes the files that were not shown."""
        for path in self._temporary.values():
            path.unlink(missing_ok=True)


def _holds(path: Path, content: bytes) -> bool:
    """Whether the file itself, not the target of a link, has this content."""
    try:
        return not path.is_symlink() and path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False


@contextmanager
def staged(files: Mapping[str, bytes], out_dir: Path) -> Iterator[StagedFolder]:
    """`files`, written beside their final names in `out_dir`. If they are not shown in the context, they are removed.

    Until they are shown the site stays unchanged. A lock lets one build run at a time.
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
    """The order of publication: assets, files that pages refer to, pages, manifest, `index.html`."""
    if is_asset(name):
        return 0, name
    if name in (FILE, INDEX):
        return (4 if name == INDEX else 3), name
    return (2 if name.endswith(".html") else 1), name


def is_asset(name: str) -> bool:
    """Whether the file's name contains a hash of its content."""
    return name.startswith("assets/")


def _read_manifest(out_dir: Path) -> SiteManifest:
    """The list of the last build's files; empty if it cannot be read, so that nothing is removed."""
    try:
        return SiteManifest.model_validate_json((out_dir / MANIFEST).read_bytes())
    except (FileNotFoundError, ValidationError):
        return SiteManifest()


def is_whole(out_dir: Path) -> bool:
    """Whether all files of the last build are in `out_dir`, unchanged."""
    files, read = _read_manifest(out_dir).files, as_written(out_dir)
    return INDEX in files and all(read(name) is not None for name in files)


def as_written(out_dir: Path) -> Callable[[str], bytes | None]:
    """A function that reads a file of the last build by its name; None if it is gone or was changed since."""
    files = _read_manifest(out_dir).files

    def read(name: str) -> bytes | None:
        try:
            content = (out_dir / name).read_bytes()
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest() == files.get(name) else None

    return read


def _left_behind(previous: SiteManifest, names: Collection[str]) -> tuple[set[str], set[str]]:
    """The old assets that stay for one more build, and the files to be removed; `names` are those of this build."""
    gone = previous.files.keys() - set(names)
    retired = {name for name in gone if is_asset(name)}
    return retired, (gone | set(previous.retired)) - retired - set(names)


def _remove(out_dir: Path, name: str) -> None:
    """Removes a file of the site. A path that leads out of `out_dir` is ignored."""
    path = (out_dir / name).resolve()
    if path.is_relative_to(out_dir.resolve()):
        path.unlink(missing_ok=True)


@dataclass(frozen=True)
class FolderSite:
    """A site in a folder of this machine."""

    folder: Path

    def path(self, name: str = "") -> str:
        return str(self.folder / name)

    def may_be_absent(self) -> bool:
        return not self.folder.is_dir()

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        for name in names:
            try:
                yield name, (self.folder / name).read_bytes()
            except OSError:
                yield name, None

    def misserved(self, names: Iterable[str]) -> tuple[str, ...]:
        return ()  # a folder has no headers

    def difference(self, files: Mapping[str, bytes], rewritten: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
        names: dict[str, list[str]] = {"new": [], "changed": [], "same": []}
        for name, present in self.read(sorted(files)):
            names["new" if present is None else "same" if present == files[name] else "changed"].append(name)
        _, old = _left_behind(_read_manifest(self.folder), (*files, FILE))
        names["removed"] = [name for name in sorted(old) if (self.folder / name).is_file()]
        return {difference: tuple(paths) for difference, paths in names.items()}

    def staged(
        self, files: Mapping[str, bytes], rewritten: Collection[str] = ()
    ) -> AbstractContextManager[StagedFolder]:
        return staged(files, self.folder)  # any file under the site's names belongs to the site
