"""`judge site build|publish|serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judge.cli.options import Json, SuiteName

app = typer.Typer(no_args_is_help=True)


@app.command("build")
def build_command(
    suite: SuiteName = None,
    out: Annotated[Path | None, typer.Option(help="folder to write (default var/site)")] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="exit status 0 even if a broken record was left out")
    ] = False,
    anew: Annotated[bool, typer.Option("--anew", help="write every page, even if nothing changed")] = False,
    as_json: Json = False,
) -> None:
    """Writes the pages from the store. Exit status 1 if a broken record was left out."""
    from judge.parallel import in_background
    from judge.records.store_snapshot import list_records
    from judge.workspace import open_workspace

    workspace = open_workspace()
    with in_background(lambda: list_records(workspace.store)) as listed:  # while Python reads the rest of the code
        from judge.cli.maintainer.site import run_build

        run_build(workspace, listed(), suite, out, keep_going, anew, as_json)


@app.command("publish")
def publish_command(
    suite: SuiteName = None,
    to: Annotated[str | None, typer.Option(help="folder or s3://BUCKET/PREFIX (default var/public)")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="print what would be published, and write nothing")
    ] = False,
    anew: Annotated[
        bool, typer.Option("--anew", help="upload all published files again, even if the bucket seems to have them")
    ] = False,
    files: Annotated[bool, typer.Option("--files", help="with --dry-run: list the files by name")] = False,
    as_json: Json = False,
) -> None:
    """Publishes the pages with a signed manifest. Every result must be signed, and its sandbox proven by a selftest.

    Exit status 1, and nothing is written, if one is not. The last lines are then the reasons, and nothing else.
    """
    from judge.cli.maintainer.site_publish import run_publish

    run_publish(suite, to, dry_run, anew, files, as_json)


@app.command("serve")
def serve_command(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any free port")] = 8000, as_json: Json = False
) -> None:
    """Serves the pages to browsers on this machine. Ctrl-C ends it."""
    from judge.cli.maintainer.site_serve import run_serve

    run_serve(port, as_json)
