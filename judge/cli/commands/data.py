"""`judge data get|import|make-trajectory|list|verify`."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli.completion import datasets, datasets_of_suite, suites
from judge.cli.options import Json
from sandbox.driver import DriverName
from submissions.cli.lazy import Lazy, lazy_group

SuiteArgument = Annotated[
    str, typer.Argument(metavar="SUITE", help="name, or path of a TOML file", autocompletion=suites)
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="NAME@VERSION", help="only this; repeatable", autocompletion=datasets_of_suite),
]


COMMANDS = {
    "import": Lazy(
        f"{__package__}.new_data", "import_command", "Makes a data set from PATH, and prints a summary to check."
    ),
    "make-trajectory": Lazy(
        f"{__package__}.new_data",
        "make_trajectory_command",
        "Makes a hidden data set: molecular dynamics of MOLECULE... by GFN2-xTB, with energies and forces.",
    ),
}
app = typer.Typer(cls=lazy_group(COMMANDS), no_args_is_help=True)


@app.command("get")
def get_command(context: typer.Context, suite: SuiteArgument, only: OnlyOption = None, as_json: Json = False) -> None:
    """Fetches the data sets of SUITE from their pinned sources, verifies and imports them.

    What is there is not fetched again. An interrupted download goes on. Exit status 1 if a data set could not be made.
    """
    from judge.cli.maintainer.data_get import run_get

    run_get(context, suite, only, as_json)


@app.command("list")
def list_command(as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False) -> None:
    """Lists the data sets."""
    from judge.cli.maintainer.data import run_list

    run_list(as_json)


@app.command("verify")
def verify_command(
    names: Annotated[
        list[str] | None, typer.Argument(help="name@version; none for all", autocompletion=datasets)
    ] = None,
    image: Annotated[
        str,
        typer.Option("--with", metavar="IMAGE", help="compare labels with this model: an image, or a folder (process)"),
    ] = "",
    driver: Annotated[DriverName | None, typer.Option(help="docker, or process: no isolation")] = None,
    frames: Annotated[int, typer.Option(min=1, help="at most this number of each label set, chosen by --seed")] = 100,
    seed: Annotated[int, typer.Option(help="of the random choice")] = 0,
    all_questions: Annotated[
        bool, typer.Option("--all-questions", help="ask models without chemistry about every structure and kind")
    ] = False,
    as_json: Json = False,
) -> None:
    """Checks data sets: every hash, shape and reference. With a model it also checks units and signs of the labels.

    Models without chemistry answer the tasks of each set: a DOUBTFUL line names one that gets below the baseline.

    Exit status 1 if a data set is broken, if a unit, a sign or labels look wrong, or a stated baseline is too large.
    """
    from judge.cli.maintainer.data import run_verify

    run_verify(names, image, driver, frames, seed, all_questions, as_json)
