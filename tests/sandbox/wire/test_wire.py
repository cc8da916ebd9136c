"""The wire and its guard: what is sent comes back, and nothing else gets through."""

from __future__ import annotations

import ast
import json
import socket
import struct
import threading
import time
from importlib import resources

import numpy as np
import pytest
from ase.build import bulk
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

from sandbox.guest.wire import (
    Channel,
    Closed,
    Message,
    TimedOut,
    TooLarge,
    WireError,
    pack_header,
    parse_header,
    read_arrays,
)
from sandbox.wire.guard import AnswerShapeError, Guard, expected_result, read_failures
from sandbox.wire.remote import RemoteCalculator, read_hello
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Predictions


def pair() -> tuple[Channel, Channel, socket.socket]:
    ours, theirs = socket.socketpair()
    return Channel(ours), Channel(theirs), theirs


def send(
    channel: Channel, arrays: list[tuple[str, np.ndarray]], said: dict[str, str], deadline: float = np.inf
) -> None:
    channel.send(pack_header(arrays, said), [array for _, array in arrays], deadline)


def result_arrays(n: int = 2, total: int = 5) -> list[tuple[str, np.ndarray]]:
    return [
        ("id", np.array([7])),
        ("energy", np.arange(float(n))),
        ("forces", np.ones((total, 3))),
        ("stress", np.zeros((n, 6))),
        ("status", np.zeros(n, np.int64)),
    ]


def test_what_is_sent_comes_back() -> None:
    ours, theirs, _ = pair()
    arrays = [("b", np.array([True, False])), ("x", np.random.default_rng(0).normal(size=(3, 3))), ("i", np.array([1]))]
    send(theirs, arrays, {"op": "result", "said": "Å"})
    message = ours.receive(4096, 4096, time.monotonic() + 5)
    header = parse_header(message.header, len(message.payload) - message.data_start)
    back = read_arrays(message, header)
    assert header.metadata == {"op": "result", "said": "Å"}
    for name, array in arrays:
        np.testing.assert_array_equal(back[name], array)


def test_messages_are_safetensors_both_ways() -> None:
    arrays = result_arrays()
    packed = pack_header(arrays, {"op": "result"})[8:] + b"".join(a.tobytes() for _, a in arrays)
    for name, array in load(packed).items():
        np.testing.assert_array_equal(array, dict(arrays)[name])
    foreign = save(dict(arrays), {"op": "result"})
    (length,) = struct.unpack("<Q", foreign[:8])
    header = parse_header(foreign[8 : 8 + length], len(foreign) - 8 - length)
    assert set(header.entries) == {name for name, _ in arrays}


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


def raw(header: bytes, data: bytes = b"") -> bytes:
    return struct.pack("<QQ", 8 + len(header) + len(data), len(header)) + header + data


BAD_HEADERS = {
    "not JSON": b"{",
    "not an object": b"[]",
    "a name twice": b'{"a":%s,"a":%s}' % ((b'{"dtype":"U8","shape":[0],"data_offsets":[0,0]}',) * 2),
    "NaN": b'{"a":{"dtype":"U8","shape":[NaN],"data_offsets":[0,0]}}',
    "negative offset": b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[-1,0]}}',
    "gap": b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}',
    "overlap": b'{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},'
    b'"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}',
    "float size": b'{"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}}',
    "true as a size": b'{"a":{"dtype":"U8","shape":[true],"data_offsets":[0,1]}}',
    "huge size": b'{"a":{"dtype":"F64","shape":[9223372036854775807,2],"data_offsets":[0,8]}}',
    "unknown dtype": b'{"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}',
    "dtype is a list": b'{"a":{"dtype":["U8"],"shape":[1],"data_offsets":[0,1]}}',
    "one key more": b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":1}}',
    "metadata of numbers": b'{"__metadata__":{"a":1}}',
    "deep nesting": b"[" * 100_000,
    "long number": b'{"a":{"dtype":"U8","shape":[' + b"9" * 10_000 + b'],"data_offsets":[0,1]}}',
    "not UTF-8": b'{"\xff":1}',
}


@pytest.mark.parametrize("header", BAD_HEADERS.values(), ids=BAD_HEADERS.keys())
def test_malformed_headers_are_refused(header: bytes) -> None:
    with pytest.raises(WireError):
        parse_header(header, 2)


def parse_or_refuse(header: bytes, length: int) -> None:
    try:
        parse_header(header, length)
    except WireError:
        return


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 64))
def test_any_header_is_parsed_or_refused(header: bytes, length: int) -> None:
    parse_or_refuse(header, length)


@pytest.mark.soak
@settings(max_examples=100_000, deadline=None)
@given(
    st.binary(max_size=300) | st.text(alphabet='{}[]",:0123456789aeFINS_-', max_size=300).map(str.encode),
    st.integers(0, 64),
)
def test_very_many_headers_are_parsed_or_refused(header: bytes, length: int) -> None:
    parse_or_refuse(header, length)


ENTRY = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["F64", "I64", "BOOL", "U8", "F32", ""]),
        "shape": st.lists(st.integers(-1, 1 << 50), max_size=4),
        "data_offsets": st.lists(st.integers(-1, 1 << 50), max_size=3),
    }
)


@settings(max_examples=500, deadline=None)
@given(st.dictionaries(st.sampled_from(["energy", "forces", "id", "x"]), ENTRY), st.integers(0, 64))
def test_an_accepted_header_tiles_its_bytes(stated: dict, length: int) -> None:
    try:
        header = parse_header(json.dumps(stated).encode(), length)
    except WireError:
        return
    covered = sorted((e.start, e.stop) for e in header.entries.values())
    assert sum(stop - start for start, stop in covered) == length
    message = Message(b"", bytearray(length), 0)
    for name, array in read_arrays(message, header).items():
        assert array.shape == header.entries[name].shape


def test_sizes_are_capped_before_anything_is_allocated() -> None:
    ours, _, theirs = pair()
    theirs.sendall(struct.pack("<Q", 1 << 32))
    with pytest.raises(TooLarge):
        ours.receive(4096, 4096, time.monotonic() + 5)
    ours, _, theirs = pair()
    theirs.sendall(struct.pack("<QQ", 4096, 2048) + b" " * 4088)
    with pytest.raises(TooLarge):
        ours.receive(1024, 4096, time.monotonic() + 5)


def test_text_is_no_message() -> None:
    ours, _, theirs = pair()
    theirs.sendall(b"HTTP/1.1 200 OK")
    with pytest.raises(WireError, match="do not begin") as caught:
        ours.receive(4096, 4096, time.monotonic() + 5)
    assert not isinstance(caught.value, TooLarge)


def test_one_byte_at_a_time_does_not_outlast_the_deadline() -> None:
    ours, _, theirs = pair()
    stop = threading.Event()

    def trickle() -> None:
        theirs.send(struct.pack("<Q", 1024))
        while not stop.wait(0.02):
            theirs.send(b"\x40")

    thread = threading.Thread(target=trickle)
    thread.start()
    begin = time.monotonic()
    try:
        with pytest.raises(TimedOut):
            ours.receive(1 << 20, 1 << 50, time.monotonic() + 0.3)
    finally:
        stop.set()
        thread.join()
    assert time.monotonic() - begin < 2.0


def test_a_reader_that_never_reads_does_not_hold_us() -> None:
    ours, _, _theirs = pair()
    with pytest.raises(TimedOut):
        send(ours, [("x", np.zeros(1 << 22))], {"op": "compute"}, time.monotonic() + 0.2)


def test_two_answers_to_one_question_are_refused() -> None:
    ours, _, theirs = pair()
    theirs.sendall(raw(b"{}      ") * 2)
    with pytest.raises(WireError, match="more bytes"):
        ours.receive(4096, 4096, time.monotonic() + 5)


def test_messages_larger_than_the_buffer() -> None:
    ours, theirs, _ = pair()
    big = np.arange(1 << 18, dtype=np.float64)
    thread = threading.Thread(target=send, args=(theirs, [("x", big)], {}))
    thread.start()
    message = ours.receive(4096, big.nbytes, time.monotonic() + 5)
    thread.join()
    header = parse_header(message.header, len(message.payload) - message.data_start)
    np.testing.assert_array_equal(read_arrays(message, header)["x"], big)


def test_a_closed_connection_is_told() -> None:
    ours, theirs, _ = pair()
    theirs.close()
    with pytest.raises(Closed):
        ours.receive(10, 10, time.monotonic() + 5)


@pytest.mark.parametrize(
    "failures",
    [
        *("[", "{}", "[[1]]", '[[0,"E","t"]]', '[[99,"E","t"]]', '[[1.0,"E","t"]]', '[[true,"E","t"]]', "[]"),
        *('[[6,"E","t"]]', '[[7,"E","t"]]', '[[8,"E","t"]]', '[[9,"E","t"]]'),  # for the judge alone to say
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


def test_the_guest_keeps_to_python_3_9() -> None:
    sources = [f for f in resources.files("sandbox.guest").iterdir() if f.name.endswith(".py")]
    for source in [*sources, resources.files("tasks.model").joinpath("ase_loop.py")]:
        ast.parse(source.read_text(), feature_version=(3, 9))


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


@pytest.mark.parametrize("header", ['{"secret":1}', '{"secret":{"dtype":"secret","shape":[0],"data_offsets":[0,0]}}'])
def test_what_is_said_of_a_broken_message_holds_nothing_of_it(header: str) -> None:
    with pytest.raises(WireError) as caught:
        parse_header(header.encode(), 0)
    assert "secret" not in str(caught.value)


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
