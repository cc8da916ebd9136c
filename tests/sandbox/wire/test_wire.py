"""The wire: arrays that are sent come back, within the limits of size and time."""

from __future__ import annotations

import ast
import struct
import threading
import time
from importlib import resources

import numpy as np
import pytest
from safetensors.numpy import load, save

from sandbox.guest.wire import (
    Closed,
    TimedOut,
    TooLarge,
    WireError,
    pack_header,
    parse_header,
    read_arrays,
)
from tests.sandbox.wire.channels import pair, result_arrays, send


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


def raw(header: bytes, data: bytes = b"") -> bytes:
    return struct.pack("<QQ", 8 + len(header) + len(data), len(header)) + header + data


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


def test_the_guest_keeps_to_python_3_9() -> None:
    sources = [f for f in resources.files("sandbox.guest").iterdir() if f.name.endswith(".py")]
    for source in [*sources, resources.files("tasks.model").joinpath("ase_loop.py")]:
        ast.parse(source.read_text(), feature_version=(3, 9))
