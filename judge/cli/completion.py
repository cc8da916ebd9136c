"""Names that a shell completes: submissions, suites, tasks, data sets, scores, invitations and attacks.

A completion must be fast and silent: a store in a bucket gives no names, nor does a file that cannot be read. So files
are read here without the checks of the judge.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from judge.data.dataset_names import dataset_names
from submissions.cli.completion import Named, completer

if TYPE_CHECKING:
    from judge.config import JudgeSettings

MAX_READ = 100  # records that are read for what they name


def _settings() -> JudgeSettings:
    from judge.config import load_settings  # here, since help needs no settings

    return load_settings()


def _folder_of_store(settings: JudgeSettings) -> str | None:
    """The folder of the store; None if it is in a bucket."""
    from submissions.store.open_store import open_store

    store = open_store(settings.store, settings.endpoint_url) if "://" not in settings.store else None
    return str(getattr(store, "root", "")) or None


def _names_below(folder: str) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if not entry.name.startswith("."))


@completer
def submissions(context: typer.Context, incomplete: str) -> Iterator[Named]:
    """IDs of submissions, with the names of their models."""
    root = _folder_of_store(_settings())
    found = [id for id in _names_below(f"{root}/submissions") if id.startswith(incomplete)] if root else []
    for number, id in enumerate(found):
        name = ""
        if number < MAX_READ:
            with suppress(OSError, ValueError, KeyError, TypeError):
                name = str(json.loads(Path(f"{root}/submissions/{id}/submission.json").read_bytes())["card"]["name"])
        yield id, name


@completer
def invitations(context: typer.Context, incomplete: str) -> Iterator[Named]:
    """Names of invitations."""
    if root := _folder_of_store(_settings()):
        yield from ((name, "") for name in _names_below(f"{root}/invitations"))


@completer
def suites(context: typer.Context, incomplete: str) -> Iterator[Named]:
    """Names of packaged suites, and suite files of this folder."""
    for file in resources.files("tasks.suites").iterdir():
        if file.name.endswith(".toml"):
            yield file.name.removesuffix(".toml"), ""
    for path in sorted(Path.cwd().glob("*.toml")):
        if "tasks" in tomllib.loads(path.read_text(encoding="utf-8-sig")):
            yield path.name, ""


def _tasks_of(context: typer.Context, arguments: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The tasks of the suite that the command names, as an option or as its first argument, else of the settings'."""
    name = context.params.get("suite") or next(iter(arguments), "") or _settings().suite
    packaged = resources.files("tasks.suites") / f"{name.casefold()}.toml"
    text = packaged.read_text(encoding="utf-8") if packaged.is_file() else Path(name).read_text(encoding="utf-8-sig")
    tasks: list[dict[str, Any]] = tomllib.loads(text)["tasks"]
    return tasks


@completer
def tasks(context: typer.Context, incomplete: str) -> Iterator[Named]:
    """Names of the suite's tasks, with their kinds."""
    yield from ((str(task["name"]), str(task["kind"])) for task in _tasks_of(context))


@completer
def datasets_of_suite(context: typer.Context, incomplete: str) -> Iterator[Named]:
    """Names of the suite's data sets."""
    yield from ((name, "") for name in dict.fromkeys(str(task["dataset"]) for task in _tasks_of(context, context.args)))


@completer
def datasets(context: typer.Context, incomplete: str) -> Iterator[Named]:
    """Names of the data sets that are here."""
    yield from ((name, "") for name in dataset_names(_settings().data))


@completer
def scores(context: typer.Context, incomplete: str) -> Iterator[Named]:
    """Scores of all schemes, as `judge explain --score` takes them."""
    from scoring.names import SCORES  # here, for it needs numpy

    yield from ((score.option, score.label) for score in SCORES.values())


@completer
def attacks(context: typer.Context, incomplete: str) -> Iterator[Named]:
    """Names of the attacks of the selftest."""
    text = (resources.files("sandbox.selftest") / "attacks.toml").read_text(encoding="utf-8")
    yield from ((name, "") for name in tomllib.loads(text))
