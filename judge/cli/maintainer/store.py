"""`judge store digest`: compares stores by one hash."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.audit.store_digest import digest_lines, digest_of
from judge.cli.options import Json
from judge.cli.output import print_json
from judge.workspace import open_workspace

app = typer.Typer(no_args_is_help=True)


@app.callback()
def common() -> None:
    """Keeps `digest` a subcommand, though it is the only one."""


@app.command("digest")
def digest(
    lines: Annotated[bool, typer.Option("--lines", help="also print the hashed lines, one for each result")] = False,
    as_json: Json = False,
) -> None:
    """Prints one hash of all results that count. Kills and retries on the way to them do not change it."""
    result_lines = digest_lines(open_workspace().store)
    if as_json:
        summary = {"digest": digest_of(result_lines), "results": len(result_lines)}
        print_json({**summary, "lines": result_lines} if lines else summary)
        return
    for line in result_lines if lines else ():
        print(line)
    print(f"{digest_of(result_lines)}  {len(result_lines)} results")
