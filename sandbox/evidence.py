"""From evidence to verdict: one pure function, and the sentence that tells the author what to change.

Evidence comes from the wire, the kernel's counters, the engine's events, and this judge's own actions. It has one
blind spot: a signal that root sends to a process on the host is recorded nowhere, and looks like the submission's
own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from sandbox.error_sentences import HOME_SENTENCE, MISSING_FILE_SENTENCES, error_sentence
from sandbox.limits import GIB, MIB, Limits
from sandbox.verdict import FaultCause, JudgeFault, Verdict

# The exit statuses of an init, as of a shell, if the program cannot be run or does not exist.
CANNOT_EXECUTE = (126, 127)


class Phase(StrEnum):
    """The phases of an attempt."""

    START = "start"
    COMPUTE = "compute"
    DONE = "done"


class Kill(StrEnum):
    """Why the judge ended the container."""

    NOT_KILLED = ""
    STARTUP_TIME = "startup time"
    MESSAGE_TIME = "message time"
    TASK_TIME = "task time"


class Breach(StrEnum):
    """How the submission broke the protocol."""

    NONE = ""
    MALFORMED = "malformed"
    TOO_LARGE = "too large"
    WRONG_SHAPE = "wrong shape"


class Talk(StrEnum):
    """What the judge was waiting for."""

    NOTHING = "nothing connected"
    HELLO = "waiting for its hello"
    ANSWER = "waiting for an answer"
    MESSAGE = "in the middle of a message"
    ANSWERED = "answered all"


class Intervention(StrEnum):
    """Who other than this judge acted on the container."""

    NONE = ""
    CLIENT = "client"  # of the engine: it stopped, killed, paused or removed the container
    ENGINE = "engine"  # it was restarted, which ended the container


class HostFault(StrEnum):
    """How the judge's own machine disturbed an attempt."""

    OUT_OF_MEMORY = "out of memory"
    STOPPED = "stopped"
    ENGINE_RESTARTED = "engine restarted"


@dataclass(frozen=True)
class Exit:
    """What the engine and the kernel report about an ended container.

    Args:
        code: exit status; None if it still ran when the judge ended it. 128 + n for signal n.
        oom_kills: processes of the container that the kernel killed for memory, by the container's own counters.
        at_limit: whether the container reached its own memory limit; None: unknown.
        oom_by_engine: the engine reports that a process was killed for memory. Podman never does.
        memory_bytes: peak; None if the kernel does not count it.
        log: the last lines of its output.
    """

    code: int | None = None
    oom_kills: int = 0
    at_limit: bool | None = None
    oom_by_engine: bool = False
    intervention: Intervention = Intervention.NONE
    memory_bytes: int | None = None
    log: str = ""


@dataclass(frozen=True)
class Evidence:
    """Everything that the judge knows about one attempt.

    Args:
        refused: the verdict that the task itself reached from the answers; None: it reached none.
        on_gpu: whether the calculator was created for a GPU.
        startup_error: class of the error that the calculator raised while it loaded. This and the texts are the
            submission's words.
        home_unreadable: whether the image's HOME, or a part of it, cannot be read by user 65534.
        detail: what broke the protocol, in the judge's words.
    """

    phase: Phase
    exit: Exit = field(default_factory=Exit)
    kill: Kill = Kill.NOT_KILLED
    breach: Breach = Breach.NONE
    talk: Talk = Talk.NOTHING
    refused: Verdict | None = None
    on_gpu: bool = False
    startup_error: str = ""
    startup_text: str = ""
    home_unreadable: bool = False
    detail: str = ""


_BREACHES = {
    Breach.WRONG_SHAPE: Verdict.WRONG_SHAPE,
    Breach.TOO_LARGE: Verdict.OUTPUT_LIMIT,
    Breach.MALFORMED: Verdict.PROTOCOL_ERROR,
}


def judgement(evidence: Evidence) -> Verdict | HostFault:
    """The verdict that `evidence` supports, or a fault of the judge's machine.

    `MEMORY_LIMIT` needs a kill by the kernel at the container's own limit, not exit status 137 alone.
    """
    end = evidence.exit
    # Even if every question was answered: frames may have failed because a process was killed.
    if end.oom_kills and end.at_limit is False:
        return HostFault.OUT_OF_MEMORY
    if evidence.phase is Phase.DONE:
        return Verdict.OK
    if evidence.refused is not None:
        # A trainer that was killed for memory leaves nothing.
        lost = evidence.refused is Verdict.CRASHED and (end.oom_kills or end.oom_by_engine)
        return Verdict.MEMORY_LIMIT if lost else evidence.refused
    # Before memory and interventions: a killed process sends nothing, so a living process sent this.
    if evidence.breach is not Breach.NONE:
        return _BREACHES[evidence.breach]
    if end.intervention is not Intervention.NONE:
        by_client = end.intervention is Intervention.CLIENT
        return HostFault.STOPPED if by_client else HostFault.ENGINE_RESTARTED
    # Before the way it ended: a program that lost a process to the limit dies, hangs or raises because of that.
    if end.oom_kills or end.oom_by_engine:
        return Verdict.MEMORY_LIMIT
    if evidence.kill is not Kill.NOT_KILLED:
        return Verdict.STARTUP_TIMEOUT if evidence.kill is Kill.STARTUP_TIME else Verdict.TIME_LIMIT
    return _of_start(evidence) if evidence.phase is Phase.START else Verdict.CRASHED


def _of_start(evidence: Evidence) -> Verdict:
    if evidence.startup_error:
        return Verdict.GPU_MEMORY_LIMIT if _is_gpu_memory(evidence) else Verdict.STARTUP_FAILED
    nothing_ran = evidence.talk is Talk.NOTHING and evidence.exit.code in CANNOT_EXECUTE
    return Verdict.IMAGE_INVALID if nothing_ran else Verdict.STARTUP_FAILED


# Error classes of PyTorch and CuPy, and of TensorFlow.
_GPU_MEMORY_ERRORS = ("OutOfMemoryError", "ResourceExhaustedError")
# Error texts of PyTorch, of the driver, of JAX, and of cuBLAS when it has no memory for itself.
_GPU_MEMORY_CLUES = (
    "CUDA out of memory",
    "HIP out of memory",
    "CUDA_ERROR_OUT_OF_MEMORY",
    "cudaErrorMemoryAllocation",
    "RESOURCE_EXHAUSTED",
    "CUBLAS_STATUS_ALLOC_FAILED",
)


def _is_gpu_memory(evidence: Evidence) -> bool:
    """Whether loading failed because GPU memory was full. Only a calculator with a GPU can fail so."""
    named = evidence.startup_error.rpartition(".")[2] in _GPU_MEMORY_ERRORS
    return evidence.on_gpu and (named or any(clue in evidence.startup_text for clue in _GPU_MEMORY_CLUES))


def fault_of(host: HostFault, limits: Limits) -> JudgeFault:
    """The fault that is reported to the maintainer, with its remedy."""
    match host:
        case HostFault.OUT_OF_MEMORY:
            remedy = (
                f"the kernel killed a process of a container below its {limits.memory_bytes / GIB:.3g} GiB for memory, "
                "so the host had none left: give it more, or run fewer containers at once, or lower memory_bytes"
            )
        case HostFault.STOPPED:
            remedy = (
                "a container was stopped, paused or removed through the engine while it was judged: do not touch "
                "containers called lambench-…"
            )
        case HostFault.ENGINE_RESTARTED:
            remedy = "the engine was restarted while a container was judged: keep it running, or set live-restore"
    return JudgeFault(FaultCause.DOCKER, remedy)


def sentence_of(evidence: Evidence, limits: Limits) -> str:
    """What the author should change, in the judge's words only.

    Args:
        evidence: for which `judgement` gives a verdict that is not the task's own (`refused`).
    """
    match judgement(evidence):
        case Verdict.OK:
            return "Completed."
        case Verdict.WRONG_SHAPE:
            return f"An answer has the wrong shape: {evidence.detail}."
        case Verdict.OUTPUT_LIMIT:
            return f"Too many bytes were sent: {evidence.detail}. Send one answer per message, and nothing else."
        case Verdict.PROTOCOL_ERROR:
            return f"The answer breaks the protocol: {evidence.detail}. Nothing but the guest may write to its socket."
        case Verdict.MEMORY_LIMIT:
            return (
                f"The kernel ended a process that went beyond {limits.memory_bytes / GIB:.3g} GiB of memory "
                f"(/tmp counts): use less, or smaller batches (max_atoms_per_batch)."
            )
        case Verdict.GPU_MEMORY_LIMIT:
            return "The model does not fit into the GPU's memory: use less."
        case Verdict.STARTUP_TIMEOUT:
            return f"The calculator was not ready after {limits.startup_s:g} s: load faster, and download nothing."
        case Verdict.TIME_LIMIT if evidence.kill is Kill.MESSAGE_TIME:
            return f"One batch took longer than {limits.message_s:g} s: make the model faster, or its batches smaller."
        case Verdict.TIME_LIMIT:
            return f"The task took longer than its {limits.task_s:g} s: make the model faster."
        case Verdict.IMAGE_INVALID:
            return (
                "The image has no such Python that user 65534 may run: install Python 3.9 or later as python3, or name "
                'it in the label org.lambench.python, e.g. ["/opt/conda/bin/python"].'
            )
        case Verdict.STARTUP_FAILED:
            return _startup_sentence(evidence)
        case _:
            where = "an answer" if evidence.talk is Talk.MESSAGE else "its work"
            return f"The container ended in the middle of {where} ({exit_words(evidence.exit.code)}): see its log."


def _startup_sentence(evidence: Evidence) -> str:
    if not evidence.startup_error:
        return f"The container ended before its calculator was ready ({exit_words(evidence.exit.code)}): see its log."
    sentence = error_sentence(evidence.startup_error, evidence.startup_text)
    if evidence.home_unreadable and sentence in MISSING_FILE_SENTENCES:
        return f"{sentence} {HOME_SENTENCE}"
    return sentence or "The factory raised an error: it must return an ASE calculator, offline, on any user's account."


_SIGNALS = {
    132: "illegal instruction",
    134: "aborted",
    135: "bus error",
    136: "arithmetic error",
    137: "killed",
    139: "segmentation fault",
    143: "terminated",
}


def exit_words(code: int | None) -> str:
    """An exit status in words."""
    if code is None:
        return "it closed its connection and ran on"
    return _SIGNALS.get(code, f"exit status {code}")


def memory_words(memory_bytes: int | None) -> str:
    """A peak of memory in words."""
    return "unknown" if memory_bytes is None else f"{memory_bytes / MIB:,.0f} MiB"
