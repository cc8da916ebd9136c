"""`judge data import|list|verify`: the data sets that submissions are judged on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import typer
from rich.markup import escape

from judge.cli.maintainer.import_report import (
    PublicFrames,
    check_overlap,
    print_summary,
    print_written,
    public_sets,
)
from judge.cli.maintainer.layout_import import ML_PEG, MLIPAUDIT, TITLES, import_layout
from judge.cli.output import lines_aside, print_json
from judge.config import UsageError, load_settings
from judge.data.dataset_names import dataset_names
from judge.data.import_options import ImportOptions
from judge.data.importing import RMD17, TABLES, prepare_import
from judge.data.question_checks import QuestionFindings, question_findings
from judge.data.reference_comparison import few_frames, verify_against
from sandbox.driver import DriverName
from submissions.progress import Reporter
from submissions.tables import plain_table, table_console
from tasks.datasets.card import dataset_faults
from tasks.datasets.dataset import Dataset, DatasetError, load_dataset, read_card
from tasks.importing.checks.buildable import check_buildable
from tasks.importing.import_summary import summarise
from tasks.importing.mlipaudit.content import RunMode
from tasks.suites.names import did_you_mean, known_name

BROKEN = 1


def run_import(
    format: str,
    path: Path,
    options: ImportOptions,
    public: PublicFrames,
    mode: RunMode | None,
    trust_ranges: bool,
    as_json: bool,
) -> None:
    """Makes a data set from PATH, and prints a summary to check. Nothing is overwritten."""
    if format in TITLES:
        if public.names:
            raise DatasetError(f"--public: is not for {format}, which is public; leave it out")
        import_layout(format, path, mode, options.only, replace(options, only=()), trust_ranges, as_json)
        return
    if mode or (options.only and format != RMD17):
        meant = MLIPAUDIT if mode else f"{RMD17}, {MLIPAUDIT} and {ML_PEG}"
        raise DatasetError(f"--{'mode' if mode else 'only'}: is for {meant}, not for {format}; leave it out")
    data = load_settings().data
    read = prepare_import(format, path, options, data)
    others = public_sets(public.names, data)
    with lines_aside(as_json):
        with Reporter(table_console(stderr=True)) as reporter:
            with reporter.unit(f"reading {path.name}") as report:
                imported = read(report)
                table = path / TABLES.get(format, "")
                check_buildable(imported.dataset, table if table.is_file() else path)
            with reporter.unit("checking distances") as report, dataset_faults(path):
                summary = summarise(imported.dataset, report)
        summary = summary._replace(doubtful=(*summary.doubtful, *imported.doubts))
        print_summary(imported.dataset, summary, imported.unused, path, trust_ranges)
        check_overlap(imported.dataset, others, public)
    with dataset_faults(path):
        print_written(as_json, imported.dataset, data)


def run_list(as_json: bool) -> None:
    """Lists the data sets."""
    data = load_settings().data
    cards = [read_card(data / name) for name in dataset_names(data)]
    if as_json:
        print(json.dumps([card.model_dump(mode="json") for card in cards], indent=1, ensure_ascii=False))
        return
    if not cards:
        print(f"No data set in {data} yet: judge data import, or judge evaluate, which builds those of quickstart")
        return
    table = plain_table("data set", "domain", "label sets", "title")
    for card in cards:
        table.add_row(card.full_name, card.domain, escape(", ".join(card.label_sets) or "–"), escape(card.title))
    table_console().print(table)


def run_verify(
    names: list[str] | None,
    image: str,
    driver: DriverName | None,
    frames: int,
    seed: int,
    all_questions: bool,
    as_json: bool,
) -> None:
    """Checks data sets: every hash, shape and reference, and what questions give away; with a model units and signs."""
    settings = load_settings()
    known = dataset_names(settings.data)
    chosen = [_chosen(name, known) for name in names or known]
    compared = []
    with lines_aside(as_json):
        intact = [dataset for name in chosen if (dataset := _checked(settings.data / name)) is not None]
        with Reporter(table_console(stderr=True)) as reporter:
            questions = [_asked(dataset, all_questions, reporter) for dataset in intact]
            if image:
                for line in verify_against(image, driver, settings, intact, frames, seed, reporter):
                    compared.append(line)
                    print(line.text)
        if not chosen:
            print(f"There is no data set in {settings.data}.")
    findings = [line.text for line in compared if line.is_finding]
    findings += [line for found in questions for line in found.refused]
    if as_json:
        names_of_intact = [dataset.card.full_name for dataset in intact]
        broken = [name for name in chosen if name not in names_of_intact]
        others = [line.text for line in compared if not line.is_finding]
        facts = {"intact": names_of_intact, "broken": broken, "findings": findings, "agrees": others}
        print_json({**facts, "doubtful": [line for found in questions for line in found.doubtful]})
    raise typer.Exit(BROKEN if findings or len(intact) < len(chosen) else 0)


def _chosen(name: str, known: list[str]) -> str:
    """The data set of that name, in any case.

    Raises:
        UsageError: there is none.
    """
    if found := known_name(name, known):
        return found
    raise UsageError(f"there is no data set {name!r}: judge data list names them{did_you_mean(name, known)}")


def _checked(folder: Path) -> Dataset | None:
    """The data set in `folder`; None if it is broken. Prints which."""
    try:
        dataset = load_dataset(folder)
        check_buildable(dataset, folder)
    except DatasetError as error:
        print(f"NOT  {error}")
        return None
    items = dataset.table.n_items
    print(f"ok   {folder.name}: {len(dataset.frames)} structures" + (f", {items} items" if items else ""))
    for line in few_frames(dataset):
        print(f"     {line}")
    return dataset


def _asked(dataset: Dataset, whole: bool, reporter: Reporter) -> QuestionFindings:
    """What the questions of a data set give away. Prints it."""
    name = dataset.card.full_name
    with reporter.unit(f"{name}: models without chemistry") as report:
        found = question_findings(dataset, whole, report)
    for line in found.about:
        print(f"     {name}: {line}")
    for line in found.doubtful:
        print(f"DOUBTFUL  {name}: {line}")
    for line in found.refused:
        print(f"NOT  {name}: {line}")
    return found
