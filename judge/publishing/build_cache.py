"""Remembers what a build of the site was made from, so that an unchanged site is not built again.

A build of some hundred pages takes a while; a comparison of stamps does not. Only a hash of the stamps of all records
and files that a build reads is kept. A page that was changed since it was written is written again.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from pydantic import ValidationError

from judge.config import JudgeSettings
from judge.publishing.folder import MANIFEST, is_whole
from judge.records.cache_file import CacheFile
from judge.records.hardware import cpu_name
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
    today = utc_now().date()  # a data set becomes public at a date
    for value in (settings.model_dump_json(), repr(suite), trusted, today, _code()):
        digest.update(f"{value}\n".encode())
    for prefix in RECORDS:
        for key, stamp, _ in workspace.store.stamped(prefix):
            digest.update(f"{key} {stamp}\n".encode())
    for dataset in sorted({task.dataset for task in suite.tasks}):
        digest.update(_stamps(settings.data / dataset).encode())
    return digest.hexdigest()


def problems_of_same(settings: JudgeSettings, folder: Path, key: str) -> tuple[str, ...] | None:
    """The problems of the build in `folder`, if it has this key and is complete; None: a build is needed."""
    with suppress(FileNotFoundError, ValidationError):
        built = BuildRecord.read(_file(settings, folder, "json").read_bytes())
        if built.key == key and built.site == _site(folder) and is_whole(folder):
            return built.problems
    return None


def forget(settings: JudgeSettings, folder: Path) -> None:
    """Removes the record of the build in `folder`, which is about to be written."""
    _file(settings, folder, "json").unlink(missing_ok=True)


def remember(settings: JudgeSettings, folder: Path, key: str, problems: tuple[str, ...]) -> None:
    """Records the build in `folder`.

    Args:
        key: equal before and after the build, so that nothing changed meanwhile.
    """
    file = _file(settings, folder, "json")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(BuildRecord(key=key, site=_site(folder), problems=problems).model_dump_json().encode())


def interval_cache(settings: JudgeSettings, folder: Path) -> CacheFile:
    """The intervals of the build in `folder`, of this store by this version of the judge."""
    contents = f"{settings.store} {settings.endpoint_url} {_code()}"
    return CacheFile(_file(settings, folder, "sqlite"), contents)


def _file(settings: JudgeSettings, folder: Path, suffix: str) -> Path:
    name = hashlib.sha256(f"{settings.store} {settings.endpoint_url} {folder}".encode()).hexdigest()[:16]
    return settings.log.parent / "index" / f"site-{name}.{suffix}"


def _site(folder: Path) -> str:
    return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()


def _code() -> str:
    """A sha256 that differs if the same records may give other numbers or pages."""
    kinds = [(kind.name, kind.measure_version, kind.traits) for kind in KINDS.values()]
    stamps = [_stamps(Path(__file__).parents[2] / room) for room in ROOMS]
    return hashlib.sha256(f"{cpu_name()} {kinds} {[*map(version, PACKAGES)]} {stamps}".encode()).hexdigest()


def _stamps(folder: Path) -> str:
    """The names and stamps of all files in a folder and below."""
    lines = []
    for file in sorted(file for file in folder.glob("**/*") if file.is_file() and file.suffix != ".pyc"):
        status = file.stat()
        lines.append(f"{file} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}\n")
    return "".join(lines)
