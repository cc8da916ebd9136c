"""A training: a container that learns from frames and leaves a model."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sandbox.driver import Driver, Image, Question
from sandbox.events import Event, emit
from sandbox.guest.training import CHUNK_BYTES
from sandbox.guest.wire import PROTOCOL, Channel, WireError, pack_header
from sandbox.guest_archive import training_guest_archive
from sandbox.limits import MIB, Limits
from sandbox.rundir import DATA_NAME, GUEST_NAME
from sandbox.training import OUT_BYTES, TrainedModel, problem_of
from sandbox.verdict import SubmissionFault, Verdict
from sandbox.wire.guard import MAX_HELLO_BYTES, Expected, Guard, check
from sandbox.wire.hello import Hello
from sandbox.wire.session import SessionOutcome, converse, disk_at_fault

GRACE_S = 10.0  # for the guest to state what was left, with hashes, after the end of the time
READING_BYTES_S = 20 * MIB  # the slowest pace of reading what was left
MAX_LISTING_BYTES = 4 * MIB
MARGIN_BYTES = MIB  # of the folder beyond the largest model: what fills it is too large
_NOTHING = Expected.of()
_BYTES = np.dtype("u1")

_ENDED = {
    "returned": "the trainer returned",
    "failed": "the trainer raised an error or was killed",
    "time": "its time was over",
}
_PROBLEMS = {
    "link": (Verdict.POLICY_VIOLATION, "a link lies in out_dir: leave regular files alone."),
    "device": (Verdict.POLICY_VIOLATION, "a device, a pipe or a socket lies in out_dir: leave regular files alone."),
    "unreadable": (Verdict.POLICY_VIOLATION, "a file in out_dir cannot be read: let any user read it."),
    "depth": (Verdict.OUTPUT_LIMIT, "folders in out_dir are nested too deep: leave at most 8 levels."),
    "names": (Verdict.POLICY_VIOLATION, "a file in out_dir has a name that cannot be kept: use printable names."),
    "too many": (Verdict.OUTPUT_LIMIT, "more than 1,000 files lie in out_dir: leave fewer."),
    "too large": (Verdict.OUTPUT_LIMIT, "out_dir is full: leave less than {mib} MiB."),
}


class TrainingOrder(NamedTuple):
    """One training.

    Args:
        fill: writes what is learned from into an empty folder; it is read-only for the trainer, and all that it sees.
        wall_s: time of the trainer [s].
        out_bytes: the largest model.
        grace_s: after `wall_s` [s], in which the model must be stated with its hashes. A trainer that stops the
            container's clocks can work so much longer, and no more: what is not hashed by then is not taken.
    """

    fill: Callable[[Path], None]
    wall_s: float
    seed: int
    out_bytes: int = OUT_BYTES
    grace_s: float = GRACE_S


class _File(NamedTuple):
    """A file that was left, as the guest states it."""

    name: str
    size: int
    sha256: str


class RemoteTrainer:
    """The guest of a training over a connection to a container.

    Args:
        folder: of the session.
    """

    def __init__(self, channel: Channel, folder: Path) -> None:
        self._channel = channel
        self._guard = Guard(channel)
        self._folder = folder
        self.deadline = 0.0

    def greet(self, deadline: float) -> Hello | None:
        """Waits for the guest; it says nothing about the trainer, which is not loaded yet."""
        self._guard_fields("trainer", deadline, MAX_HELLO_BYTES)
        return None

    def train(self, order: TrainingOrder) -> TrainedModel:
        """The model that the trainer left, after it was given the data and its time.

        Raises:
            SubmissionFault: it left nothing, too much, or something that is no file; or it changed in the end.
            WireError: the guest is gone, late, or broke the protocol.
        """
        with disk_at_fault():
            hidden = self._folder / f".{DATA_NAME}"
            hidden.mkdir(mode=0o700)
            order.fill(hidden)
            for file in hidden.iterdir():
                file.chmod(0o444)
            hidden.chmod(0o755)
            hidden.rename(self._folder / DATA_NAME)  # the data appear at once: from here on the time counts
        begin = time.monotonic()
        fields = {"wall_s": repr(order.wall_s), "seed": str(order.seed), "out_bytes": str(order.out_bytes)}
        self._send("train", begin + GRACE_S, **fields)
        left = self._guard_fields("left", begin + order.wall_s + order.grace_s, MAX_LISTING_BYTES)
        files, ended = _listing(left), _ENDED.get(left.get("ended", ""))
        if ended is None:
            raise WireError("the end of a training is of an unknown kind")
        problem = left.get("problem") or problem_of([(file.name, file.size) for file in files], order.out_bytes)
        if problem:
            raise _fault(problem, ended, order.out_bytes)
        size = sum(file.size for file in files)
        deadline = time.monotonic() + GRACE_S + size / READING_BYTES_S
        model = {file.name: self._content(index, file, deadline) for index, file in enumerate(files)}
        return TrainedModel(model, left["ended"])

    def _content(self, index: int, file: _File, deadline: float) -> bytes:
        """The content of a file, which is sent in parts."""
        content = bytearray()
        while len(content) < file.size:
            self._send("file", deadline, index=str(index), offset=str(len(content)))
            expected = Expected.of(("bytes", _BYTES, (min(CHUNK_BYTES, file.size - len(content)),)))
            content += self._guard.receive(expected, "file", deadline).arrays["bytes"].data
        if hashlib.sha256(content).hexdigest() != file.sha256:
            raise WireError("a file of the model changed while it was sent")
        return bytes(content)

    def bye(self) -> None:
        """Asks the guest to end."""
        self._send("bye", time.monotonic() + 1.0)

    def _send(self, op: str, deadline: float, **fields: str) -> None:
        self._channel.send(pack_header([], {"op": op, **fields}), [], deadline)

    def _guard_fields(self, op: str, deadline: float, max_bytes: int) -> dict[str, str]:
        """The fields of the guest's next message, which has no arrays."""
        fields = check(self._channel.receive(max_bytes, 0, deadline), _NOTHING, (op,)).metadata
        if op == "trainer" and fields.get("protocol") != PROTOCOL:
            raise WireError(f"the guest speaks another protocol than {PROTOCOL}")
        return fields


def run_training(
    driver: Driver, image: Image, limits: Limits, question: Question, order: TrainingOrder
) -> SessionOutcome[TrainedModel]:
    """Starts `image` as a training; the outcome holds the model that the trainer left.

    Args:
        question: `out_bytes` and `has_model` are set here.

    Raises:
        JudgeFault: as `sandbox.wire.session.converse`.
    """
    if not image.trainer:
        refused = SubmissionFault(Verdict.UNSUPPORTED, "The image has no label org.lambench.trainer: it cannot learn.")
        return SessionOutcome[TrainedModel].refused(refused)
    whole = question._replace(out_bytes=order.out_bytes + MARGIN_BYTES, has_model=False)
    times = limits.model_copy(update={"task_s": order.wall_s})

    def prepare(folder: Path) -> None:
        guest = folder / GUEST_NAME
        other = folder / f".{GUEST_NAME}"
        other.write_bytes(training_guest_archive())
        other.chmod(0o444)
        os.replace(other, guest)

    outcome = converse(driver, image, times, whole, lambda remote: remote.train(order), RemoteTrainer, prepare)
    if outcome.value is not None:
        emit(Event.TRAINED, seconds=outcome.wall_s)
        outcome = outcome._replace(sentence=f"Trained: {_ENDED[outcome.value.ended]}.")
    return outcome


def _fault(problem: str, ended: str, out_bytes: int) -> SubmissionFault:
    if problem == "nothing":
        return SubmissionFault(Verdict.CRASHED, f"Nothing lies in out_dir at the end; {ended}.")
    if problem not in _PROBLEMS:
        raise WireError("what is wrong with a model is of an unknown kind")
    verdict, sentence = _PROBLEMS[problem]
    return SubmissionFault(verdict, f"The model cannot be kept: {sentence.format(mib=out_bytes // MIB)}")


def _listing(fields: dict[str, str]) -> list[_File]:
    files = []
    for entry in _json_list(fields.get("files", "")):
        match entry:
            case [str(name), int(size), str(sha256)] if size >= 0:
                files.append(_File(name, int(size), sha256))
            case _:
                raise WireError("a file is [name, size, sha256]")
    return files


def _json_list(text: str) -> list[Any]:
    try:
        stated = json.loads(text)
    except (ValueError, RecursionError):
        stated = None
    if not isinstance(stated, list):
        raise WireError("the files are not a list")
    return stated
