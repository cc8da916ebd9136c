"""Files of the runs of a public task: tables of links, and a file for each run, which the page loads on demand."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from judge.disclosure.public_runs import PublicRun, public_runs
from judge.figures.chosen_models import ChosenModel
from judge.figures.small_plots import MOST_PLOTS
from judge.ranking.leaderboard import TaskLine
from judge.view.page_context import Frame
from judge.view.sources import Sources


class RunFileFormat(NamedTuple):
    """What a file of a run holds.

    Args:
        folder: in the site, with a slash at the end.
        version: part of the name of a file, so that files of an earlier form are not used again.
        file: the content; None if there is nothing to show, or if the data set is hidden.
    """

    folder: str
    version: int
    file: Callable[[Sources, TaskLine, PublicRun], bytes | None]


@dataclass(frozen=True)
class RunLink:
    """The link to the file of a run.

    Args:
        path: in the site.
        title: names model, system and end.
    """

    path: str
    title: str


@dataclass(frozen=True)
class RunFiles:
    """The files of one format of a task.

    Args:
        models: their names.
        links: by system, then by model.
        files: content by path.
    """

    models: tuple[str, ...] = ()
    links: dict[str, dict[str, RunLink]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)


def run_files(frame: Frame, models: Sequence[ChosenModel], formats: Sequence[RunFileFormat]) -> list[RunFiles]:
    """The files of each format, of the first runs of these models in a task; none if the data set is hidden."""
    names = tuple(model.name for model in models)
    shown = [RunFiles(names) for _ in formats]
    for model in models:  # each observation is read once, for all formats
        runs = public_runs(model.line, model.items, frame.sources.public)
        for form, files in zip(formats, shown, strict=True):
            for run in runs.each[:MOST_PLOTS] if runs else ():
                path = _path(model, run, form)
                content = _file(frame, model, run, path, form)
                if content is not None:
                    files.files[path] = content
                    title = f"{model.name}: {run.name}, {run.end}"
                    files.links.setdefault(run.name, {})[model.name] = RunLink(path, title)
    return shown


def _path(model: ChosenModel, run: PublicRun, form: RunFileFormat) -> str:
    """The path of the file; it changes with everything that the file is made from."""
    result = model.line.result
    keys = (result.observation_key, result.result_key, result.provenance.observation) if result else ()
    made_from = json.dumps([form.version, *keys, run.name, run.ended_ps])
    return f"{form.folder}{model.line.task.name}/{sha256(made_from.encode()).hexdigest()[:16]}.json"


def _file(frame: Frame, model: ChosenModel, run: PublicRun, path: str, form: RunFileFormat) -> bytes | None:
    """The file of a run, that of the last build if it has one: observations are large."""
    earlier = frame.earlier.read(path) if frame.earlier else None
    return form.file(frame.sources, model.line, run) if earlier is None else earlier
