"""`lambench-submit init`: writes a new submission's folder, ready to be built."""

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
from submissions.cli.options import Json
from submissions.tables import print_json, table_console


def init_command(
    folder: Annotated[Path, typer.Argument(help="folder, made if it does not exist")] = Path("."),
    for_: Annotated[StarterName, typer.Option("--for", help="calculator, or a trainer")] = StarterName.ASE,
    name: Annotated[str, typer.Option(help="of the model (default: the folder's)")] = "",
    force: Annotated[bool, typer.Option("--force", help="overwrite existing files")] = False,
    as_json: Json = False,
) -> None:
    """Writes what a submission needs: lambench.toml, Dockerfile, calculator.py, requirements.txt, code of a trainer."""
    model = name or folder.resolve().name or "model"
    made = starter(for_, model)
    write_starter(made, folder, force)
    if as_json:
        print_json({"files": [str(folder / path) for path in made.files]})
        return
    console = table_console()
    for path in made.files:
        console.print(f"[green]+[/] {escape(str(folder / path))}", soft_wrap=True)
    console.print("\nNext:")
    for number, step in enumerate(_steps(made, folder, model), 1):
        console.print(f"  {number}. {step}", soft_wrap=True)


def write_starter(made: Starter, folder: Path, force: bool) -> None:
    """Writes all files into `folder`, or none.

    Raises:
        CardError: some of the files exist, or the folder cannot be written.
    """
    existing = [path for path in made.files if os.path.lexists(folder / path)]  # dangling links too
    if existing and not force:
        raise _exists(folder / existing[0])
    try:
        for path in made.files:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
        if force:
            _replace(made, folder)
        else:
            _create(made, folder)
    except OSError as error:
        raise CardError(f"{folder}: cannot be written ({error.strerror}): give another folder") from error


def _create(made: Starter, folder: Path) -> None:
    created: list[Path] = []
    try:
        for path, content in made.files.items():
            with (folder / path).open("x", encoding="utf-8") as file:
                created.append(folder / path)
                file.write(content)
    except OSError as error:
        for written in created:
            written.unlink()
        if isinstance(error, FileExistsError):  # created since the check
            raise _exists(Path(error.filename)) from None
        raise


def _replace(made: Starter, folder: Path) -> None:
    temporaries: dict[Path, Path] = {}
    try:
        for whole, content in ((folder / path, content) for path, content in made.files.items()):
            if whole.is_dir() and not whole.is_symlink():
                raise CardError(f"{whole} is a folder: move it away, or give another one to init")
            temporaries[whole] = whole.with_name(f".{whole.name}.{os.getpid()}")
            temporaries[whole].write_text(content, encoding="utf-8")
        for whole, temporary in temporaries.items():
            os.replace(temporary, whole)  # replaces a link, not its target
    finally:
        for temporary in temporaries.values():
            temporary.unlink(missing_ok=True)


def _exists(path: Path) -> CardError:
    return CardError(f"{path} exists already: give another folder, or --force to overwrite it")


def _steps(made: Starter, folder: Path, model: str) -> list[str]:
    image = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")[:60] or "model"
    here = str(folder)
    steps = [f"Put your weights into {escape(str(folder / WEIGHTS / file))}" for file in made.weights]
    edited = [path for path in ("calculator.py", "train.py") if path in made.files]
    steps.append(f"Edit {', '.join(['lambench.toml', *edited[:-1]])} and {edited[-1]}.")
    enter = "" if here == "." else f"cd {shlex.quote(here)} && "
    return [
        *steps,
        f"[bold]{escape(enter)}docker build -t {image} .[/]",
        f"[bold]lambench-submit check {image}[/], the judge's own preflight",
        f"[bold]lambench-submit {image} --invite FILE --upload[/], with the file that a maintainer gave you",
    ]
