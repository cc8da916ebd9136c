"""The beginning of the command `judge`: help, version, completion, and how fast they are there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib import import_module, metadata
from inspect import getdoc
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import typer
from typer.main import get_command

from judge.cli.commands.data import COMMANDS
from judge.cli.main import LAZY
from judge.cli.main import app as judge
from submissions.cli.lazy import Lazy
from submissions.cli.main import LAZY as OF_AUTHOR
from submissions.cli.main import app as submit
from tests.pace import cpu_s, import_cpu_s

JUDGE, SUBMIT = "judge.cli.main", "submissions.cli.main"
BIN = Path(sys.executable).parent
# In imports of numpy, pydantic and typer: on a core of an AMD EPYC that import takes 0.23 s.
MOST_CPU, MOST_CPU_OF_A_COMMAND = 1.3, 2.2
SLOWER = {("data", "import"): 3.1, ("init",): 3.5, ("refuse",): 2.6}


def output_of(module: str, *arguments: str) -> str:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "lazy", [*LAZY.values(), *COMMANDS.values(), *OF_AUTHOR.values()], ids=lambda lazy: f"{lazy.module}.{lazy.name}"
)
def test_the_line_about_a_command_is_the_beginning_of_its_help(lazy: Lazy) -> None:
    target = getattr(import_module(lazy.module), lazy.name)
    if not isinstance(target, typer.Typer):
        assert " ".join((getdoc(target) or "").split()).startswith(lazy.help.removesuffix("."))


@pytest.mark.parametrize(
    ("module", "name", "command"), [(JUDGE, "judge", "list"), (SUBMIT, "lambench-submit", "check")]
)
def test_version_and_short_help(module: str, name: str, command: str) -> None:
    assert output_of(module, "--version").split() == [name, metadata.version("lambench-judge")]
    assert output_of(module, "-h") == output_of(module, "--help")
    assert "--json" in output_of(module, command, "-h")


def cpu_of(module: str, *arguments: str) -> float:
    """CPU time of a command, in imports of numpy, pydantic and typer at the same time."""
    used = median(cpu_s([sys.executable, "-m", module, *arguments]) for _ in range(3))
    return used / import_cpu_s()


@pytest.mark.alone
@pytest.mark.parametrize("module", [JUDGE, SUBMIT])
@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_takes_little_more_cpu_than_importing_three_libraries(module: str, argument: str) -> None:
    output_of(module, argument)  # compiles
    assert cpu_of(module, argument) < MOST_CPU


def one_of_each_module(app: typer.Typer) -> list[list[str]]:
    """The words that name each group of `app`, and one command of each module that defines commands."""
    named: list[list[str]] = []
    modules: set[str] = set()
    groups: list[tuple[list[str], Any]] = [([], get_command(app))]
    for words, group in groups:
        for name in group.commands:
            command, path = group.get_command(None, name), [*words, name]
            if hasattr(command, "commands"):
                groups.append((path, command))
                named.append(path)
            elif command.callback.__module__ not in modules:
                modules.add(command.callback.__module__)
                named.append(path)
    return named


HELPS = [*((JUDGE, *words) for words in one_of_each_module(judge))]
HELPS += [(SUBMIT, *words) for words in one_of_each_module(submit)]


@pytest.mark.alone
@pytest.mark.parametrize("words", HELPS, ids=" ".join)
def test_help_of_each_command_takes_twice_the_cpu_of_importing_three_libraries(words: tuple[str, ...]) -> None:
    output_of(*words, "--help")  # compiles
    assert cpu_of(*words, "--help") < SLOWER.get(words[1:], MOST_CPU_OF_A_COMMAND)


# Each shell's own words for: load the completion, then complete `judge eval`.
ASKS = {
    "bash": 'eval "$(judge --show-completion bash)"; COMP_WORDS=(judge eval); COMP_CWORD=1; _judge_completion judge; '
    'echo "${COMPREPLY[@]}"',
    "zsh": '_TYPER_COMPLETE_ARGS="judge eval" _JUDGE_COMPLETE=complete_zsh judge',
    "fish": 'judge --show-completion fish | source; complete -C "judge eval"',
}


@pytest.mark.parametrize("shell", ASKS)
def test_a_shell_completes_commands(shell: str) -> None:
    if not (program := shutil.which(shell)):
        pytest.skip(f"{shell} is not installed")
    path = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": "/nonexistent"}
    options = ["--norc", "--noprofile", "-c"] if shell == "bash" else ["-c"]
    done = subprocess.run([program, *options, ASKS[shell]], capture_output=True, text=True, check=True, env=path)
    assert "evaluate" in done.stdout
    assert "explain" not in done.stdout
