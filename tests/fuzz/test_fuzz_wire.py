"""Any bytes on the wire are an answer of exactly the expected shapes or a breach of the protocol, and never a hang.

Every input goes through a real socket. `make test` runs a share, the same each time; `make soak` runs all.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import struct
import threading
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from ase.build import bulk, molecule

from sandbox.guest.wire import Channel, WireError, pack_header
from sandbox.training import TrainedModel, problem_of
from sandbox.verdict import SubmissionFault
from sandbox.wire.guard import MAX_FAILURES, MAX_HEADER_BYTES, Guard, expected_result, read_failures
from sandbox.wire.hello import Hello
from sandbox.wire.remote import RemoteCalculator, StartupError
from sandbox.wire.training import RemoteTrainer, TrainingOrder
from tasks.structures.frames import Frames
from tasks.structures.predictions import ALL_PROPERTIES, Cause
from tests.fuzz.mutations import COUNTS, NUMBERS, SIZES, WORDS, fuzz, mangled, mangled_json

FRAMES = Frames.from_atoms([bulk("Cu"), molecule("H2O")])
EXPECTED = expected_result(2, 4, ALL_PROPERTIES)
HELLO = {
    "op": "hello", "protocol": "1", "calculator": "m:f (EMT)", "properties": "energy,forces,stress", "batch": "false",
    "max_atoms_per_batch": "0", "elements": "1,8,29", "device": "cpu", "versions": '{"python": "3.11", "ase": "3.26"}',
}  # fmt: skip
FAILED = {"op": "failed", "protocol": "1", "class": "ValueError", "text": "no weights", "cause": "1"}
SPECIAL = (np.nan, np.inf, -np.inf, 1e15, 1e308, 5e-324, -0.0)
CONSTANT_BYTES = 16 * 2**20  # a header's JSON as objects, the channel's buffer
PATIENCE_S = 20.0


def arrays_of(random: Random, number: int) -> tuple[list[tuple[str, np.ndarray]], dict[str, str]]:
    """An answer that is often valid, with some NaN and some failed frames."""
    energy, forces = np.array([-1.5, 2.5]), np.full((4, 3), 0.25)
    stress, status = np.zeros((2, 6)), np.zeros(2, np.int64)
    metadata = {"op": "result"}
    for array in (energy, forces.reshape(-1), stress.reshape(-1)):
        if random.random() < 0.2:
            array[random.randrange(array.size)] = random.choice(SPECIAL)
        if random.random() < 0.05:
            array[:] = np.frombuffer(random.randbytes(array.nbytes))
    if random.random() < 0.3:
        status[random.randrange(2)] = random.choice((1, 1, 1, 2, -1, 2**62))
        stated = [[random.choice((1, 1, 2, 3, 4, 5)), "ValueError", "too far"]]
        metadata["failures"] = mangled_json(random, stated).decode("utf-8", "replace")
    id_ = number if random.random() < 0.9 else random.getrandbits(62)
    arrays = [("id", np.array([id_])), ("energy", energy), ("forces", forces), ("stress", stress), ("status", status)]
    if random.random() < 0.05:
        random.shuffle(arrays)
    return arrays, metadata


def message(random: Random, number: int = 7) -> bytes:
    """A message: valid, with another header, or broken somewhere; sometimes random bytes."""
    if random.random() < 0.05:
        return random.randbytes(random.randrange(200))
    arrays, metadata = arrays_of(random, number)
    packed, data = pack_header(arrays, metadata), b"".join(array.tobytes() for _, array in arrays)
    pick = random.random()
    if pick < 0.4:
        header = mangled_json(random, json.loads(packed[16:]))
        packed = struct.pack("<QQ", 8 + len(header) + len(data), len(header)) + header
    whole = packed + data
    if pick > 0.7:
        return whole
    if pick > 0.6:
        where = random.choice((0, 8))
        return whole[:where] + struct.pack("<Q", random.choice(NUMBERS)) + whole[where + 8 :]
    return mangled(random, whole) if pick > 0.2 else whole


def answered(data: bytes) -> socket.socket:
    """The judge's end of a connection on which `data` was sent, as far as it was read, and which then closed."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    with theirs, suppress(BlockingIOError):
        theirs.send(data)
    return ours


@SIZES
def test_the_guard_takes_exactly_what_was_asked_for(share: float, soak: bool) -> None:
    taken = 0
    outcomes: set[str] = set()

    def trial(random: Random) -> None:
        nonlocal taken
        ours = answered(message(random))
        try:
            answer = Guard(Channel(ours)).receive(EXPECTED, "result", time.monotonic() + PATIENCE_S)
            failures = read_failures(answer.metadata, answer.arrays["status"])
        except WireError as error:
            outcomes.add(str(error))
            return
        finally:
            ours.close()
        assert {(n, a.dtype, a.shape) for n, a in answer.arrays.items()} == set(EXPECTED.arrays)
        assert len(failures) <= MAX_FAILURES
        taken += 1

    n = int(500_000 * share)
    fuzz("answers", n, trial, soak=soak)
    assert len(outcomes) < 40  # a closed list: no message contains anything that was sent
    assert 0.1 * n < taken < 0.9 * n  # some inputs are accepted, and some refused


@SIZES
def test_a_greeting_is_a_hello_or_a_breach(share: float, soak: bool) -> None:
    seen = {Hello: 0, StartupError: 0, WireError: 0}
    longest = [0, 0]

    def trial(random: Random) -> None:
        metadata = dict(HELLO if random.random() < 0.8 else FAILED)
        if random.random() < 0.5:
            field = random.choice(list(metadata))
            good = json.loads(metadata[field]) if field == "versions" else metadata[field]
            metadata[field] = mangled_json(random, good).decode("utf-8", "replace")
            if field in ("max_atoms_per_batch", "elements"):
                metadata[field] = metadata[field].strip('"')
        packed = pack_header([], metadata)
        if random.random() < 0.3:
            header = mangled_json(random, json.loads(packed[16:]))
            packed = struct.pack("<QQ", 8 + len(header), len(header)) + header
        ours = answered(mangled(random, packed) if random.random() < 0.2 else packed)
        remote = RemoteCalculator(Channel(ours), 1.0, time.monotonic() + PATIENCE_S, 1000)
        try:
            hello = remote.greet(time.monotonic() + PATIENCE_S)
        except StartupError as error:
            longest[0] = max(longest[0], len(error.kind))
            longest[1] = max(longest[1], len(error.text))
            seen[StartupError] += 1
        except WireError:
            seen[WireError] += 1
        else:
            check_hello(hello, remote)
            seen[Hello] += 1
        finally:
            ours.close()

    fuzz("greetings", int(200_000 * share), trial, soak=soak)
    assert all(seen.values()), seen
    assert longest[0] <= 128
    assert longest[1] <= 2048


def check_hello(hello: Hello, remote: RemoteCalculator) -> None:
    assert "energy" in hello.properties
    assert 0 < remote.max_atoms_per_batch <= 1000
    assert all(1 <= z <= 118 for z in hello.elements or ())
    words = [hello.calculator, hello.device, *hello.versions, *hello.versions.values()]
    assert all(word.isprintable() and len(word) <= 200 for word in words)


class Peer:
    """The guest's end, in a thread: reads one question, and answers with `answer(id)`."""

    def __init__(self, answer: Callable[[int], bytes]) -> None:
        self.ours, self._theirs = socket.socketpair()
        self._answer = answer
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        with self._theirs, self._theirs.makefile("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            question = stream.read(length)
            with suppress(OSError):  # the judge refused it before it had read all
                self._theirs.sendall(self._answer(struct.unpack("<q", question[-8:])[0]))

    def close(self) -> None:
        self.ours.close()
        self._thread.join()


@SIZES
def test_predictions_are_whole_or_the_session_ends(share: float, soak: bool) -> None:
    taken = 0

    def trial(random: Random) -> None:
        nonlocal taken
        peer = Peer(lambda number: message(random, number))
        remote = RemoteCalculator(Channel(peer.ours), PATIENCE_S, time.monotonic() + PATIENCE_S, 1000)
        try:
            answer = remote.compute(FRAMES, ALL_PROPERTIES)
        except WireError:
            return
        finally:
            peer.close()
        assert answer.energy.shape == (2,)
        assert answer.forces is not None
        assert answer.forces.shape == (4, 3)
        assert answer.stress is not None
        assert answer.stress.shape == (2, 6)
        assert all(Cause(int(code)) in set(Cause) for code in answer.failure)
        assert np.isfinite(answer.energy[answer.ok]).all()
        assert np.isfinite(answer.forces[answer.ok[FRAMES.frame_index]]).all()
        assert np.isnan(answer.energy[~answer.ok]).all()
        taken += 1

    n = int(50_000 * share)
    fuzz("predictions", n, trial, soak=soak)
    assert 0.1 * n < taken < 0.9 * n


class GuestOfATraining:
    """The guest's end of a training, in a thread: says hello, and answers each message with the next of its own.

    Args:
        broken: the index of the message after which it closes its end: nothing may come that completes it.
    """

    def __init__(self, answers: list[bytes], broken: int) -> None:
        self.ours, self._theirs = socket.socketpair()
        self._answers, self._broken = answers, broken
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        with self._theirs, self._theirs.makefile("rb") as stream, suppress(OSError, struct.error):
            for index, answer in enumerate(self._answers):
                self._theirs.sendall(answer)
                if index == self._broken:
                    self._theirs.shutdown(socket.SHUT_WR)
                (length,) = struct.unpack("<Q", stream.read(8))
                stream.read(length)

    def close(self) -> None:
        self.ours.close()
        self._thread.join()


MODEL = {"weights.npz": b"12345678" * 40, "empty": b"", "more/code.py": b"import os"}
OUT_BYTES = 1000
NAMES = ("a", "a/b", "..", "/etc/passwd", "a//b", "a\0", "\x1b[2J", "\udcff", "é", "x" * 256, "a/" * 600 + "a", "")


def guest_of_a_training(random: Random) -> GuestOfATraining:
    """A guest that is often honest, else has a field changed or bytes broken somewhere."""
    model = {random.choice(NAMES) if random.random() < 0.05 else name: content for name, content in MODEL.items()}
    files: Any = [[name, len(content), sha256(content).hexdigest()] for name, content in model.items()]
    hello = {"op": "trainer", "protocol": "1"}
    left = {"op": "left", "ended": "returned", "problem": "", "files": json.dumps(files)}
    if random.random() < 0.4:
        left["files"] = mangled_json(random, files).decode("utf-8", "replace")
    if random.random() < 0.2:
        field = random.choice(list(left))
        left[field] = random.choice((*WORDS, "time", "failed", "link", "nothing", "file", "trainer"))
    if random.random() < 0.05:
        hello[random.choice(list(hello))] = random.choice(WORDS)
    messages = [pack_header([], hello), pack_header([], left)]
    for content in model.values():
        if content:
            sent = bytes(mangled(random, content)) if random.random() < 0.1 else content
            array = np.frombuffer(sent, np.uint8)
            messages.append(pack_header([("bytes", array)], {"op": "file"}) + sent)
    if random.random() < 0.2:
        random.shuffle(messages)
    broken = random.randrange(len(messages)) if random.random() < 0.3 else -1
    if broken >= 0:
        messages[broken] = mangled(random, messages[broken])
    return GuestOfATraining(messages, broken)


@SIZES
def test_a_training_ends_in_a_whole_model_or_a_breach(share: float, soak: bool, tmp_path: Path) -> None:
    outcomes: set[str] = set()
    taken = 0

    def trial(random: Random) -> None:
        nonlocal taken
        guest = guest_of_a_training(random)
        remote = RemoteTrainer(Channel(guest.ours), tmp_path)
        try:
            remote.greet(time.monotonic() + PATIENCE_S)
            model = remote.train(TrainingOrder(lambda folder: None, 0.0, 7, OUT_BYTES, PATIENCE_S))
        except WireError as error:
            outcomes.add(str(error))
        except SubmissionFault as fault:
            outcomes.add(fault.sentence)
        else:
            taken += 1
            sizes = [(name, len(content)) for name, content in model.files.items()]
            assert problem_of(sizes, OUT_BYTES) == ""
            assert TrainedModel.unpacked(model.packed()).files == model.files
        finally:
            guest.close()

    n = int(50_000 * share)
    fuzz("trainings", n, trial, soak=soak)
    assert len(outcomes) < 60  # a closed list: no sentence contains anything that was sent
    assert 0.1 * n < taken < 0.9 * n


@SIZES
def test_no_message_takes_memory_beyond_what_was_asked_for(share: float, soak: bool) -> None:
    def trial(random: Random) -> None:
        n, total = random.choice(((2, 4), (50, 2000)))
        expected = expected_result(n, total, ALL_PROPERTIES)
        data = message(random)
        if random.random() < 0.7:  # a plausible length, and a header of the largest allowed size
            length = random.choice((expected.nbytes, expected.nbytes + MAX_HEADER_BYTES, 2**30, 2**47, 8, 9))
            filler = random.choice((b"[", b'{"a":', b'"\\u0000', b"9", b"{},", b"\0"))
            header = (filler * MAX_HEADER_BYTES)[: random.choice((length, MAX_HEADER_BYTES, 1000)) % 150_000]
            data = struct.pack("<QQ", length, len(header)) + header
        ours = answered(data)
        gc.collect(0)
        tracemalloc.start()
        try:
            Guard(Channel(ours)).receive(expected, "result", time.monotonic() + PATIENCE_S)
        except WireError:
            pass
        finally:
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            ours.close()
        assert peak < expected.nbytes + MAX_HEADER_BYTES + CONSTANT_BYTES

    fuzz("memory", int(20_000 * share), trial, soak=soak)


@pytest.mark.parametrize("begun", [b"", b"\x40", struct.pack("<Q", 64), struct.pack("<QQ", 64, 32) + b"{"])
def test_what_stays_open_and_says_nothing_ends_at_its_deadline(begun: bytes) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(begun)
        begin = time.monotonic()
        with pytest.raises(WireError):
            Guard(Channel(ours)).receive(EXPECTED, "result", begin + 0.1)
        assert time.monotonic() - begin < PATIENCE_S
    ours.close()
    COUNTS["silence"] += 1


def test_no_descriptor_is_left_open_by_what_was_refused() -> None:
    """Neither the guard nor the remote calculator keeps a descriptor after the session has closed its end."""
    before, refused, kept = len(os.listdir("/proc/self/fd")), 0, []
    for k in range(50):
        ours = answered(message(Random(k)))
        guard, remote = Guard(Channel(ours)), RemoteCalculator(Channel(ours), 1.0, time.monotonic() + PATIENCE_S, 1000)
        for ask in (
            lambda guard=guard: guard.receive(EXPECTED, "result", time.monotonic() + PATIENCE_S),
            lambda remote=remote: remote.greet(time.monotonic() + PATIENCE_S),
            lambda remote=remote: remote.compute(FRAMES, ALL_PROPERTIES),
        ):
            try:
                ask()
            except (WireError, StartupError):
                refused += 1
        ours.close()
        kept.append((guard, remote))  # so that it is not the collector that closes what they opened
    assert refused > 100
    assert len(os.listdir("/proc/self/fd")) == before
