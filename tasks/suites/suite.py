"""Suites: tasks that are judged together, as TOML files in `tasks/suites/` or anywhere on disk.

docs/suites.md describes the file, field by field.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PositiveFloat, ValidationError

from tasks.datasets.card import CardPart, Domain
from tasks.kind import Parameters, Traits
from tasks.kinds.registry import KINDS
from tasks.structures.text_files import read_text
from tasks.structures.validation_errors import NO_FIELD, SLUG, VERSIONED_SLUG, one_line
from tasks.suites.names import did_you_mean, known_name
from tasks.suites.published_numbers import PublishedNumber, PublishedPart, published_numbers
from tasks.suites.sources import Source

MODEL_DOMAINS: Mapping[str, Domain] = {
    "Inorganic Materials": "Inorganic Materials",
    "Molecules": "Molecules",
    "Catalysis": "Catalysis",
}
FAILED_SHARE = 0.5
MAX_NAME = 60
MAX_TITLE = 80
MAX_VERSION_BYTES = 40  # it is part of a key in the store, where a byte may take three characters
BY_TASK = frozenset({"metrics", "items"})  # tables of references and published models
TRIVIAL = "composition-only"  # the reference that every suite has


class SuiteError(ValueError):
    """A suite that cannot be used: one line that names file and field."""


@dataclass(frozen=True)
class Task:
    """A kind of task with a data set, parameters and exactly one domain.

    Args:
        kind: a key of `tasks.kinds.registry.KINDS`.
        dataset: name@version.
        domain: of the suite, under which the task is reported and averaged.
        time_limit_s: of the whole task.
        model_domain: the domain that the model gets: one of the container contract, and the data set's.
        failed_share: if more than this share of the items fails, the task stops with TOO_MANY_FAILURES.
        release_name: the name of the task in the published tables of the release.
        mlipaudit: the benchmarks of MLIPAudit whose thresholds apply to its errors; one run may be that of several.
        ml_peg: the benchmark of ML-PEG that it is; empty: none.
        source: where the data set is available, in one line.
        import_lines: the commands that import it.
        title: what a reader calls it, such as `Barrier heights, diverse (DBH24)`; empty: see `label`.
    """

    name: str
    kind: str
    dataset: str
    domain: str
    parameters: Parameters
    time_limit_s: float
    model_domain: Domain
    failed_share: float = FAILED_SHARE
    release_name: str = ""
    mlipaudit: tuple[str, ...] = ()
    ml_peg: str = ""
    source: str = ""
    import_lines: tuple[str, ...] = ()
    title: str = ""

    @cached_property
    def label(self) -> str:
        """Its title; without one, its name in words: `Vacancies fcc` of `vacancies-fcc`."""
        words = self.name.replace("-", " ")
        return self.title or words[:1].upper() + words[1:]

    @cached_property
    def traits(self) -> Traits:
        """The traits of its kind."""
        return KINDS.traits(self.kind)


@dataclass(frozen=True)
class StatedReference:
    """A method with published errors in some of the tasks, shown beside the models without a rank.

    Args:
        about: a description in one sentence.
        source: where the errors were published.
        metrics: by task and metric, errors in the unit that the judge measures the metric in.
    """

    name: str
    about: str
    source: str
    metrics: Mapping[str, Mapping[str, float]]

    @property
    def slug(self) -> str:
        """The name as part of an address: letters and digits, the rest as hyphens."""
        return slug(self.name)


def slug(name: str) -> str:
    """The letters and digits of a name, the rest as hyphens."""
    return "-".join("".join(c if c.isalnum() else " " for c in name.casefold()).split())


@dataclass(frozen=True)
class Suite:
    """Tasks under a name and a version.

    Args:
        release: the release of LAMBench's scoring with which its tasks were published; empty: none.
        references: methods whose published errors are shown beside the models.
        mlipaudit_release: the file of MLIPAudit's scoring whose benchmarks all count; empty: those of 0.1.0 to 0.1.4
            that the tasks measure.
        published: numbers that others published of models in its tasks.
        ml_peg_release: the file of ML-PEG's scoring whose benchmarks all count; empty: the tasks are the benchmarks,
            and the trivial model's errors the thresholds.
        sources: pinned files that `judge data get` imports data sets from.
    """

    name: str
    version: str
    title: str
    tasks: tuple[Task, ...]
    release: str = ""
    references: tuple[StatedReference, ...] = ()
    mlipaudit_release: str = ""
    published: tuple[PublishedNumber, ...] = ()
    ml_peg_release: str = ""
    sources: tuple[Source, ...] = ()

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """The label of each task, by its name."""
        return {task.name: task.label for task in self.tasks}

    def label_of(self, unit: str) -> str:
        """The label of a task, or of a run `TASK: RUN`; another name stays as it is."""
        task, colon, run = unit.partition(": ")
        return f"{self.labels[task]}{colon}{run}" if task in self.labels else unit

    def source_of(self, dataset: str) -> Source | None:
        """The pinned source of a data set; None if there is none."""
        return next((source for source in self.sources if dataset in source.datasets), None)


def _as_lines(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Share = Annotated[float, Field(gt=0, le=1)]
ErrorSize = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Lines = Annotated[tuple[str, ...], BeforeValidator(_as_lines)]


class _StatedTask(CardPart):
    name: str = Field(pattern=SLUG)
    kind: str
    dataset: str = Field(pattern=VERSIONED_SLUG)
    domain: str
    time_limit_s: PositiveFloat
    parameters: dict[str, Any] = Field(default_factory=dict)
    failed_share: Share | None = None
    release_name: str = ""
    mlipaudit: Lines = ()
    ml_peg: str = ""
    source: str = ""
    import_lines: Lines = Field((), alias="import")
    title: str = Field("", max_length=MAX_TITLE)


class _StatedReference(CardPart):
    name: str = Field(min_length=1, max_length=MAX_NAME)
    about: str = Field(min_length=1)
    source: str = Field(min_length=1)
    metrics: Annotated[dict[str, Annotated[dict[str, ErrorSize], Field(min_length=1)]], Field(min_length=1)]


def _short(version: str) -> str:
    if len(version.encode()) > MAX_VERSION_BYTES:
        raise ValueError(f"must not be longer than {MAX_VERSION_BYTES} bytes")
    return version


class _StatedSuite(CardPart):
    name: str = Field(pattern=SLUG)
    version: Annotated[str, AfterValidator(_short)] = Field(min_length=1)
    title: str = Field(min_length=1)
    release: str = ""
    failed_share: Share = FAILED_SHARE
    domains: Annotated[dict[str, Domain], Field(min_length=1)] = Field(default_factory=lambda: dict(MODEL_DOMAINS))
    tasks: Annotated[tuple[_StatedTask, ...], Field(min_length=1)]
    references: tuple[_StatedReference, ...] = ()
    mlipaudit_release: str = ""
    ml_peg_release: str = ""
    published: tuple[PublishedPart, ...] = ()
    sources: tuple[Source, ...] = ()


def packaged_suites() -> tuple[str, ...]:
    """The names of the suites that come with the judge."""
    entries = resources.files("tasks.suites").iterdir()
    return tuple(sorted(e.name.removesuffix(".toml") for e in entries if e.name.endswith(".toml")))


def _packaged_text(name: str) -> str:
    return (resources.files("tasks.suites") / f"{name}.toml").read_text(encoding="utf-8")


def load_suite(name_or_path: str | Path) -> Suite:
    """The packaged suite of that name, or the suite in the file at that path.

    Raises:
        SuiteError: one line that names file and field.
    """
    source = str(name_or_path)
    if name := known_name(source, packaged_suites()):
        return read_suite(_packaged_text(name), f"{name}.toml")
    try:
        text = read_text(Path(source))
    except OSError as error:
        known = ", ".join(packaged_suites()) + did_you_mean(source, packaged_suites())
        if isinstance(error, FileNotFoundError) and "/" not in source and "." not in source:
            raise SuiteError(f"{source}: there is no such suite or file; the packaged suites are {known}") from None
        raise SuiteError(f"{source}: cannot be read ({error.strerror}); the packaged suites are {known}") from None
    except ValueError as error:
        raise SuiteError(f"{source}: {error}") from None
    return read_suite(text, source)


def read_suite(text: str, source: str) -> Suite:
    """The suite that `text` states; `source` names it in errors.

    Raises:
        SuiteError: one line that names source and field.
    """
    try:
        content = _extended(tomllib.loads(text), source)
    except SuiteError:
        raise
    except (ValueError, RecursionError) as error:  # tomllib's own, and those of Python's limits on digits and depth
        raise SuiteError(f"{source}: is not TOML: {error}") from None
    try:
        stated = _StatedSuite.model_validate(content)
    except ValidationError as error:
        raise SuiteError(f"{source}: {_located(error, content)}") from None
    names = [task.name for task in stated.tasks]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise SuiteError(f"{source}: tasks.{index}.name: {name} is there twice")
    tasks = tuple(_task(task, stated, f"{source}: tasks.{i} ({task.name})") for i, task in enumerate(stated.tasks))
    references = _references(stated, source)
    return Suite(
        name=stated.name,
        version=stated.version,
        title=stated.title,
        tasks=tasks,
        release=stated.release,
        references=references,
        mlipaudit_release=stated.mlipaudit_release,
        published=_published(stated, source),
        ml_peg_release=stated.ml_peg_release,
        sources=stated.sources,
    )


def _located(error: ValidationError, content: Mapping[str, Any]) -> str:
    """The first error, with the name of its task if that is a name."""
    in_task = re.fullmatch(r"(tasks\.(\d+))\.(.*)", one_line(error), re.DOTALL)
    if not in_task:
        return _fault(error, _StatedSuite)
    place, index, _ = in_task.groups()
    name = str(content["tasks"][int(index)].get("name"))
    named = f"{place} ({name})" if re.fullmatch(SLUG, name) else place
    return _fault(error, _StatedTask).replace(f"{place}.", f"{named}: ", 1)


def _fault(error: ValidationError, part: type[BaseModel]) -> str:
    """The first error; of a field that does not exist, with the closest one of `part`."""
    line = one_line(error)
    field, _, words = line.partition(": ")
    known = [each.alias or name for name, each in part.model_fields.items()]
    return line + (did_you_mean(field.rpartition(".")[2], known) if words == NO_FIELD else "")


def _extended(stated: dict[str, Any], source: str) -> dict[str, Any]:
    """The tables of a suite that extends a packaged one: its tasks with the stated changes, then those of its own.

    Raises:
        SuiteError: the other suite, or a task that is changed or left out, does not exist.
    """
    name, changes, without = stated.pop("extends", None), stated.pop("changes", {}), stated.pop("without", [])
    if name is None:
        if changes or without:
            field = "changes: are" if changes else "without: is"
            raise SuiteError(f"{source}: {field} of the tasks of another suite: state extends")
        return stated
    if name not in packaged_suites():
        known = ", ".join(packaged_suites()) + did_you_mean(str(name), packaged_suites())
        raise SuiteError(f"{source}: extends: there is no {name!r}, but {known}")
    base = _extended(tomllib.loads(_packaged_text(name)), f"{name}.toml")
    names = [task["name"] for task in base["tasks"]]
    if not isinstance(changes, dict) or not all(isinstance(change, dict) for change in changes.values()):
        raise SuiteError(f"{source}: changes: must be a table for each changed task")
    if unknown := [task for task in changes if task not in names]:
        raise SuiteError(f"{source}: changes.{unknown[0]}: {name} has no such task, but {', '.join(names)}")
    if not isinstance(without, list) or any(task not in names or task in changes for task in without):
        raise SuiteError(f"{source}: without: must list tasks of {name} without changes: {', '.join(names)}")
    kept = [task for task in base["tasks"] if task["name"] not in without]
    tasks = [_changed(task, changes.get(task["name"], {})) for task in kept]
    others = [old["name"] for old, new in zip(kept, tasks, strict=True) if _is_other(old, new)]
    return {**_without_numbers(base, [*without, *others]), **stated, "tasks": [*tasks, *stated.get("tasks", [])]}


def _without_numbers(suite: Mapping[str, Any], tasks: Collection[str]) -> dict[str, Any]:
    """The tables of a suite, in which references and published models have no numbers of `tasks`."""
    tables: dict[str, list[dict[str, Any]]] = {"references": [], "published": []}
    for name, kept in tables.items():
        for row in suite.get(name, ()):
            numbers = {
                of: {task: row[of][task] for task in row[of] if task not in tasks} for of in BY_TASK & row.keys()
            }
            if any(numbers.values()):
                kept.append({**row, **numbers})
    return {**suite, **tables}


def _changed(task: dict[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """A task with other fields; of its parameters those that are not stated stay, and no numbers of another task."""
    parameters = {**task.get("parameters", {}), **change.get("parameters", {})}
    changed = {**task, **change, **({"parameters": parameters} if parameters else {})}
    return {**changed, "release_name": change.get("release_name", "")} if _is_other(task, changed) else changed


def _is_other(task: Mapping[str, Any], changed: Mapping[str, Any]) -> bool:
    """Whether numbers that were published for `task` are not those of the changed one."""
    return any(task.get(field) != changed.get(field) for field in ("name", "kind", "dataset", "parameters"))


def _references(stated: _StatedSuite, source: str) -> tuple[StatedReference, ...]:
    names, slugs = {task.name for task in stated.tasks}, set[str]()
    for index, reference in enumerate(stated.references):
        where = f"{source}: references.{index}"
        if slug(reference.name) in {"", TRIVIAL, *slugs}:
            raise SuiteError(f"{where}.name: {reference.name!r} is taken, or has no letter: take another")
        if unknown := sorted(set(reference.metrics) - names):
            raise SuiteError(f"{where}.metrics: there is no task {unknown[0]!r} in the suite")
        slugs.add(slug(reference.name))
    return tuple(StatedReference(r.name, r.about, r.source, r.metrics) for r in stated.references)


def _published(stated: _StatedSuite, source: str) -> tuple[PublishedNumber, ...]:
    names = {task.name for task in stated.tasks}
    for index, part in enumerate(stated.published):
        where = f"{source}: published.{index}"
        if not part.tasks:
            raise SuiteError(f"{where}: has no number: state metrics or items")
        if unknown := sorted(part.tasks - names):
            raise SuiteError(f"{where}: there is no task {unknown[0]!r} in the suite")
    return tuple(published_numbers(stated.published))


def _task(task: _StatedTask, suite: _StatedSuite, where: str) -> Task:
    kind = KINDS.get(task.kind)
    if kind is None:
        raise SuiteError(
            f"{where}: kind: there is no {task.kind!r}, but {', '.join(KINDS)}{did_you_mean(task.kind, KINDS)}"
        )
    if task.domain not in suite.domains:
        raise SuiteError(f"{where}: domain: must be {', '.join(map(repr, suite.domains))}, not {task.domain!r}")
    try:
        parameters = kind.parameters.model_validate(task.parameters)
    except ValidationError as error:
        raise SuiteError(f"{where}: parameters.{_fault(error, kind.parameters)}") from None
    failed_share = suite.failed_share if task.failed_share is None else task.failed_share
    stated = dict(task) | {"parameters": parameters, "failed_share": failed_share}
    return Task(**stated, model_domain=suite.domains[task.domain])
