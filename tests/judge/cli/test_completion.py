"""What a shell completes after Tab: names of submissions, suites, tasks, data sets, scores, attacks and invitations."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from judge.intake.invitations import create_invitation
from tests.pace import import_cpu_s
from tests.world.world import World

BIN = Path(sys.executable).parent
MOST_CPU = 2.2  # in imports of numpy, pydantic and typer
ASK = {
    "bash": 'eval "$(judge --show-completion bash)"; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); '
    "_judge_completion judge; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
    "zsh": '_TYPER_COMPLETE_ARGS="{words}" _JUDGE_COMPLETE=complete_zsh judge',
    "fish": 'judge --show-completion fish | source; complete -C "{words}"',
}
BROKEN = {
    "a store in a bucket": lambda world: world.write_settings(store="s3://bucket/prefix"),
    "a store that is not there": lambda world: world.write_settings(store="nowhere", data="nowhere", suite="no.toml"),
    "broken settings": lambda world: (world.root / "judge.toml").write_text("store = 1 = 2"),
    "a broken suite": lambda world: (world.root / "small.toml").write_text("[[tasks"),
}
NAMES_OF_STORE = ("judge show e", "judge evaluate --task c", "judge data verify c", "judge revoke a")


def environment(**more: str) -> dict[str, str]:
    return {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": "/nonexistent", **more}


def completed(world: World, words: str) -> subprocess.CompletedProcess[str]:
    """The answer to a shell that completes the last of `words`, in the folder of `world`."""
    env = environment(
        _TYPER_COMPLETE_ARGS=words, _JUDGE_COMPLETE="complete_fish", _TYPER_COMPLETE_FISH_ACTION="get-args"
    )
    return subprocess.run([BIN / "judge"], capture_output=True, text=True, check=True, env=env, cwd=world.root)


@pytest.fixture
def submitted(world: World) -> World:
    """A world with two submissions and an invitation."""
    world.submit("emt")
    world.submit("other")
    create_invitation(world.store, "alice", 1, 1, 1, ())
    world.write_settings()
    return world


def test_names_are_completed_where_a_command_takes_them(submitted: World) -> None:
    emt, other = sorted(path.name for path in (submitted.root / "store" / "submissions").iterdir())
    expected = {
        "judge show e": f"{emt}\temt",
        "judge explain o": f"{other}\tother",
        f"judge evaluate {emt} o": f"{other}\tother",
        "judge withdraw em": f"{emt}\temt",
        "judge plan --suite lambench-2025-": "lambench-2025-five",
        "judge data get physi": "physicality",
        "judge data get physicality --only phy": "physicality@1",
        "judge site build --suite sm": "small.toml",
        "judge evaluate --task cop": "copper\tlabelled_frames",
        "judge data verify cop": "copper@1",
        "judge explain --score for": "force-field",
        "judge selftest --only fill-tm": "fill-tmp",
        "judge revoke a": "alice",
        "judge refuse a": "alice",
    }
    answers = {words: completed(submitted, words) for words in expected}
    assert {words: answer.stderr for words, answer in answers.items()} == dict.fromkeys(expected, "")
    wrong = {words: answers[words].stdout for words, line in expected.items() if line not in answers[words].stdout}
    assert not wrong


@pytest.mark.parametrize("shell", ASK)
def test_a_shell_completes_a_submission(shell: str, submitted: World) -> None:
    if not (program := shutil.which(shell)):
        pytest.skip(f"{shell} is not installed")
    options = ["--norc", "--noprofile", "-c"] if shell == "bash" else ["-c"]
    script = ASK[shell].format(words="judge show em")
    done = subprocess.run(
        [program, *options, script], capture_output=True, text=True, check=True, env=environment(), cwd=submitted.root
    )
    assert "emt-" in done.stdout
    assert "other-" not in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("fault", BROKEN)
def test_a_completion_is_silent_where_names_cannot_be_read(fault: str, submitted: World) -> None:
    broken: Callable[[World], object] = BROKEN[fault]
    broken(submitted)
    for words in NAMES_OF_STORE:
        answer = completed(submitted, words)
        assert answer.stderr == ""
        assert "Error" not in answer.stdout
        if fault == "a store in a bucket" and "show" in words:
            assert answer.stdout.strip() == ""


@pytest.mark.alone
def test_a_completion_takes_twice_the_cpu_of_importing_three_libraries(submitted: World) -> None:
    for number in range(1000):
        (submitted.root / "store" / "submissions" / f"model-{number}").mkdir()

    def cpu(words: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        completed(submitted, words)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    used = {words: median(cpu(words) for _ in range(3)) for words in (*NAMES_OF_STORE, "judge show model-")}
    most = MOST_CPU * import_cpu_s()
    assert max(used.values()) < most, (used, most)
