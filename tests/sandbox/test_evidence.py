"""Verdicts from evidence: each line of the table is one possible case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.drivers.docker_running import intervention_of
from sandbox.evidence import (
    Breach,
    Evidence,
    Exit,
    HostFault,
    Intervention,
    Kill,
    Phase,
    Talk,
    exit_words,
    fault_of,
    judgement,
    sentence_of,
)
from sandbox.limits import Limits
from sandbox.verdict import FaultCause, Verdict

OWN_OOM = Exit(code=137, oom_kills=1, at_limit=True, oom_by_engine=True)
HOST_OOM = Exit(code=137, oom_kills=1, at_limit=False, oom_by_engine=True)
BY_A_CLIENT = Exit(code=137, intervention=Intervention.CLIENT)


def started(code: int | None = 3, error: str = "", text: str = "", **known: object) -> Evidence:
    return Evidence(Phase.START, Exit(code), startup_error=error, startup_text=text, **known)


TABLE = {
    "answered all": (Evidence(Phase.DONE, Exit(code=0)), Verdict.OK),
    "answered all, ended by us": (Evidence(Phase.DONE, Exit(code=None)), Verdict.OK),
    "answered all, then died": (Evidence(Phase.DONE, Exit(code=139)), Verdict.OK),
    "answered all, then stopped by an operator": (Evidence(Phase.DONE, BY_A_CLIENT), Verdict.OK),
    # Memory: whose, and the outcome.
    "child out of memory, answered all": (Evidence(Phase.DONE, Exit(0, oom_kills=1, at_limit=True)), Verdict.OK),
    "out of memory": (Evidence(Phase.COMPUTE, OWN_OOM), Verdict.MEMORY_LIMIT),
    "out of memory, v1 or v2 counters alone": (
        Evidence(Phase.COMPUTE, Exit(137, oom_kills=1, at_limit=True)),
        Verdict.MEMORY_LIMIT,
    ),
    "out of memory, the engine's word alone": (
        Evidence(Phase.COMPUTE, Exit(137, oom_by_engine=True)),
        Verdict.MEMORY_LIMIT,
    ),
    "out of memory, limit unknown": (Evidence(Phase.COMPUTE, Exit(137, oom_kills=1)), Verdict.MEMORY_LIMIT),
    "child out of memory, then died": (
        Evidence(Phase.COMPUTE, Exit(1, oom_kills=1, at_limit=True)),
        Verdict.MEMORY_LIMIT,
    ),
    "child out of memory, then hung": (
        Evidence(Phase.COMPUTE, Exit(None, oom_kills=1, at_limit=True), kill=Kill.MESSAGE_TIME),
        Verdict.MEMORY_LIMIT,
    ),
    "child out of memory, then broke the protocol": (
        Evidence(Phase.COMPUTE, Exit(None, oom_kills=1, at_limit=True), breach=Breach.MALFORMED),
        Verdict.PROTOCOL_ERROR,
    ),
    "child out of memory at start, then raised": (
        Evidence(Phase.START, Exit(3, oom_kills=1, at_limit=True), startup_error="BrokenProcessPool"),
        Verdict.MEMORY_LIMIT,
    ),
    "out of memory at start": (Evidence(Phase.START, OWN_OOM), Verdict.MEMORY_LIMIT),
    "host out of memory": (Evidence(Phase.COMPUTE, HOST_OOM), HostFault.OUT_OF_MEMORY),
    "host out of memory at start": (Evidence(Phase.START, HOST_OOM), HostFault.OUT_OF_MEMORY),
    "host out of memory, answered all": (Evidence(Phase.DONE, HOST_OOM), HostFault.OUT_OF_MEMORY),
    "host out of memory, too many failures": (
        Evidence(Phase.COMPUTE, HOST_OOM, refused=Verdict.TOO_MANY_FAILURES),
        HostFault.OUT_OF_MEMORY,
    ),
    # How it ended by itself.
    "killed, not for memory": (Evidence(Phase.COMPUTE, Exit(137)), Verdict.CRASHED),
    "killed at start, not for memory": (started(137), Verdict.STARTUP_FAILED),
    "killed at its limit, but not for memory": (Evidence(Phase.COMPUTE, Exit(137, at_limit=True)), Verdict.CRASHED),
    "segmentation fault": (Evidence(Phase.COMPUTE, Exit(139)), Verdict.CRASHED),
    "aborted": (Evidence(Phase.COMPUTE, Exit(134)), Verdict.CRASHED),
    "bus error": (Evidence(Phase.COMPUTE, Exit(135)), Verdict.CRASHED),
    "left": (Evidence(Phase.COMPUTE, Exit(0)), Verdict.CRASHED),
    "closed its connection and ran on": (Evidence(Phase.COMPUTE, Exit(None)), Verdict.CRASHED),
    "died in the middle of a message": (Evidence(Phase.COMPUTE, Exit(1), talk=Talk.MESSAGE), Verdict.CRASHED),
    # Ended by the judge.
    "start too slow": (Evidence(Phase.START, kill=Kill.STARTUP_TIME), Verdict.STARTUP_TIMEOUT),
    "message too slow": (Evidence(Phase.COMPUTE, kill=Kill.MESSAGE_TIME), Verdict.TIME_LIMIT),
    "task too slow": (Evidence(Phase.COMPUTE, kill=Kill.TASK_TIME), Verdict.TIME_LIMIT),
    # Ended by somebody else.
    "stopped by an operator": (Evidence(Phase.COMPUTE, BY_A_CLIENT), HostFault.STOPPED),
    "stopped by an operator at start": (Evidence(Phase.START, BY_A_CLIENT), HostFault.STOPPED),
    "paused by an operator, then too slow": (
        Evidence(Phase.COMPUTE, Exit(None, intervention=Intervention.CLIENT), kill=Kill.MESSAGE_TIME),
        HostFault.STOPPED,
    ),
    "broke the protocol, then stopped by an operator": (
        Evidence(Phase.COMPUTE, BY_A_CLIENT, breach=Breach.TOO_LARGE),
        Verdict.OUTPUT_LIMIT,
    ),
    "stopped with the engine": (
        Evidence(Phase.COMPUTE, Exit(143, intervention=Intervention.ENGINE)),
        HostFault.ENGINE_RESTARTED,
    ),
    # The error while it loaded.
    "left at start": (started(1), Verdict.STARTUP_FAILED),
    "no such program": (started(127), Verdict.IMAGE_INVALID),
    "program may not be run": (started(126), Verdict.IMAGE_INVALID),
    "connected, then left as if there were no program": (started(127, talk=Talk.HELLO), Verdict.STARTUP_FAILED),
    "factory raised": (started(error="ValueError"), Verdict.STARTUP_FAILED),
    "GPU memory, PyTorch": (started(error="OutOfMemoryError", on_gpu=True), Verdict.GPU_MEMORY_LIMIT),
    "GPU memory, PyTorch in full": (
        started(error="torch.cuda.OutOfMemoryError", on_gpu=True),
        Verdict.GPU_MEMORY_LIMIT,
    ),
    "GPU memory, newer PyTorch": (started(error="torch.OutOfMemoryError", on_gpu=True), Verdict.GPU_MEMORY_LIMIT),
    "GPU memory, by its text": (
        started(error="RuntimeError", text="CUDA out of memory. Tried", on_gpu=True),
        Verdict.GPU_MEMORY_LIMIT,
    ),
    "GPU memory, JAX": (
        started(error="XlaRuntimeError", text="RESOURCE_EXHAUSTED: Out of memory while", on_gpu=True),
        Verdict.GPU_MEMORY_LIMIT,
    ),
    "GPU memory, driver": (
        started(error="RuntimeError", text="failed call: CUDA_ERROR_OUT_OF_MEMORY: out of memory", on_gpu=True),
        Verdict.GPU_MEMORY_LIMIT,
    ),
    "the same words without a GPU": (started(error="OutOfMemoryError"), Verdict.STARTUP_FAILED),
    "another error on a GPU": (started(error="ValueError", text="no CUDA", on_gpu=True), Verdict.STARTUP_FAILED),
    # A breach of the protocol, and the task's own verdict.
    "malformed": (Evidence(Phase.COMPUTE, breach=Breach.MALFORMED), Verdict.PROTOCOL_ERROR),
    "malformed hello": (Evidence(Phase.START, breach=Breach.MALFORMED), Verdict.PROTOCOL_ERROR),
    "too large": (Evidence(Phase.COMPUTE, breach=Breach.TOO_LARGE), Verdict.OUTPUT_LIMIT),
    "wrong shape": (Evidence(Phase.COMPUTE, breach=Breach.WRONG_SHAPE), Verdict.WRONG_SHAPE),
    "too many failures": (
        Evidence(Phase.COMPUTE, Exit(0), refused=Verdict.TOO_MANY_FAILURES),
        Verdict.TOO_MANY_FAILURES,
    ),
}


@pytest.mark.parametrize("case", TABLE)
def test_judgements(case: str) -> None:
    evidence, expected = TABLE[case]
    assert judgement(evidence) is expected
    if isinstance(expected, Verdict) and evidence.refused is None:
        assert sentence_of(evidence, Limits()).endswith(".") or "see its log" in sentence_of(evidence, Limits())


@pytest.mark.parametrize(
    ("host", "clue"),
    [
        (HostFault.OUT_OF_MEMORY, "run fewer containers"),
        (HostFault.STOPPED, "do not touch containers"),
        (HostFault.ENGINE_RESTARTED, "keep it running"),
    ],
)
def test_faults_of_the_host_name_the_remedy(host: HostFault, clue: str) -> None:
    fault = fault_of(host, Limits())
    assert fault.cause is FaultCause.DOCKER
    assert clue in fault.remedy


EXITS = st.builds(
    Exit,
    code=st.none() | st.integers(0, 255),
    oom_kills=st.integers(0, 3),
    at_limit=st.none() | st.booleans(),
    oom_by_engine=st.booleans(),
    intervention=st.sampled_from(Intervention),
)
EVIDENCE = st.builds(
    Evidence,
    phase=st.sampled_from([Phase.START, Phase.COMPUTE]),
    exit=EXITS,
    kill=st.sampled_from(Kill),
    breach=st.sampled_from(Breach),
    talk=st.sampled_from(Talk),
    on_gpu=st.booleans(),
    startup_error=st.sampled_from(["", "ValueError", "OutOfMemoryError"]),
)


@given(EVIDENCE)
def test_no_unfinished_attempt_is_ok_and_each_verdict_has_what_it_needs(evidence: Evidence) -> None:
    judged, end = judgement(evidence), evidence.exit
    assert judged is not Verdict.OK
    if judged is Verdict.MEMORY_LIMIT:
        assert end.oom_by_engine or end.oom_kills
        assert not (end.oom_kills and end.at_limit is False)
    if judged in (Verdict.TIME_LIMIT, Verdict.STARTUP_TIMEOUT):
        assert evidence.kill is not Kill.NOT_KILLED
    if judged is Verdict.GPU_MEMORY_LIMIT:
        assert evidence.on_gpu
    if isinstance(judged, HostFault):
        assert end.intervention is not Intervention.NONE or end.at_limit is False


@pytest.mark.parametrize(
    ("actions", "ended", "forgets", "expected"),
    [
        ({"start", "die"}, True, True, Intervention.NONE),
        ({"start", "oom", "die"}, True, True, Intervention.NONE),
        ({"start"}, False, True, Intervention.NONE),
        ({"start", "kill", "die"}, True, True, Intervention.CLIENT),
        ({"start", "kill", "die", "stop"}, True, False, Intervention.CLIENT),
        ({"start", "pause"}, False, True, Intervention.CLIENT),
        ({"start", "update"}, False, True, Intervention.CLIENT),
        ({"kill", "die", "stop"}, True, True, Intervention.ENGINE),  # killed, and started again
        ({"kill", "die", "stop"}, True, False, Intervention.CLIENT),
        (set(), True, True, Intervention.ENGINE),  # ended while no engine looked
        (set(), False, True, Intervention.NONE),  # an engine that came back, and let it live
        (set(), True, False, Intervention.NONE),  # an engine that writes nothing down
    ],
)
def test_who_laid_hands_on_a_container(actions: set[str], ended: bool, forgets: bool, expected: Intervention) -> None:
    assert intervention_of(actions, ended=ended, forgets=forgets) is expected


def test_signals_are_told_apart() -> None:
    words = [exit_words(code) for code in (None, 0, 1, 132, 134, 135, 136, 137, 139, 143)]
    assert len(set(words)) == len(words)
    assert exit_words(139) == "segmentation fault"


@pytest.mark.parametrize(
    ("error", "text", "clue"),
    [
        ("ModuleNotFoundError", "No module named 'x'", "WORKDIR"),
        ("OSError", "[Errno 30] Read-only file system: '/model/x'", "/tmp only"),
        ("PermissionError", "[Errno 13] Permission denied: '/weights'", "readable by anyone"),
        ("RuntimeError", "must be root to run", "user 65534"),
        ("MemoryError", "Unable to allocate 9 EiB", "use less"),
        ("ValueError", "anything", "must return an ASE calculator"),
    ],
)
def test_sentences_name_the_remedy_and_none_of_the_submissions_words(error: str, text: str, clue: str) -> None:
    sentence = sentence_of(Evidence(Phase.START, startup_error=error, startup_text=text), Limits())
    assert clue in sentence
    assert text not in sentence
