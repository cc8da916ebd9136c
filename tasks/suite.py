"""Suites: which tasks are judged together. TOML, packaged in `tasks/suites/` or anywhere on disk."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, ValidationError

from tasks.card import Domain, one_line
from tasks.kind import Parameters
from tasks.kinds import KINDS

NAME = r"^[a-z0-9][a-z0-9-]{0,62}$"
DATASET = r"^[a-z0-9][a-z0-9-]{0,62}@[A-Za-z0-9][A-Za-z0-9.-]*$"


class SuiteError(ValueError):
    """A suite that cannot be used: one line naming file and field."""


@dataclass(frozen=True)
class Task:
    """A kind of task with a dataset, parameters and exactly one domain.

    Args:
        kind: a key of `tasks.kinds.KINDS`.
        dataset: name@version.
        time_limit_s: of the whole task.
    """

    name: str
    kind: str
    dataset: str
    domain: Domain
    parameters: Parameters
    time_limit_s: float


@dataclass(frozen=True)
class Suite:
    """Tasks under a name and a version."""

    name: str
    version: str
    title: str
    tasks: tuple[Task, ...]


class _Stated(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _StatedTask(_Stated):
    name: str = Field(pattern=NAME)
    kind: str
    dataset: str = Field(pattern=DATASET)
    domain: Domain
    time_limit_s: PositiveFloat
    parameters: dict[str, Any] = Field(default_factory=dict)


class _StatedSuite(_Stated):
    name: str = Field(pattern=NAME)
    version: str = Field(min_length=1)
    title: str = Field(min_length=1)
    tasks: Annotated[tuple[_StatedTask, ...], Field(min_length=1)]


def packaged_suites() -> tuple[str, ...]:
    """The names of the suites that come with the judge."""
    entries = resources.files("tasks.suites").iterdir()
    return tuple(sorted(e.name.removesuffix(".toml") for e in entries if e.name.endswith(".toml")))


def load_suite(name_or_path: str | Path) -> Suite:
    """The packaged suite of that name, or the suite in the file at that path.

    Raises:
        SuiteError: one line that names file and field.
    """
    source = str(name_or_path)
    if source in packaged_suites():
        text = (resources.files("tasks.suites") / f"{source}.toml").read_text(encoding="utf-8")
        return read_suite(text, f"{source}.toml")
    try:
        text = Path(source).read_text(encoding="utf-8")
    except OSError as error:
        known = ", ".join(packaged_suites())
        raise SuiteError(f"{source}: cannot be read ({error.strerror}); the packaged suites are {known}") from None
    except UnicodeDecodeError:
        raise SuiteError(f"{source}: is not UTF-8 text") from None
    return read_suite(text, source)


def read_suite(text: str, source: str) -> Suite:
    """The suite that `text` states; `source` names it in errors.

    Raises:
        SuiteError: one line that names source and field.
    """
    try:
        stated = _StatedSuite.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise SuiteError(f"{source}: is not TOML: {error}") from None
    except ValidationError as error:
        raise SuiteError(f"{source}: {one_line(error)}") from None
    names = [task.name for task in stated.tasks]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise SuiteError(f"{source}: tasks.{index}.name: {name} is there twice")
    tasks = tuple(_task(task, f"{source}: tasks.{i} ({task.name})") for i, task in enumerate(stated.tasks))
    return Suite(stated.name, stated.version, stated.title, tasks)


def _task(stated: _StatedTask, where: str) -> Task:
    kind = KINDS.get(stated.kind)
    if kind is None:
        raise SuiteError(f"{where}: kind: there is no {stated.kind!r}, but {', '.join(KINDS)}")
    try:
        parameters = kind.parameters.model_validate(stated.parameters)
    except ValidationError as error:
        raise SuiteError(f"{where}: parameters.{one_line(error)}") from None
    return Task(stated.name, stated.kind, stated.dataset, stated.domain, parameters, stated.time_limit_s)
