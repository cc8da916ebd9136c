"""`judge data get SUITE`: fetches, verifies and imports the data sets of a suite from their pinned sources."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from judge.cli.output import print_json
from judge.config import JudgeSettings, UsageError, load_settings
from judge.data.datasets import import_lines, is_there, own_datasets
from judge.data.download import FetchError
from judge.data.source_files import fetch_source
from judge.images.disk_space import free_bytes
from submissions.progress import Reporter
from submissions.tables import table_console
from tasks.datasets.dataset import DatasetError
from tasks.kinds.registry import KindError
from tasks.suites.names import did_you_mean, known_name
from tasks.suites.sources import Source
from tasks.suites.suite import Suite, load_suite

FAILED = 1
COMMAND = ["judge", "data", "import"]
MB = 1e6

SuiteArgument = Annotated[str, typer.Argument(metavar="SUITE", help="name, or path of a TOML file")]
OnlyOption = Annotated[list[str] | None, typer.Option("--only", metavar="NAME@VERSION", help="only this; repeatable")]

State = Literal["there", "imported", "failed", "not pinned", "built by the judge"]


@dataclass(frozen=True)
class FetchedDataset:
    """What `judge data get` did with a data set.

    Args:
        text: why it failed, or where a person gets it; empty: nothing to say.
        licence: of its source, if it has a pinned one.
    """

    dataset: str
    state: State
    text: str = ""
    licence: str = ""

    @property
    def line(self) -> str:
        """The outcome in one line."""
        label = {"failed": "NOT"}.get(self.state, self.state)
        return f"{label}  {self.dataset}" + (f": {self.text}" if self.text else "")


def run_get(context: typer.Context, suite: str, only: list[str] | None, as_json: bool) -> None:
    """Fetches the data sets of SUITE from their pinned sources, verifies and imports them."""
    settings, loaded = load_settings(), load_suite(suite)
    names = _chosen(loaded, only or [])
    parent: Any = context.parent
    importer = parent.command.get_command(parent, "import")
    with Reporter(table_console(stderr=True)) as reporter:
        outcomes = list(_get(loaded, names, settings, importer, reporter))
    if as_json:
        print_json({"suite": loaded.name, "version": loaded.version, "data_sets": [asdict(each) for each in outcomes]})
    else:
        for outcome in outcomes:
            print(outcome.line)
        if all(outcome.state in ("there", "built by the judge") for outcome in outcomes):
            print(f"Nothing to do: {len(outcomes)} data sets of {loaded.name} are in {settings.data}")
    raise typer.Exit(FAILED if any(outcome.state == "failed" for outcome in outcomes) else 0)


def _chosen(suite: Suite, only: list[str]) -> list[str]:
    names = list(dict.fromkeys(task.dataset for task in suite.tasks))
    chosen = {wanted: known_name(wanted, names) for wanted in only}
    for wanted, name in chosen.items():
        if name is None:
            listed, meant = ", ".join(names), did_you_mean(wanted, names)
            raise UsageError(f"--only: {suite.name} has no data set {wanted!r}, but {listed}{meant}")
    return [name for name in names if not only or name in chosen.values()]


def _get(
    suite: Suite, names: list[str], settings: JudgeSettings, importer: Any, reporter: Reporter
) -> Iterator[FetchedDataset]:
    """The outcome of each data set; those of one source after each other."""
    own = own_datasets()
    sources: dict[str, tuple[Source, list[str]]] = {}
    for name in names:
        source = suite.source_of(name)
        if is_there(settings.data, name):
            yield FetchedDataset(name, "there", licence=source.licence if source else "")
        elif name in own:
            yield FetchedDataset(name, "built by the judge", "at the first judge evaluate")
        elif source is None:
            yield FetchedDataset(name, "not pinned", _where(suite, name))
        else:
            sources.setdefault(source.name, (source, []))[1].append(name)
    for source, wanted in sources.values():
        reporter.say(_announced(source, wanted))
    reporter.expect(len(sources))
    for source, wanted in sources.values():
        yield from _from_source(suite, source, wanted, settings, importer, reporter)


def _where(suite: Suite, dataset: str) -> str:
    """Where a person gets a data set that has no pinned source, in one line."""
    tasks = [task for task in suite.tasks if task.dataset == dataset]
    source = next((task.source for task in tasks if task.source), "")
    return "; then ".join(part for part in (source, *import_lines(tasks[0])) if part)


def _announced(source: Source, wanted: list[str]) -> str:
    """What is fetched: size, address and licence."""
    size = f"{source.n_bytes / MB:.3g} MB" if source.n_bytes is not None else "of no stated size"
    where = f"{source.git} at commit {source.commit[:12]}" if source.git else source.url
    n_files = f"{len(source.files)} file{'s' if len(source.files) > 1 else ''}"
    return f"{source.name}: {n_files}, {size}, of {where} ({source.licence}) for {', '.join(wanted)}"


def _from_source(
    suite: Suite, source: Source, wanted: list[str], settings: JudgeSettings, importer: Any, reporter: Reporter
) -> Iterator[FetchedDataset]:
    """Fetches one source, and imports the data sets that are wanted of it. A fault is an outcome, no exception."""
    try:
        _require_space(source, settings)
        with reporter.unit(source.name) as report:
            folder = fetch_source(source, settings.source_cache, settings.mirrors, report)
    except (FetchError, OSError) as error:
        for name in wanted:
            yield FetchedDataset(name, "failed", f"{source.name}: {error}", source.licence)
        return
    for name in wanted:
        try:
            _import(suite, name, folder, settings, importer)
            yield FetchedDataset(name, "imported", f"licence {source.licence}", source.licence)
        except (FetchError, DatasetError, KindError, OSError) as error:
            yield FetchedDataset(name, "failed", str(error), source.licence)


def _require_space(source: Source, settings: JudgeSettings) -> None:
    free, needed = free_bytes(settings.source_cache), (source.n_bytes or 0) + settings.min_free_bytes
    if free < needed:
        raise FetchError(
            f"{settings.source_cache}: {free / MB:.3g} MB are free and {needed / MB:.3g} MB are needed: "
            "free some, or state another source_cache"
        )


def _import(suite: Suite, dataset: str, folder: Path, settings: JudgeSettings, importer: Any) -> None:
    """Runs the import commands of a data set on the files in `folder`.

    Raises:
        FetchError: a command has another form, is refused, or makes no such data set.
        DatasetError, KindError: of the import.
    """
    task = next(task for task in suite.tasks if task.dataset == dataset)
    for line in import_lines(task):
        words = shlex.split(line)
        if words[:3] != COMMAND or len(words) < 5 or Path(words[4]).is_absolute() or ".." in Path(words[4]).parts:
            raise FetchError(f"task {task.name}: import: must be `judge data import FORMAT PATH …`, PATH in its source")
        status = _run(importer, [words[3], str(folder / words[4]), *words[5:]])
        if status:
            raise FetchError(f"task {task.name}: import: {line!r} ended with status {status}: see above")
    if not is_there(settings.data, dataset):
        raise FetchError(f"task {task.name}: import: makes no data set {dataset}: correct the suite")


def _run(importer: Any, words: list[str]) -> int | str | None:
    """The exit status of `judge data import`. What it prints is for persons, so it goes to standard error."""
    try:
        with redirect_stdout(sys.stderr):
            importer.main(words, prog_name=" ".join(COMMAND))
    except SystemExit as done:
        return done.code
    return 0
