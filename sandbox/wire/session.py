"""One sandboxed step: start a submission, let a function use its calculator, end it, and return the outcome."""

from __future__ import annotations

import math
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, NamedTuple, Protocol, TypeVar

from sandbox.driver import Driver, Image, Question, Running
from sandbox.events import Event, emit
from sandbox.evidence import (
    Breach,
    Evidence,
    HostFault,
    Kill,
    Phase,
    Talk,
    fault_of,
    judgement,
    sentence_of,
)
from sandbox.guest.wire import Channel, Closed, Message, TimedOut, TooLarge, WireError
from sandbox.limits import Limits
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault, Verdict
from sandbox.wire.guard import AnswerShapeError
from sandbox.wire.hello import Hello
from sandbox.wire.remote import RemoteCalculator, StartupError

T = TypeVar("T")
POLL_S = 0.05
SOCKET_BUFFER_BYTES = 1 << 20


class SessionOutcome(NamedTuple, Generic[T]):
    """The outcome of one attempt.

    Args:
        value: the return value of the body; None unless the verdict is OK.
        sentence: what the author should change, in the judge's words: may be public.
        private: the submission's own words (its error, the end of its log): for its author, of public structures
            only.
        memory_bytes: peak; None if the kernel does not count it.
        phase: the last phase that it reached.
    """

    verdict: Verdict
    sentence: str
    value: T | None
    private: str
    hello: Hello | None = None
    wall_s: float = 0.0
    startup_s: float | None = None
    memory_bytes: int | None = None
    phase: Phase = Phase.START

    @classmethod
    def refused(cls, fault: SubmissionFault) -> SessionOutcome[T]:
        """The outcome of an attempt that ended in `fault`."""
        return cls(fault.verdict, fault.sentence, None, fault.private)


@dataclass
class _Progress:
    """The progress of a session, for the evidence."""

    phase: Phase = Phase.START
    talk: Talk = Talk.NOTHING
    hello: Hello | None = None
    startup_s: float | None = None


class _SubmissionChannel(Channel):
    """A channel that knows whether the message that it waits for has begun to arrive."""

    begun = False

    def receive(self, max_header: int, max_bytes: int, deadline: float = math.inf) -> Message:
        message = super().receive(max_header, max_bytes, deadline)
        self.begun = False
        return message

    def _some(self, view: memoryview, deadline: float) -> int:
        self.begun = view is not self._view
        return super()._some(view, deadline)


class Remote(Protocol):
    """The submission's end of a connection, as a session needs it.

    Attributes:
        deadline: of the whole task, on `time.monotonic()`.
    """

    deadline: float

    def greet(self, deadline: float) -> Hello | None:
        """Waits for the submission's first message."""
        ...

    def bye(self) -> None:
        """Asks the submission to end."""
        ...


R = TypeVar("R", bound=Remote)


def run_session(
    driver: Driver,
    image: Image,
    limits: Limits,
    question: Question,
    body: Callable[[RemoteCalculator], T],
    prepare: Callable[[Path], None] = lambda folder: None,
) -> SessionOutcome[T]:
    """Starts `image`, waits for its hello, calls `body` with its calculator, and ends it; returns the outcome.

    As `converse`, which takes `prepare`, too.
    """

    def connect(channel: Channel, folder: Path) -> RemoteCalculator:
        return RemoteCalculator(channel, limits.message_s, math.inf, limits.max_atoms_per_batch)

    return converse(driver, image, limits, question, body, connect, prepare)


def converse(
    driver: Driver,
    image: Image,
    limits: Limits,
    question: Question,
    body: Callable[[R], T],
    connect: Callable[[Channel, Path], R],
    prepare: Callable[[Path], None] = lambda folder: None,
) -> SessionOutcome[T]:
    """Starts `image`, connects to it, waits for its hello, calls `body`, and ends it; returns the outcome.

    A fault of the submission becomes its verdict. Any other error of `body` is raised after the container was removed.

    Args:
        connect: the submission's end of a connection, for the session's folder.
        prepare: called with the session's folder before the start.

    Raises:
        JudgeFault: the engine, the GPU or the disk failed, the host had no memory left, or somebody else ended the
            container.
    """
    progress = _Progress()
    value: T | None = None
    fault: SubmissionFault | None = None
    evidence = Evidence(Phase.START)
    with driver.session(image) as (folder, listener):
        with disk_at_fault():
            prepare(folder)
        begin = time.monotonic()
        try:
            running = driver.start(image, limits, question, folder)
        except SubmissionFault as refused:
            return SessionOutcome[T].refused(refused)._replace(wall_s=time.monotonic() - begin)
        emit(Event.CONTAINER_STARTED, container=folder.name)
        try:
            value = _converse(running, listener, limits, body, progress, lambda channel: connect(channel, folder))
            evidence = Evidence(Phase.DONE)
        except SubmissionFault as raised:
            fault = raised
            evidence = Evidence(progress.phase, refused=raised.verdict)
        except (WireError, StartupError) as error:
            evidence = _evidence(error, progress, begin, limits)
        finally:
            ended = running.stop(grace_s=2.0 if _ends_by_itself(evidence) else 0.0)
            emit(Event.CONTAINER_ENDED, container=folder.name)
    evidence = replace(evidence, exit=ended, talk=progress.talk, on_gpu=question.device != "cpu")
    wall = time.monotonic() - begin
    verdict = judgement(evidence)
    if isinstance(verdict, HostFault):
        raise fault_of(verdict, limits)
    if fault is None or fault.verdict is not verdict:
        startup = ": ".join(t for t in (evidence.startup_error, evidence.startup_text) if t)
        private = "\n".join(t for t in (startup, ended.log) if t)
        outcome = SessionOutcome(verdict, sentence_of(evidence, limits), value, private)
    else:
        outcome = SessionOutcome[T].refused(fault)
        outcome = outcome._replace(private="\n".join(t for t in (fault.private, ended.log) if t))
    return outcome._replace(
        hello=progress.hello,
        wall_s=wall,
        startup_s=progress.startup_s,
        memory_bytes=ended.memory_bytes,
        phase=evidence.phase,
    )


def _converse(
    running: Running,
    listener: socket.socket,
    limits: Limits,
    body: Callable[[R], T],
    progress: _Progress,
    connect: Callable[[Channel], R],
) -> T:
    begin = time.monotonic()
    ready_by = begin + limits.startup_s
    channel = _SubmissionChannel(_accept(listener, running, ready_by))
    progress.talk = Talk.HELLO
    try:
        remote = connect(channel)
        progress.hello = remote.greet(ready_by)
        ready = time.monotonic()
        progress.startup_s = ready - begin
        progress.phase, progress.talk = Phase.COMPUTE, Talk.ANSWER
        emit(Event.READY, seconds=progress.startup_s)
        remote.deadline = ready + limits.task_s
        value = body(remote)
        progress.phase, progress.talk = Phase.DONE, Talk.ANSWERED
        emit(Event.ANSWERED)
        with suppress(WireError):  # it has answered every question, so it does not matter how it ends
            remote.bye()
        return value
    except WireError:
        progress.talk = Talk.MESSAGE if channel.begun else progress.talk
        raise
    finally:
        channel.close()


def _accept(listener: socket.socket, running: Running, deadline: float) -> socket.socket:
    """The submission's one connection; the listener closes after it."""
    while not select.select([listener], [], [], POLL_S)[0]:
        if not running.alive() and not select.select([listener], [], [], 0)[0]:
            raise Closed("the container ended before it connected")
        if time.monotonic() > deadline:
            raise TimedOut("no connection in time")
    connection, _ = listener.accept()
    listener.close()
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        connection.setsockopt(socket.SOL_SOCKET, option, SOCKET_BUFFER_BYTES)
    return connection


def _evidence(error: Exception, progress: _Progress, begin: float, limits: Limits) -> Evidence:
    phase = progress.phase
    match error:
        case StartupError():
            return Evidence(
                phase,
                startup_error=error.kind or "error",
                startup_text=error.text,
                home_unreadable=error.home_unreadable,
            )
        case TimedOut() if phase is Phase.START:
            return Evidence(phase, kill=Kill.STARTUP_TIME)
        case TimedOut():
            used = time.monotonic() - begin - (progress.startup_s or 0.0)
            return Evidence(phase, kill=Kill.TASK_TIME if used >= limits.task_s else Kill.MESSAGE_TIME)
        case Closed():
            return Evidence(phase)
        case TooLarge():
            return Evidence(phase, breach=Breach.TOO_LARGE, detail=str(error))
        case AnswerShapeError():
            return Evidence(phase, breach=Breach.WRONG_SHAPE, detail=str(error))
        case _:
            return Evidence(phase, breach=Breach.MALFORMED, detail=str(error))


@contextmanager
def disk_at_fault() -> Iterator[None]:
    """Turns an error of writing to the session's folder into a fault of this machine."""
    try:
        yield
    except OSError as error:
        remedy = f"cannot write to the run directory ({error.strerror}): free some space, or set run_dir"
        raise JudgeFault(FaultCause.DISK, remedy) from error


def _ends_by_itself(evidence: Evidence) -> bool:
    """Whether the container has ended, or is about to end, so that the judge waits for its exit status."""
    return evidence.kill is Kill.NOT_KILLED and evidence.breach is Breach.NONE
