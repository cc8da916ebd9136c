"""The beginning of the command `judge`: help, version, completion, and how fast they are there."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from importlib import import_module, metadata
from inspect import getdoc
from pathlib import Path
from statistics import median

import pytest
import typer

from judge.cli.main import LAZY
from judge.cli.maintainer.site import COMMANDS
from submissions.cli.lazy import Lazy
from submissions.cli.main import LAZY as OF_AUTHOR

JUDGE, SUBMIT = "judge.cli.main", "submissions.cli.main"
BIN = Path(sys.executable).parent
MOST_CPU_S = 0.3


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


@pytest.mark.alone
@pytest.mark.parametrize("module", [JUDGE, SUBMIT])
@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_takes_three_tenths_of_a_second_of_cpu(module: str, argument: str) -> None:
    output_of(module, argument)  # compiles
    used = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        output_of(module, argument)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert median(used) < MOST_CPU_S


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
