"""Mistakes in options and arguments: one line on standard error, exit status 2, for both commands."""

from __future__ import annotations

import subprocess
import sys

import pytest

JUDGE, SUBMIT = "judge", "lambench-submit"
MODULES = {JUDGE: "judge.cli.main", SUBMIT: "submissions.cli.main"}
MISTAKES = {
    "judge evalute": "judge: there is no command 'evalute'; did you mean evaluate? See judge --help",
    "judge data imprt": "judge data: there is no command 'imprt'; did you mean import? See judge data --help",
    "judge evaluate --al": "judge evaluate: there is no option --al; did you mean --all? See judge evaluate --help",
    "judge list --quiett": "judge list: there is no option --quiett; did you mean --quiet? See judge list --help",
    "judge list -z": "judge list: there is no option -z: see judge list --help",
    "judge show": "judge show: the argument ID is missing (submission): see judge show --help",
    "judge data import": "judge data import: the argument FORMAT is missing: see judge data import --help",
    "judge data make-trajectory water": "judge data make-trajectory: the option --name is missing (lower-case letters, "
    "digits and dashes): see judge data make-trajectory --help",
    "judge show a b": "judge show: there is no place for the argument b: see judge show --help",
    "judge show a --task": "judge: --task needs a value: see judge --help",
    "judge list --json=3": "judge: option '--json' does not take a value: see judge --help",
    "judge plan --driver doker": "judge plan: --driver: 'doker' is not one of docker, process; did you mean docker? "
    "See judge plan --help",
    "judge data import extxyz x --domain molecule": "judge data import: --domain: 'molecule' is not one of inorganic "
    "materials, molecules, catalysis; did you mean molecules? See judge data import --help",
    "judge site serve --port abc": "judge site serve: --port: 'abc' should be a valid integer: "
    "see judge site serve --help",
    "judge site serve --port 70000": "judge site serve: --port: '70000' should be less than or equal to 65535: "
    "see judge site serve --help",
    "lambench-submit check": "lambench-submit check: the argument SUBJECT is missing (image:tag, or module:factory of "
    "this folder or this Python): see lambench-submit check --help",
    "lambench-submit chek my-model": "lambench-submit: there is no command 'chek'; did you mean check? "
    "See lambench-submit --help",
    "lambench-submit my-model other": "lambench-submit submit: there is no place for the argument other: "
    "see lambench-submit submit --help",
    "lambench-submit my-model --jsn": "lambench-submit submit: there is no option --jsn; did you mean --json? "
    "See lambench-submit submit --help",
    "lambench-submit my-model --driver podman": "lambench-submit submit: --driver: 'podman' is not one of docker, "
    "process: see lambench-submit submit --help",
}


def run(line: str) -> subprocess.CompletedProcess[str]:
    command, *words = line.split()
    return subprocess.run([sys.executable, "-m", MODULES[command], *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_one_line_that_names_it_and_the_remedy(line: str) -> None:
    done = run(line)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", MISTAKES[line] + "\n")


@pytest.mark.parametrize("line", ["judge", "judge data", "lambench-submit"])
def test_a_group_without_a_command_shows_its_help(line: str) -> None:
    done = run(line)
    assert done.returncode == 2
    assert "Usage:" in done.stdout + done.stderr
