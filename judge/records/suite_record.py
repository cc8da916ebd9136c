"""What a store was judged with under the name and version of a suite: a suite that changes needs another version.

The digests hold what answers and scores depend on. Titles, sources, import lines and parameters left at their defaults
do not enter, so that a new version of the judge, in which a kind has one more parameter, changes no digest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from judge.config import UsageError
from judge.records.content_keys import hash_of
from scoring.lambench.release import packaged_releases
from scoring.names import ML_PEG, MLIPAUDIT
from scoring.release_files import packaged
from submissions.records import Record
from submissions.store.interface import Store
from submissions.store.read_record import read_record
from tasks.suites.names import did_you_mean
from tasks.suites.suite import Suite, SuiteError, Task, load_suite


class SuiteRecord(Record):
    """`suites/NAME@VERSION.json`: the content of a suite when its first unit was judged.

    Args:
        tasks: a digest of each task, by name.
        scoring: a digest of the releases by which it is scored.
    """

    schema_version: Literal[1] = 1
    name: str
    version: str
    tasks: dict[str, str]
    scoring: str

    @classmethod
    def of(cls, suite: Suite) -> SuiteRecord:
        """The record of `suite`."""
        releases = (suite.release, suite.mlipaudit_release, suite.ml_peg_release)
        return cls(
            name=suite.name,
            version=suite.version,
            tasks={task.name: _digest(task) for task in suite.tasks},
            scoring=hash_of({"releases": releases}),
        )


def _digest(task: Task) -> str:
    fields = {
        "kind": task.kind,
        "dataset": task.dataset,
        "domain": task.domain,
        "model_domain": task.model_domain,
        "parameters": task.parameters.model_dump(mode="json", exclude_defaults=True),
        "time_limit_s": task.time_limit_s,
        "failed_share": task.failed_share,
        "release_name": task.release_name,
        "mlipaudit": task.mlipaudit,
        "ml_peg": task.ml_peg,
    }
    return hash_of(fields)


def suite_path(suite: Suite) -> str:
    """The key of the record of `suite` in a store."""
    version = quote(suite.version, safe="").replace("~", "%7E").replace("%", "=")
    return f"suites/{suite.name}@{version}.json"


def load_unchanged(store: Store, name_or_path: str | Path) -> Suite:
    """The suite of that name or at that path, if `store` was judged with no other one of its name and version.

    Raises:
        UsageError: it was changed, and has the same version; one line that names what was changed.
        SuiteError: as `load_suite`, or no release has the name that it states.
    """
    suite = load_suite(name_or_path)
    _check_releases(suite, str(name_or_path))
    _recorded(store, suite, str(name_or_path))
    return suite


def _check_releases(suite: Suite, source: str) -> None:
    releases = {
        "release": (suite.release, packaged_releases()),
        "mlipaudit_release": (suite.mlipaudit_release, packaged(MLIPAUDIT)),
        "ml_peg_release": (suite.ml_peg_release, packaged(ML_PEG)),
    }
    for field, (name, known) in releases.items():
        if name and name not in known:
            choice = ", ".join(known) + did_you_mean(name, known)
            raise SuiteError(f"{source}: {field}: there is no release {name!r}, but {choice}")


def record_suite(store: Store, suite: Suite) -> None:
    """Stores the content of `suite` for its name and version, before a unit of it is judged.

    Raises:
        UsageError: another judge has just stored another one; one line.
    """
    data = SuiteRecord.of(suite).model_dump_json().encode()
    if not _recorded(store, suite, suite.name) and not store.put_if_absent(suite_path(suite), data):
        _recorded(store, suite, suite.name)
        store.put(suite_path(suite), data)


def _recorded(store: Store, suite: Suite, source: str) -> bool:
    """Whether `store` has the record of this very suite. One on which no result rests may be replaced.

    Raises:
        UsageError: it has another one, and results.
    """
    path = suite_path(suite)
    if not store.exists(path):
        return False
    before, now = read_record(store, path, SuiteRecord), SuiteRecord.of(suite)
    if before == now:
        return True
    if not _is_judged(store, before.tasks):
        return False
    changes = "; ".join(_changes(before, now))
    raise UsageError(
        f"{source}: the suite was changed after it was judged, and its version is still {suite.version} ({changes}): "
        "give it another version (results of unchanged tasks are kept), or undo the change"
    )


def _is_judged(store: Store, tasks: Mapping[str, str]) -> bool:
    return any(task in tasks for key in store.list("results/") for task in key.split("/")[2:3])


def _changes(before: SuiteRecord, now: SuiteRecord) -> Iterator[str]:
    words = {
        "changed": [name for name, digest in now.tasks.items() if before.tasks.get(name, digest) != digest],
        "added": [name for name in now.tasks if name not in before.tasks],
        "removed": [name for name in before.tasks if name not in now.tasks],
    }
    for word, names in words.items():
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            yield f"{word}: {', '.join(names[:3])}{more}"
    if before.scoring != now.scoring:
        yield "changed: the release by which it is scored"
