"""`judge layers add|list`."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli.options import Json

app = typer.Typer(no_args_is_help=True)


@app.command("add")
def add_command(
    image: Annotated[str, typer.Argument(help="an image of this machine, or REGISTRY/NAME@sha256:… of a registry")],
    as_json: Json = False,
) -> None:
    """Stores the layers of IMAGE in the judge's registry, so that no author needs to send them.

    Use public images only: every invited author can put these layers into an image and read them.
    """
    from judge.cli.intake.layers import run_add

    run_add(image, as_json)


@app.command("list")
def list_command(as_json: Json = False) -> None:
    """Lists the layers that no author needs to send."""
    from judge.cli.intake.layers import run_list

    run_list(as_json)
