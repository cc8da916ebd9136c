"""Remembers what a build of the site was made from, so that nothing is drawn again that did not change.

Two hashes are kept: of the stamps of all records and files that a build reads, and of the inputs of each page of a
model or a task. If the first is equal, nothing is built; if the second is equal, the page is taken from the folder. A
page that was changed since it was written is drawn again. The record is removed before a build writes, and written
after it. A record that cannot be written or removed costs time only: it is checked against the files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from judge.config import JudgeSettings
from judge.publishing.folder import MANIFEST, as_written, is_whole
from judge.records.cache_file import CacheFile
from judge.records.hardware import cpu_name
from judge.view.earlier_pages import EarlierPages, Made
from judge.workspace import Workspace
from submissions.records import Record, utc_now
from submissions.store.interface import Stamped
from tasks.kinds.registry import KINDS
from tasks.suites.suite import Suite

PACKAGES = ("ase", "jinja2", "markupsafe", "numpy", "plotly", "pydantic", "scipy")  # whose versions may change pages
ROOMS = ("judge", "sandbox", "scoring", "submissions", "tasks", "templates")


class BuildRecord(Record):
    """The record of a build.

    Args:
        key: see `BuildKey.all`.
        surroundings: see `BuildKey`.
        pages: by path, what the pages that may be used again were made from.
        site: sha256 of the list of written files: another store's pages may have been written to the folder since.
        problems: that the build reported.
    """

    key: str
    surroundings: str
    pages: dict[str, Made]
    site: str
    problems: tuple[str, ...]


class BuildKey(NamedTuple):
    """The sha256 of everything that a build of the site depends on; records and files enter by their stamps.

    Args:
        surroundings: of everything but the records: settings, suite, date, code, templates, packages and data sets.
        all: of the records as well.
    """

    surroundings: str
    all: str


def build_key(workspace: Workspace, suite: Suite, records: Iterable[Stamped]) -> BuildKey:
    """The key of a build from these records.

    A file that is changed after this, before the build reads it, has another stamp at the next build.
    """
    settings, trusted = workspace.settings, sorted(workspace.trusted)
    today = utc_now().date()  # a data set becomes public at a date
    datasets = [_stamps(settings.data / name) for name in sorted({task.dataset for task in suite.tasks})]
    surroundings = _sha256(f"{settings.model_dump_json()} {suite} {trusted} {today} {code_digest()} {datasets}")
    stamps = "".join([f"{each.key} {each.stamp}\n" for each in records])
    return BuildKey(surroundings, _sha256(surroundings + stamps))


def problems_of_same(settings: JudgeSettings, folder: Path, key: str) -> tuple[str, ...] | None:
    """The problems of the build in `folder`, if it has this key and is complete; None: a build is needed."""
    built = _read(settings, folder)
    return built.problems if built and built.key == key and is_whole(folder) else None


def earlier_pages(settings: JudgeSettings, folder: Path, surroundings: str) -> EarlierPages:
    """The pages of the build in `folder` that may be used again: none if it had other surroundings."""
    built = _read(settings, folder)
    if built is None or built.surroundings != surroundings:
        return EarlierPages()
    return EarlierPages(built.pages, as_written(folder))


def _read(settings: JudgeSettings, folder: Path) -> BuildRecord | None:
    """The record of the build in `folder`; None if there is none, or if another build wrote there since."""
    with suppress(OSError, ValidationError):
        built = BuildRecord.read(_file(settings, folder, "json").read_bytes())
        if built.site == _site(folder):
            return built
    return None


def forget(settings: JudgeSettings, folder: Path) -> None:
    """Removes the record of the build in `folder`, which is about to be written."""
    with suppress(OSError):
        _file(settings, folder, "json").unlink()


def remember(
    settings: JudgeSettings, folder: Path, key: BuildKey, problems: tuple[str, ...], pages: Mapping[str, Made]
) -> None:
    """Records the build in `folder`; `pages` as in `BuildRecord`."""
    built = BuildRecord(
        key=key.all, surroundings=key.surroundings, pages=dict(pages), site=_site(folder), problems=problems
    )
    file = _file(settings, folder, "json")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(built.model_dump_json().encode())


def interval_cache(settings: JudgeSettings, folder: Path) -> CacheFile:
    """The intervals of the build in `folder`, of this store by this version of the judge."""
    contents = f"{settings.store} {settings.endpoint_url} {code_digest()}"
    return CacheFile(_file(settings, folder, "sqlite"), contents)


def _file(settings: JudgeSettings, folder: Path, suffix: str) -> Path:
    name = _sha256(f"{settings.store} {settings.endpoint_url} {folder}")[:16]
    return settings.log.parent / "index" / f"site-{name}.{suffix}"


def _site(folder: Path) -> str:
    return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()


def code_digest() -> str:
    """A sha256 that differs if the same records may give other numbers or pages."""
    kinds = [(kind.name, kind.measure_version, kind.traits) for kind in KINDS.values()]
    stamps = [_stamps(Path(__file__).parents[2] / room) for room in ROOMS]
    return _sha256(f"{cpu_name()} {kinds} {[*map(version, PACKAGES)]} {stamps}")


def _stamps(folder: Path) -> str:
    """The names and stamps of all files in a folder and below."""
    lines = []
    for file in sorted(file for file in folder.glob("**/*") if file.is_file() and file.suffix != ".pyc"):
        status = file.stat()
        lines.append(f"{file} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}\n")
    return "".join(lines)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
