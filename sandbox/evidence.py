"""From evidence to verdict: one pure function, and the sentence that tells the author what to change.

Evidence is what the wire told, what the kernel counted, what the engine wrote down, and what this judge did itself.
It has one blind spot: a signal that root sends to a process on the host is written down nowhere, and looks like the
submission's own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from sandbox.limits import GIB, MIB, Limits
from sandbox.verdict import FaultCause, JudgeFault, Verdict

# What an init, like a shell, exits with when the program cannot be run, or is not there.
CANNOT_EXECUTE = (126, 127)


class Phase(StrEnum):
    """How far the attempt had come."""

    START = "start"
    COMPUTE = "compute"
    DONE = "done"


class Kill(StrEnum):
    """Why we ended the container ourselves."""

    NOT_KILLED = ""
    STARTUP_TIME = "startup time"
    MESSAGE_TIME = "message time"
    TASK_TIME = "task time"


class Breach(StrEnum):
    """How the other end broke the protocol."""

    NONE = ""
    MALFORMED = "malformed"
    TOO_LARGE = "too large"
    WRONG_SHAPE = "wrong shape"


class Talk(StrEnum):
    """How far the conversation had come."""

    NOTHING = "nothing connected"
    HELLO = "waiting for its hello"
    ANSWER = "waiting for an answer"
    MESSAGE = "in the middle of a message"
    ANSWERED = "answered all"


class Intervention(StrEnum):
    """Who beside this judge laid hands on the container."""

    NONE = ""
    CLIENT = "client"  # of the engine: stopped, killed, paused, removed it
    ENGINE = "engine"  # restarted, and the container with it


class HostFault(StrEnum):
    """What the judge's own machine did to an attempt."""

    OUT_OF_MEMORY = "out of memory"
    STOPPED = "stopped"
    ENGINE_RESTARTED = "engine restarted"


@dataclass(frozen=True)
class Exit:
    """What the engine and the kernel say of a container that has ended, or was ended by us.

    Args:
        code: exit status; None where it still ran when we ended it. 128 + n for signal n.
        oom_kills: processes of the container that the kernel killed for memory, by the container's own counters.
        at_limit: whether the container had come to its own limit of memory; None where that is not known.
        oom_by_engine: the engine says that a process was killed for memory. Podman never does.
        memory_bytes: peak, None where the kernel does not tell.
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
    """All that is known of one attempt.

    Args:
        refused: the verdict that the task came to by the answers themselves; None where it came to none.
        on_gpu: whether the calculator was made for a GPU.
        startup_error: class of what the calculator raised while it loaded, in the submission's words, as are the texts.
        detail: what broke the protocol, in our words.
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
    detail: str = ""


_BREACHES = {
    Breach.WRONG_SHAPE: Verdict.WRONG_SHAPE,
    Breach.TOO_LARGE: Verdict.OUTPUT_LIMIT,
    Breach.MALFORMED: Verdict.PROTOCOL_ERROR,
}


def judgement(evidence: Evidence) -> Verdict | HostFault:
    """What `evidence` supports: a verdict of the submission, or a fault of the judge's machine.

    `MEMORY_LIMIT` needs a kill by the kernel at the container's own limit, not exit status 137 alone.
    """
    end = evidence.exit
    # Even where all was answered: the frames that failed may have failed for want of the process that was killed.
    if end.oom_kills and end.at_limit is False:
        return HostFault.OUT_OF_MEMORY
    if evidence.phase is Phase.DONE:
        return Verdict.OK
    if evidence.refused is not None:
        return evidence.refused
    # Ahead of memory and of whoever stopped it: a process that was killed sends nothing, so a living one sent this.
    if evidence.breach is not Breach.NONE:
        return _BREACHES[evidence.breach]
    if end.intervention is not Intervention.NONE:
        by_client = end.intervention is Intervention.CLIENT
        return HostFault.STOPPED if by_client else HostFault.ENGINE_RESTARTED
    # Ahead of how it ended: a program that lost a process to the limit dies, hangs or raises because of that.
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


# Of PyTorch and CuPy, and of TensorFlow.
_GPU_MEMORY_ERRORS = ("OutOfMemoryError", "ResourceExhaustedError")
# Of PyTorch, of the driver, of JAX, of cuBLAS when it finds no room for itself.
_GPU_MEMORY_CLUES = (
    "CUDA out of memory",
    "HIP out of memory",
    "CUDA_ERROR_OUT_OF_MEMORY",
    "cudaErrorMemoryAllocation",
    "RESOURCE_EXHAUSTED",
    "CUBLAS_STATUS_ALLOC_FAILED",
)


def _is_gpu_memory(evidence: Evidence) -> bool:
    """Whether loading failed for want of GPU memory, which only a calculator that was given a GPU can."""
    named = evidence.startup_error.rpartition(".")[2] in _GPU_MEMORY_ERRORS
    return evidence.on_gpu and (named or any(clue in evidence.startup_text for clue in _GPU_MEMORY_CLUES))


def fault_of(host: HostFault, limits: Limits) -> JudgeFault:
    """The fault that a person is told of, and what corrects it."""
    match host:
        case HostFault.OUT_OF_MEMORY:
            remedy = (
                f"the kernel killed a process of a container below its {limits.memory_bytes / GIB:.3g} GiB for memory, "
                "so the host had none left: give it more, or run fewer containers at once, or lower memory_bytes"
            )
        case HostFault.STOPPED:
            remedy = (
                "a container was stopped, paused or removed through the engine while it was judged: leave those "
                "alone that are called lambench-…"
            )
        case HostFault.ENGINE_RESTARTED:
            remedy = "the engine was restarted while a container was judged: keep it running, or let it live-restore"
    return JudgeFault(FaultCause.DOCKER, remedy)


def sentence_of(evidence: Evidence, limits: Limits) -> str:
    """What the author should change, in words of ours only.

    Args:
        evidence: on which `judgement` comes to a verdict, and not one that the task came to itself.
    """
    match judgement(evidence):
        case Verdict.OK:
            return "Completed."
        case Verdict.WRONG_SHAPE:
            return f"An answer has the wrong shape: {evidence.detail}."
        case Verdict.OUTPUT_LIMIT:
            return f"More was sent than was asked for: {evidence.detail}. Send one answer a message, nothing else."
        case Verdict.PROTOCOL_ERROR:
            return (
                f"The answer is not of the protocol: {evidence.detail}. Nothing but the guest may write to its socket."
            )
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


_STARTUP_HINTS = {
    "ModuleNotFoundError": (
        "The module that the label org.lambench.calculator names, or one that it imports, is not in the image: "
        "install it, and set WORKDIR to the folder of your calculator."
    ),
    "ImportError": "An import of the calculator failed: the image lacks a package, or has another version of it.",
    "AttributeError": "The module has no such factory, or the factory raised: check the label org.lambench.calculator.",
    "PermissionError": (
        "The calculator may not read or write a file: it runs as user 65534, so weights must be readable by anyone "
        "(chmod -R a+rX), and only /tmp is writable."
    ),
    "MemoryError": "An array was asked for that is larger than all memory there is: use less.",
    "FileNotFoundError": "The calculator misses a file: weights must be inside the image, since there is no network.",
}


def _startup_sentence(evidence: Evidence) -> str:
    if evidence.startup_error:
        if "Read-only file system" in evidence.startup_text:
            return "The calculator writes outside /tmp, and the root filesystem is read-only: write to /tmp only."
        if any(
            clue in evidence.startup_text for clue in ("root privileges", "must be root", "Operation not permitted")
        ):
            return "The calculator needs root: it runs as user 65534 without capabilities, and must work as any user."
        hint = _STARTUP_HINTS.get(evidence.startup_error)
        return hint or "The factory raised an error: it must return an ASE calculator, offline, on any user's account."
    return f"The container ended before its calculator was ready ({exit_words(evidence.exit.code)}): see its log."


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
