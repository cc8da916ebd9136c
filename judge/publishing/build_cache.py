"""What a build of the site was made from, so that the next one can tell that nothing is to be done.

Drawing some hundred pages takes a while; telling that store, data, settings and code are what they were takes none. The
store stays the only truth: what is remembered is a hash of the stamps of all records and files that a build reads, and
a page that is no longer as it was written is written again.
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
PACKAGES = ("ase", "jinja2", "markupsafe", "numpy", "plotly", "pydantic", "scipy")  # of whose versions pages may hang
ROOMS = ("judge", "scoring", "submissions", "tasks", "templates")


class BuildRecord(Record):
    """A build that was made.

    Args:
        key: see `build_key`.
        site: sha256 of the list of files that it wrote: another store's pages may have come into the folder since.
        problems: that it named.
    """

    key: str
    site: str
    problems: tuple[str, ...]


def build_key(workspace: Workspace, suite: Suite) -> str:
    """sha256 of all that a build of the site is made from, content by its stamp.

    Raises:
        StoreError: the store does not answer.
    """
    settings, trusted = workspace.settings, sorted(workspace.trusted)
    digest = hashlib.sha256()
    # Since when a data set is public is a date, and so today is a part.
    kinds = [(kind.name, kind.measure_version, kind.traits) for kind in KINDS.values()]
    today = utc_now().date()
    for said in (settings.model_dump_json(), repr(suite), kinds, trusted, today, *map(version, PACKAGES)):
        digest.update(f"{said}\n".encode())
    for place in RECORDS:
        for key, stamp, _ in workspace.store.stamped(place):
            digest.update(f"{key} {stamp}\n".encode())
    for file in _read_files(settings, suite):
        found = file.stat()
        digest.update(f"{file} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}\n".encode())
    return digest.hexdigest()


def problems_of_same(settings: JudgeSettings, folder: Path, key: str) -> tuple[str, ...] | None:
    """The problems of the build that is in `folder`, if it was made from the same; None: it has to be made."""
    with suppress(FileNotFoundError, ValidationError):
        built = BuildRecord.read(_file(settings, folder).read_bytes())
        if built.key == key and built.site == _site(folder) and is_whole(folder):
            return built.problems
    return None


def forget(settings: JudgeSettings, folder: Path) -> None:
    """Notes that `folder` is about to be written."""
    _file(settings, folder).unlink(missing_ok=True)


def remember(settings: JudgeSettings, folder: Path, key: str, problems: tuple[str, ...]) -> None:
    """Notes that `folder` was built.

    Args:
        key: the same before the build and after it: nothing came meanwhile.
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
    """The files beside the store that a build reads: data sets, code and templates."""
    for dataset in sorted({task.dataset for task in suite.tasks}):
        yield from sorted(file for file in (settings.data / dataset).glob("**/*") if file.is_file())
    root = Path(__file__).parents[2]
    for room in ROOMS:
        yield from sorted(file for file in (root / room).glob("**/*") if file.is_file() and file.suffix != ".pyc")
