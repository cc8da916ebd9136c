"""The site on disk: static files, published so that a reader never sees half of two versions.

Assets carry a hash in their name and come first, then the pages of the submissions, then `index.html`. All files are
written beside their places, and only then moved there, one after another. `site.json` lists what was written, so that a
later build removes pages of its own that are no longer made, and nothing else. An old stylesheet outlives its pages by
one build: somebody may have loaded a page a moment ago that still asks for it.
"""

from __future__ import annotations

import fcntl
import glob
import hashlib
import logging
import os
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pydantic import Field, ValidationError

from judge.board import Leaderboard
from judge.pages import render
from judge.stored_board import read_board
from submissions.preflight_log import read_log
from submissions.records import Record
from submissions.store import Store
from tasks.suite import Suite

INDEX = "index.html"
MANIFEST = "site.json"
_log = logging.getLogger(__name__)


class SiteManifest(Record):
    """`site.json`: sha256 by path of what the last build wrote, and what it kept for readers of the build before."""

    files: dict[str, str] = Field(default_factory=dict)
    retired: tuple[str, ...] = ()


def build_site(
    store: Store,
    suite: Suite,
    out_dir: Path,
    on_problem: Callable[[str], None] = _log.warning,
    current: Collection[str] | None = None,
    public: Collection[str] = (),
) -> list[Path]:
    """The files written, `index.html` last. Judging the same records again writes the same bytes.

    Args:
        store: with submissions and results.
        out_dir: made if it is not there; files in it that are not the site's own stay.
        on_problem: told a line about each record that cannot be read or added up, and is left out.
        current: keys of the results that fit the present data sets, where that is known: see `load_results`.
        public: names of the data sets that are public: see `judge.public.public_sets`.
    """
    return publish(site_files(store, read_board(store, suite, on_problem, current), public), out_dir)


def site_files(store: Store, board: Leaderboard, public: Collection[str]) -> dict[str, bytes]:
    """Content by path of the site of `board`, with what the containers said in the preflight.

    Args:
        public: names of the data sets that are public; of every other one less is shown.
    """
    logs = {row.submission.id: read_log(store, row.submission.id) for row in board.rows}
    return render(board, public, logs)


def publish(files: Mapping[str, bytes], out_dir: Path) -> list[Path]:
    """The paths of `files` in `out_dir`, written so that no reader sees a page whose assets are not there yet.

    Args:
        files: content by path in the site, with forward slashes; must hold `index.html`.
    """
    with staged(files, out_dir) as site:
        return site.show()


class Staged:
    """Files that lie beside their places in a site, complete, and that no reader sees yet."""

    def __init__(self, out_dir: Path) -> None:
        self._out_dir = out_dir
        self._temporary: dict[str, Path] = {}
        self._hashes: dict[str, str] = {}

    def add(self, name: str, content: bytes) -> None:
        """Writes the file that is to lie at `name`."""
        path = self._out_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        for left in path.parent.glob(f".{glob.escape(path.name)}.{'[0-9a-f]' * 8}"):
            left.unlink()  # by a build that was killed: nobody else builds here now
        self._temporary[name] = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        with self._temporary[name].open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # a full disk, or a crash, shall leave the pages that are there
        self._hashes[name] = hashlib.sha256(content).hexdigest()

    def show(self) -> list[Path]:
        """Puts every file in its place, `index.html` last; then what the build before left behind goes."""
        previous = _read_manifest(self._out_dir)
        ordered = sorted(self._hashes, key=_order)
        gone = set(previous.files) - set(ordered)
        retired = {name for name in gone if _is_asset(name)}
        listed = SiteManifest(files=dict(sorted(self._hashes.items())), retired=tuple(sorted(retired)))
        self.add(MANIFEST, listed.model_dump_json(indent=1).encode() + b"\n")
        for name in (*ordered, MANIFEST):
            os.replace(self._temporary[name], self._out_dir / name)
        for name in (gone | set(previous.retired)) - retired - set(ordered):
            _remove(self._out_dir, name)
        return [self._out_dir / name for name in ordered]

    def discard(self) -> None:
        """Removes what was not shown."""
        for path in self._temporary.values():
            path.unlink(missing_ok=True)


@contextmanager
def staged(files: Mapping[str, bytes], out_dir: Path) -> Iterator[Staged]:
    """`files`, written beside their places in `out_dir`; what is not shown when this is left, is gone.

    Until they are shown the site there is as it was, byte by byte. One at a time: others wait.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    folder, site = os.open(out_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), Staged(out_dir)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        for name, content in files.items():
            site.add(name, content)
        yield site
    finally:
        site.discard()
        os.close(folder)


def _order(name: str) -> tuple[int, str]:
    """Assets, pages, files beside them, and then the page that everybody begins with."""
    if _is_asset(name):
        return 0, name
    return (3 if name == INDEX else 1 if name.endswith(".html") else 2), name


def difference(out_dir: Path, files: Mapping[str, bytes]) -> dict[str, tuple[str, ...]]:
    """The paths of `files` that are `new` in `out_dir`, `changed`, and the `same`."""
    found: dict[str, list[str]] = {"new": [], "changed": [], "same": []}
    for name in sorted(files):
        path = out_dir / name
        there = path.read_bytes() if path.is_file() else None
        found["new" if there is None else "same" if there == files[name] else "changed"].append(name)
    return {how: tuple(names) for how, names in found.items()}


def _is_asset(name: str) -> bool:
    return name.startswith("assets/")


def _read_manifest(out_dir: Path) -> SiteManifest:
    """What the last build wrote; nothing where that cannot be told, so that nothing is removed."""
    try:
        return SiteManifest.model_validate_json((out_dir / MANIFEST).read_bytes())
    except (FileNotFoundError, ValidationError):
        return SiteManifest()


def _remove(out_dir: Path, name: str) -> None:
    """Removes a file of the site; a manifest that points out of the site is not followed."""
    path = (out_dir / name).resolve()
    if path.is_relative_to(out_dir.resolve()):
        path.unlink(missing_ok=True)
