"""Verdicts from evidence: each line of the table is one thing that can happen."""

from __future__ import annotations

import pytest

from sandbox.cgroup import Cgroup
from sandbox.evidence import Breach, Evidence, Exit, Kill, Phase, sentence_of, verdict_of
from sandbox.limits import Limits
from sandbox.verdict import Verdict

TABLE = [
    (Evidence(Phase.DONE), Verdict.OK),
    (Evidence(Phase.DONE, Exit(code=0, oom_kills=1)), Verdict.OK),  # a child was killed, and the answers came
    (Evidence(Phase.COMPUTE, Exit(code=137, oom_kills=1)), Verdict.MEMORY_LIMIT),
    (Evidence(Phase.COMPUTE, Exit(code=None, oom_kills=1), kill=Kill.MESSAGE_TIME), Verdict.MEMORY_LIMIT),
    (Evidence(Phase.START, Exit(code=137, oom_kills=1)), Verdict.MEMORY_LIMIT),
    (Evidence(Phase.COMPUTE, Exit(code=137)), Verdict.CRASHED),  # killed, but not by the kernel for memory
    (Evidence(Phase.COMPUTE, Exit(code=139)), Verdict.CRASHED),
    (Evidence(Phase.COMPUTE, Exit(code=0)), Verdict.CRASHED),
    (Evidence(Phase.COMPUTE, Exit(code=None)), Verdict.CRASHED),
    (Evidence(Phase.START, Exit(code=1)), Verdict.STARTUP_FAILED),
    (Evidence(Phase.START, Exit(code=127)), Verdict.IMAGE_INVALID),
    (Evidence(Phase.START, Exit(code=3), startup_error="ValueError"), Verdict.STARTUP_FAILED),
    (Evidence(Phase.START, Exit(code=3), startup_error="OutOfMemoryError"), Verdict.GPU_MEMORY_LIMIT),
    (
        Evidence(Phase.START, startup_error="RuntimeError", startup_text="CUDA out of memory. Tried"),
        Verdict.GPU_MEMORY_LIMIT,
    ),
    (Evidence(Phase.START, kill=Kill.STARTUP_TIME), Verdict.STARTUP_TIMEOUT),
    (Evidence(Phase.COMPUTE, kill=Kill.MESSAGE_TIME), Verdict.TIME_LIMIT),
    (Evidence(Phase.COMPUTE, kill=Kill.TASK_TIME), Verdict.TIME_LIMIT),
    (Evidence(Phase.COMPUTE, breach=Breach.MALFORMED), Verdict.PROTOCOL_ERROR),
    (Evidence(Phase.START, breach=Breach.MALFORMED), Verdict.PROTOCOL_ERROR),
    (Evidence(Phase.COMPUTE, breach=Breach.TOO_LARGE), Verdict.OUTPUT_LIMIT),
    (Evidence(Phase.COMPUTE, breach=Breach.WRONG_SHAPE), Verdict.WRONG_SHAPE),
]


@pytest.mark.parametrize(("evidence", "verdict"), TABLE)
def test_verdicts(evidence: Evidence, verdict: Verdict) -> None:
    assert verdict_of(evidence) is verdict
    assert sentence_of(evidence, Limits()).endswith(".") or "see its log" in sentence_of(evidence, Limits())


@pytest.mark.parametrize(
    ("error", "text", "clue"),
    [
        ("ModuleNotFoundError", "No module named 'x'", "WORKDIR"),
        ("OSError", "[Errno 30] Read-only file system: '/model/x'", "/tmp only"),
        ("PermissionError", "[Errno 13] Permission denied: '/weights'", "readable by anyone"),
        ("RuntimeError", "must be root to run", "user 65534"),
        ("ValueError", "anything", "must return an ASE calculator"),
    ],
)
def test_sentences_name_the_mend_and_none_of_the_submissions_words(error: str, text: str, clue: str) -> None:
    said = sentence_of(Evidence(Phase.START, startup_error=error, startup_text=text), Limits())
    assert clue in said
    assert text not in said


@pytest.mark.parametrize(
    ("version", "line", "files"),
    [
        (
            1,
            "9:memory:/docker/abc\n3:cpu:/docker/abc\n",
            {"memory.max_usage_in_bytes": "4096", "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2"},
        ),
        (2, "0::/docker/abc\n", {"memory.peak": "4096", "memory.events": "low 0\noom 3\noom_kill 2"}),
    ],
)
def test_counters_of_both_cgroup_versions(tmp_path, version: int, line: str, files: dict[str, str]) -> None:
    (tmp_path / "proc/12").mkdir(parents=True)
    (tmp_path / "proc/12/cgroup").write_text(line)
    folder = tmp_path / "cgroup" / ("memory/docker/abc" if version == 1 else "docker/abc")
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_text(content)
    cgroup = Cgroup.of_process(12, tmp_path / "proc", tmp_path / "cgroup")
    assert cgroup is not None
    assert cgroup.version == version
    assert cgroup.read() == (4096, 2)
    assert Cgroup.of_process(13, tmp_path / "proc", tmp_path / "cgroup") is None
