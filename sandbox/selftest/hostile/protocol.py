"""Servers whose messages break the protocol: they choose each byte of hello and answer.

`python3 protocol.py NAME` connects and calls the function of that name. If a function has several variants, the
variable LAMBENCH_MAX_ATOMS_PER_BATCH, which the judge sets, chooses one, counted from 1.
"""

from __future__ import annotations

import json
import struct
import sys
from typing import Any

from messages import (
    ESCAPES,
    HELLO,
    Question,
    altered,
    answer,
    connect,
    failed,
    greeted,
    marker,
    message,
    packed,
    pickled,
    receive,
    replaced,
    send_and_wait,
    wait_for_end,
    way,
    zeros,
)


def pickle_for_an_answer() -> None:
    """A pickle: instead of a message, in place of the arrays, in place of the header, and as the text of a failure."""

    def variants(question: Question) -> list[bytes]:
        payload = pickled(marker(question))
        return [
            payload,
            struct.pack("<Q", len(payload)) + payload,
            message(payload),
            failed(question, json.dumps([[1, "Error", payload.decode()]])),
        ]

    send_and_wait(variants)


def header_is_no_json() -> None:
    """Bytes that are no text, text that is no JSON, JSON with 100,000 levels, a list, no metadata."""
    headers = [b"\xff" * 64, b"{" * 8, b"[" * 100_000, b'["__metadata__"]', b'{"__metadata__":[]}']
    send_and_wait(lambda question: [message(header) for header in headers])


def names_given_twice() -> None:
    """An array named twice, and the metadata named twice."""
    energy = '"energy": {"dtype": "F64", "shape": [1], "data_offsets": [8, 16]}'
    send_and_wait(
        lambda question: [
            replaced(question, energy, f"{energy}, {energy}"),
            replaced(question, '{"__metadata__"', '{"__metadata__": {}, "__metadata__"'),
        ]
    )


def numbers_that_are_none() -> None:
    """NaN, infinity, 1e999, a negative length, a fraction, true, and a number of four thousand digits as a length."""
    lengths = ["NaN", "-Infinity", "1e999", "-1", "1.0", "true", "9" * 4000]
    send_and_wait(lambda question: [replaced(question, '"shape": [1]', f'"shape": [{n}]') for n in lengths])


def offsets() -> None:
    """Arrays that overlap, lie behind the message's end, before its begin, leave a gap, run backwards."""
    places = [[0, 8], [1 << 40, (1 << 40) + 8], [-8, 0], [12, 20], [16, 8]]
    send_and_wait(lambda question: [altered(question, "energy", data_offsets=place) for place in places])


def types_and_shapes() -> None:
    """Another dtype, one of the protocol and one that is not; an array too few, one too many; another shape."""

    def variants(question: Question) -> list[bytes]:
        arrays = zeros(question)
        return [
            altered(question, "energy", dtype="I64"),
            altered(question, "energy", dtype="O"),
            packed({"op": "result"}, arrays[:-1]),
            packed({"op": "result"}, [*arrays, ("more", "U8", [0], b"")]),
            altered(question, "forces", shape=[3, question.atoms]),
        ]

    send_and_wait(variants)


def enormous() -> None:
    """A message of 2^40 bytes; a header of 2^40 bytes; an answer one byte too long; a header of a million keys."""

    def broken(question: Question) -> bytes:
        good = answer(question)
        one_more = packed({"op": "result"}, [*zeros(question), ("more", "U8", [1], b"\0")])
        keys = b"{" + b",".join(b'"%d":{}' % number for number in range(1_000_000)) + b"}"
        return [
            struct.pack("<Q", 1 << 40) + bytes(1 << 16),
            struct.pack("<QQ", len(good) - 8, 1 << 40) + good[16:],
            one_more,
            message(keys),
        ][way()]

    connection, question = greeted()
    try:
        connection.sendall(broken(question))
        wait_for_end(connection)
    except OSError:
        return  # the judge has left in the middle of it


def as_many_keys_as_fit() -> None:
    """A header below the cap that is all keys, as arrays and as metadata."""
    count = 4000

    keys: dict[str, Any] = {str(n): {} for n in range(count)}
    names = dict.fromkeys(map(str, range(count)), "")
    send_and_wait(lambda question: [message(json.dumps(keys).encode()), packed({"op": "result", **names})])


def impossible_hello() -> None:
    """Another protocol, a million elements, too many, impossible ones, no energy, another operation, no versions."""
    hellos: list[dict[str, str]] = [
        {**HELLO, "protocol": "2"},
        {**HELLO, "elements": ",".join(["1"] * 1_000_000)},
        {**HELLO, "elements": ",".join(["1"] * 200)},
        {**HELLO, "elements": "1,-1"},
        {**HELLO, "elements": "9" * 4000},
        {**HELLO, "properties": "forces"},
        {**HELLO, "op": "result"},
        {**HELLO, "versions": "[" * 20_000},
    ]
    connection = connect()
    try:
        connection.sendall(packed(hellos[way()]))
        wait_for_end(connection)
    except OSError:
        return  # the judge has left in the middle of it


def escape_sequences() -> None:
    """A hello, or a failed start, whose every text would move a terminal's cursor."""
    connection = connect()
    versions = json.dumps({ESCAPES: ESCAPES, "long" * 1000: "x" * 1000})
    texts = {"calculator": ESCAPES + "x" * 1000, "device": ESCAPES, "versions": versions}
    not_started = {"op": "failed", "protocol": "1", "class": ESCAPES, "text": ESCAPES}
    connection.sendall(packed({**HELLO, **texts} if way() == 0 else not_started))
    connection.sendall(answer(receive(connection)))
    wait_for_end(connection)


def impossible_failures() -> None:
    """A failure that is not stated, of a cause that a guest may not state, seventeen of them, a long text, no list."""
    ways: list[Any] = [
        [],
        [[8, "Error", "out of time"]],  # Cause.OVER_TIME: would not be held against the model
        [[0, "Error", "none"]],
        [[True, "Error", "a cause that is no number"]],
        [[1, "Error", str(n)] for n in range(17)],
        [[1, "Error", "x" * 2049]],
        [[1, "x" * 129, ""]],
        {"1": "no list"},
    ]
    send_and_wait(lambda question: [failed(question, json.dumps(stated)) for stated in ways])


if __name__ == "__main__":
    globals()[sys.argv[1]]()
