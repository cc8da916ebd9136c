"""`lambench-submit init`: a new submission's folder, ready to be built."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from submissions.card.file import CardError
from submissions.card.starter import WEIGHTS, Starter, StarterName, starter
from submissions.tables import table_console


def init_command(
    folder: Annotated[Path, typer.Argument(help="where to; made where it is not there")] = Path("."),
    for_: Annotated[StarterName, typer.Option("--for", help="what the model is run by")] = StarterName.ASE,
    name: Annotated[str, typer.Option(help="of the model (default: the folder's)")] = "",
    force: Annotated[bool, typer.Option("--force", help="also write over files that are there")] = False,
) -> None:
    """Writes what a submission needs: lambench.toml, Dockerfile, calculator.py, requirements.txt."""
    model = name or folder.resolve().name or "model"
    made = starter(for_, model)
    write_starter(made, folder, force)
    console = table_console()
    for path in made.files:
        console.print(f"[green]+[/] {escape(str(folder / path))}", soft_wrap=True)
    console.print("\nNext:")
    for number, step in enumerate(_steps(made, folder, model), 1):
        console.print(f"  {number}. {step}", soft_wrap=True)


def write_starter(made: Starter, folder: Path, force: bool) -> None:
    """Puts every file into `folder`, or none.

    Raises:
        CardError: there are such files already, or the folder cannot be written.
    """
    there = [path for path in made.files if os.path.lexists(folder / path)]  # a link that leads nowhere is there too
    if there and not force:
        raise _taken(folder / there[0])
    try:
        for path in made.files:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
        if force:
            _replace(made, folder)
        else:
            _create(made, folder)
    except OSError as error:
        raise CardError(f"{folder}: cannot be written ({error.strerror}); give another folder") from error


def _create(made: Starter, folder: Path) -> None:
    put: list[Path] = []
    try:
        for path, content in made.files.items():
            with (folder / path).open("x", encoding="utf-8") as file:
                put.append(folder / path)
                file.write(content)
    except OSError as error:
        for written in put:
            written.unlink()
        if isinstance(error, FileExistsError):  # since we looked
            raise _taken(Path(error.filename)) from None
        raise


def _replace(made: Starter, folder: Path) -> None:
    beside: dict[Path, Path] = {}
    try:
        for whole, content in ((folder / path, content) for path, content in made.files.items()):
            if whole.is_dir() and not whole.is_symlink():
                raise CardError(f"{whole} is a folder: move it away, or give another one to init")
            beside[whole] = whole.with_name(f".{whole.name}.{os.getpid()}")
            beside[whole].write_text(content, encoding="utf-8")
        for whole, temporary in beside.items():
            os.replace(temporary, whole)  # a link itself, not what it leads to
    finally:
        for temporary in beside.values():
            temporary.unlink(missing_ok=True)


def _taken(path: Path) -> CardError:
    return CardError(f"{path} is there already: give another folder, or --force to write over it")


def _steps(made: Starter, folder: Path, model: str) -> list[str]:
    image = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")[:60] or "model"
    here = str(folder)
    steps = [f"Put your weights there: {escape(str(folder / WEIGHTS / file))}" for file in made.weights]
    steps.append("Look through lambench.toml and calculator.py.")
    enter = "" if here == "." else f"cd {shlex.quote(here)} && "
    return [
        *steps,
        f"[bold]{escape(enter)}docker build -t {image} .[/]",
        f"[bold]lambench-submit check {image}[/], the judge's own preflight",
        f"[bold]lambench-submit {image} --invite FILE --upload[/], with the file that a maintainer gave you",
    ]
