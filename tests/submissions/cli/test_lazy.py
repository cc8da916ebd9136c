"""Commands that are imported when they are called."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from submissions.cli.lazy import Lazy, UnexpectedEnd, lazy_group

TABLE = {
    "list": Lazy("judge.cli.maintainer.list", "list_command", "The submissions."),
    "keys": Lazy("judge.cli.maintainer.keys", "app", "The keys."),
}


def app_of(table: dict[str, Lazy]) -> typer.Typer:
    app = typer.Typer(cls=lazy_group(table), add_completion=False)

    @app.command("own")
    def own() -> None:
        """Its own."""
        print("said by its own")

    app.callback()(lambda: None)
    return app


def test_the_commands_of_the_table_are_there_beside_its_own() -> None:
    runner, app = CliRunner(), app_of(TABLE)
    output = runner.invoke(app, ["--help"]).output
    assert "The submissions." in output
    assert "The keys." in output
    assert "Its own." in output
    assert "said by its own" in runner.invoke(app, ["own"]).output
    assert "--json" in runner.invoke(app, ["list", "--help"]).output
    assert "trust" in runner.invoke(app, ["keys", "--help"]).output


def test_an_unknown_command_is_a_mistake_of_usage_and_the_closest_is_named() -> None:
    result = CliRunner().invoke(app_of(TABLE), ["lst"])
    assert result.exit_code == 2
    assert "No such command 'lst'. Did you mean 'list'?" in result.output


def test_names_of_commands_may_be_written_in_any_case() -> None:
    assert "--json" in CliRunner().invoke(app_of(TABLE), ["LIST", "--help"]).output


def test_no_other_command_is_imported() -> None:
    table = {"list": TABLE["list"], "gone": Lazy("judge.no_such_module", "command", "It is gone.")}
    assert CliRunner().invoke(app_of(table), ["list", "--help"]).exit_code == 0
    assert "It is gone." in CliRunner().invoke(app_of(table), ["--help"]).output


HEAVY = {"scipy", "phonopy", "h5py", "docker", "boto3", "ase.build", "ase.constraints", "ase.spacegroup"}


@pytest.mark.parametrize(
    ("command", "unneeded"), [("list", {"numpy", "ase", *HEAVY}), ("site", HEAVY), ("show", HEAVY)]
)
def test_a_command_does_not_import_what_only_a_judging_needs(command: str, unneeded: set[str]) -> None:
    code = f"import judge.cli.maintainer.{command}, sys; print(*{unneeded} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_an_end_of_file_in_a_command_is_an_error_and_no_empty_line() -> None:
    """click takes `EOFError` for Ctrl-D at a prompt: it prints an empty line, and the command ends with status 1."""
    app = app_of({})

    @app.command("read")
    def read() -> None:
        raise EOFError("Compressed file ended")

    result = CliRunner().invoke(app, ["read"])
    assert isinstance(result.exception, UnexpectedEnd)
    assert str(result.exception) == "Compressed file ended"
    assert result.output == ""
