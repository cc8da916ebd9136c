"""Remembers what a build of the site was made from, so that an unchanged site is not built again.

A build of some hundred pages takes a while; a comparison of stamps does not. Only a hash of the stamps of all records
and files that a build reads is kept. A page that was changed since it was written is written again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from pydantic import ValidationError

from judge.config import JudgeSettings
from judge.publishing.folder import MANIFEST, is_whole
from judge.workspace import Workspace
from submissions.records import Record, utc_now
from tasks.kinds.registry import KINDS
from tasks.suites.suite import Suite

RECORDS = ("submissions/", "attempts/", "results/", "manifests/")
PACKAGES = ("ase", "jinja2", "markupsafe", "numpy", "plotly", "pydantic", "scipy")  # whose versions may change pages
ROOMS = ("judge", "scoring", "submissions", "tasks", "templates")


class BuildRecord(Record):
    """The record of a build.

    Args:
        key: see `build_key`.
        site: sha256 of the list of written files: another store's pages may have been written to the folder since.
        problems: that the build reported.
    """

    key: str
    site: str
    problems: tuple[str, ...]


def build_key(workspace: Workspace, suite: Suite) -> str:
    """The sha256 of all that a build of the site depends on; records and files enter by their stamps.

    Raises:
        StoreError: the store does not answer.
    """
    settings, trusted = workspace.settings, sorted(workspace.trusted)
    digest = hashlib.sha256()
    # A data set becomes public at a date, so today's date enters.
    kinds = [(kind.name, kind.measure_version, kind.traits) for kind in KINDS.values()]
    today = utc_now().date()
    for value in (settings.model_dump_json(), repr(suite), kinds, trusted, today, *map(version, PACKAGES)):
        digest.update(f"{value}\n".encode())
    for prefix in RECORDS:
        for key, stamp, _ in workspace.store.stamped(prefix):
            digest.update(f"{key} {stamp}\n".encode())
    for file in _read_files(settings, suite):
        status = file.stat()
        digest.update(f"{file} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}\n".encode())
    return digest.hexdigest()


def problems_of_same(settings: JudgeSettings, folder: Path, key: str) -> tuple[str, ...] | None:
    """The problems of the build in `folder`, if it has this key and is complete; None: a build is needed."""
    with suppress(FileNotFoundError, ValidationError):
        built = BuildRecord.read(_file(settings, folder).read_bytes())
        if built.key == key and built.site == _site(folder) and is_whole(folder):
            return built.problems
    return None


def forget(settings: JudgeSettings, folder: Path) -> None:
    """Removes the record of the build in `folder`, which is about to be written."""
    _file(settings, folder).unlink(missing_ok=True)


def remember(settings: JudgeSettings, folder: Path, key: str, problems: tuple[str, ...]) -> None:
    """Records the build in `folder`.

    Args:
        key: equal before and after the build, so that nothing changed meanwhile.
    """
    file = _file(settings, folder)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(BuildRecord(key=key, site=_site(folder), problems=problems).model_dump_json().encode())


def _file(settings: JudgeSettings, folder: Path) -> Path:
    name = hashlib.sha256(f"{settings.store} {settings.endpoint_url} {folder}".encode()).hexdigest()[:16]
    return settings.log.parent / "index" / f"site-{name}.json"


def _site(folder: Path) -> str:
    return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()


def _read_files(settings: JudgeSettings, suite: Suite) -> Iterator[Path]:
    """The files outside the store that a build reads: data sets, code and templates."""
    for dataset in sorted({task.dataset for task in suite.tasks}):
        yield from sorted(file for file in (settings.data / dataset).glob("**/*") if file.is_file())
    root = Path(__file__).parents[2]
    for room in ROOMS:
        yield from sorted(file for file in (root / room).glob("**/*") if file.is_file() and file.suffix != ".pyc")
