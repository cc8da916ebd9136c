"""The guard accepts an answer with exactly the expected arrays, and nothing else."""

from __future__ import annotations

import json
import struct
import threading
import time

import numpy as np
import pytest
from ase.build import bulk

from sandbox.guest.wire import (
    TooLarge,
    WireError,
    pack_header,
    parse_header,
    read_arrays,
)
from sandbox.wire.guard import AnswerShapeError, Guard, expected_result, read_failures
from sandbox.wire.hello import read_hello
from sandbox.wire.remote import RemoteCalculator
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Predictions
from tests.sandbox.wire.channels import pair, result_arrays, send


def test_guard_accepts_what_was_asked_for_and_remembers_it() -> None:
    ours, theirs, _ = pair()
    guard = Guard(ours)
    expected = expected_result(2, 5, ("energy", "forces", "stress"))
    for _ in range(2):
        send(theirs, result_arrays(), {"op": "result"})
        answer = guard.receive(expected, "result", time.monotonic() + 5)
        assert answer.arrays["energy"].tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda a: a[1:], WireError),
        (lambda a: [*a, ("more", np.zeros(0))], WireError),
        (lambda a: [a[0], ("energy", np.zeros(3)), *a[2:]], TooLarge),
        (lambda a: [a[0], ("energy", np.zeros((2, 1))), *a[2:]], AnswerShapeError),
        (lambda a: [a[0], ("energy", np.zeros(2, np.int64)), *a[2:]], WireError),
    ],
)
def test_guard_refuses_other_arrays(change, error) -> None:
    ours, theirs, _ = pair()
    send(theirs, change(result_arrays()), {"op": "result"})
    with pytest.raises(error):
        Guard(ours).receive(expected_result(2, 5, ("energy", "forces", "stress")), "result", time.monotonic() + 5)


@pytest.mark.parametrize(
    "failures",
    [
        *("[", "{}", "[[1]]", '[[0,"E","t"]]', '[[99,"E","t"]]', '[[1.0,"E","t"]]', '[[true,"E","t"]]', "[]"),
        *('[[6,"E","t"]]', '[[7,"E","t"]]', '[[8,"E","t"]]', '[[9,"E","t"]]'),  # causes that only the judge may state
        *(json.dumps([[1, "E", "t" * 3000]]), json.dumps([[1, "E", "t"]] * 17), '[[1,"E",null]]'),
    ],
)
def test_malformed_failures_are_refused(failures: str) -> None:
    with pytest.raises(WireError):
        read_failures({"failures": failures}, np.array([0, 1]))


def test_failures_are_read() -> None:
    read = read_failures({"failures": '[[2,"NotImplementedError","no U"]]'}, np.array([0, 1, 1]))
    assert {i: (e.cause, e.text) for i, e in read.items()} == {
        1: (Cause.UNSUPPORTED, "no U"),
        2: (Cause.UNSUPPORTED, "no U"),
    }
    with pytest.raises(WireError):
        read_failures({"failures": '[[2,"E","t"]]'}, np.array([-1]))
    with pytest.raises(WireError):
        read_failures({"failures": '[[2,"E","t"]]'}, np.array([2]))


def test_a_known_header_before_fewer_bytes_is_refused() -> None:
    ours, theirs, sock = pair()
    guard, expected = Guard(ours), expected_result(2, 5, ("energy", "forces", "stress"))
    send(theirs, result_arrays(), {"op": "result"})
    guard.receive(expected, "result", time.monotonic() + 5)
    packed = pack_header(result_arrays(), {"op": "result"})
    data = b"".join(array.tobytes() for _, array in result_arrays())[:-8]
    sock.sendall(struct.pack("<Q", len(packed) - 8 + len(data)) + packed[8:] + data)
    with pytest.raises(WireError):
        guard.receive(expected, "result", time.monotonic() + 5)


def test_questions_cannot_be_answered_before_they_are_asked() -> None:
    ours, theirs, _ = pair()
    remote = RemoteCalculator(ours, 5.0, time.monotonic() + 60, 1000)
    ids = []
    for _ in range(3):
        thread = threading.Thread(target=remote.echo, args=(8,))
        thread.start()
        message = theirs.receive(4096, 4096)
        arrays = read_arrays(message, parse_header(message.header, len(message.payload) - message.data_start))
        send(theirs, [("id", arrays["id"]), ("bytes", arrays["bytes"])], {"op": "echo"})
        thread.join()
        ids.append(int(arrays["id"][0]))
    assert len({ids[1] - ids[0], ids[2] - ids[1]}) == 2


def test_a_hello_is_made_harmless() -> None:
    hello = read_hello(
        {
            "calculator": "\x1b]0;x\x07m:f",
            "properties": "energy",
            "device": "\ud800",
            "versions": '{"a\\u001b":"\\ud800"}',
        }
    )
    assert hello.calculator == "�]0;x�m:f"
    assert hello.device == "�"
    assert hello.versions == {"a�": "�"}
    json.dumps(hello).encode()


def test_absurd_numbers_are_failures_and_never_reach_a_sum() -> None:
    frames = Frames.from_atoms([bulk("Cu"), bulk("Al"), bulk("Ni")])
    answer = Predictions.checked(
        frames, np.array([1.0, 1e200, 2.0]), np.array([[0.0] * 3] * 2 + [[-1e16, 0, 0]]), None, {}
    )
    assert answer.failure.tolist() == [0, Cause.NON_FINITE, Cause.NON_FINITE]
    assert np.isnan(answer.energy[1:]).all()
