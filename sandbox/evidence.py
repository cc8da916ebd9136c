"""From evidence to verdict: one pure function, and the sentence that tells the author what to change."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from sandbox.limits import GIB, MIB, Limits
from sandbox.verdict import Verdict

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


@dataclass(frozen=True)
class Exit:
    """What the engine and the kernel say of a container that has ended, or was ended by us.

    Args:
        code: exit status; None where it still ran when we ended it. 128 + n for signal n.
        oom_kills: processes of the container that the kernel killed for memory.
        memory_bytes: peak, None where the kernel does not tell.
        log: the last lines of its output.
    """

    code: int | None = None
    oom_kills: int = 0
    memory_bytes: int | None = None
    log: str = ""


@dataclass(frozen=True)
class Evidence:
    """All that is known of one attempt."""

    phase: Phase
    exit: Exit = field(default_factory=Exit)
    kill: Kill = Kill.NOT_KILLED
    breach: Breach = Breach.NONE
    startup_error: str = ""
    startup_text: str = ""
    detail: str = ""


def verdict_of(evidence: Evidence) -> Verdict:
    """The verdict that `evidence` supports. `MEMORY_LIMIT` needs a kill by the kernel, not exit status 137 alone."""
    if evidence.phase is Phase.DONE:
        return Verdict.OK
    if evidence.breach is Breach.WRONG_SHAPE:
        return Verdict.WRONG_SHAPE
    if evidence.breach is Breach.TOO_LARGE:
        return Verdict.OUTPUT_LIMIT
    if evidence.breach is Breach.MALFORMED:
        return Verdict.PROTOCOL_ERROR
    if evidence.exit.oom_kills:
        return Verdict.MEMORY_LIMIT
    if evidence.kill is Kill.STARTUP_TIME:
        return Verdict.STARTUP_TIMEOUT
    if evidence.kill is not Kill.NOT_KILLED:
        return Verdict.TIME_LIMIT
    if evidence.startup_error:
        return Verdict.GPU_MEMORY_LIMIT if _is_gpu_memory(evidence) else Verdict.STARTUP_FAILED
    if evidence.phase is Phase.START:
        return Verdict.IMAGE_INVALID if evidence.exit.code in CANNOT_EXECUTE else Verdict.STARTUP_FAILED
    return Verdict.CRASHED


def _is_gpu_memory(evidence: Evidence) -> bool:
    return evidence.startup_error == "OutOfMemoryError" or "CUDA out of memory" in evidence.startup_text


def sentence_of(evidence: Evidence, limits: Limits) -> str:
    """What the author should change, in words of ours only."""
    match verdict_of(evidence):
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
            return f"The container ended in the middle of its work ({exit_words(evidence.exit.code)}): see its log."


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


def exit_words(code: int | None) -> str:
    """An exit status in words."""
    signals = {134: "aborted", 135: "bus error", 136: "arithmetic error", 137: "killed", 139: "segmentation fault"}
    if code is None:
        return "it closed its connection and ran on"
    return signals.get(code, f"exit status {code}")


def memory_words(memory_bytes: int | None) -> str:
    """A peak of memory in words."""
    return "unknown" if memory_bytes is None else f"{memory_bytes / MIB:,.0f} MiB"
