"""`judge store digest|usage`."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli.options import Json

app = typer.Typer(no_args_is_help=True)


@app.command("digest")
def digest_command(
    lines: Annotated[bool, typer.Option("--lines", help="also print the hashed lines, one for each result")] = False,
    as_json: Json = False,
) -> None:
    """Prints one hash of all results that count. Kills and retries on the way to them do not change it."""
    from judge.cli.maintainer.store import run_digest

    run_digest(lines, as_json)


@app.command("usage")
def usage_command(as_json: Json = False) -> None:
    """Prints number, bytes and age of each sort of file, and what `judge gc` removes by the retention policy."""
    from judge.cli.maintainer.store import run_usage

    run_usage(as_json)
