"""`judge store digest`: whether two stores have come to the same."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from judge.audit.store_digest import digest_lines, digest_of
from judge.cli.options import Json
from judge.workspace import open_workspace

app = typer.Typer(no_args_is_help=True)


@app.callback()
def common() -> None:
    """Keeps `digest` a command of its own, though it is the only one."""


@app.command("digest")
def digest(
    lines: Annotated[bool, typer.Option("--lines", help="what it is made of, a line for each result")] = False,
    as_json: Json = False,
) -> None:
    """One number for all results that count. Stores judged alike have the same, whatever was killed meanwhile."""
    made_of = digest_lines(open_workspace().store)
    if as_json:
        said = {"digest": digest_of(made_of), "results": len(made_of)}
        print(json.dumps({**said, "lines": made_of} if lines else said, indent=1))
        return
    for line in made_of if lines else ():
        print(line)
    print(f"{digest_of(made_of)}  {len(made_of)} results")
