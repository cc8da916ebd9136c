"""Submissions that break the protocol: servers of their own, so that each byte of hello and answer is theirs to choose.

`python3 protocol.py NAME` connects and calls the function of that name. Where a function has several ways to
misbehave, the variable LAMBENCH_MAX_ATOMS_PER_BATCH, which the judge sets, says which, counted from 1. Standard
library alone, so that a start takes no time; one calculator at the end misbehaves behind the guest's back.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

HELLO = {"op": "hello", "protocol": "1", "calculator": "hostile", "properties": "energy,forces"}
SIZES = {"I64": 8, "F64": 8, "U8": 1, "BOOL": 1}
# In text an escape sequence that clears a terminal, a line's end, a mark that turns text around, a bell.
ESCAPES = "\x1b[2J\x1b]0;owned\x07\r\nfirst\u202elast\x00"


class Question(NamedTuple):
    """What the judge asked: how many structures and atoms, the positions' bytes, and the id's."""

    frames: int
    atoms: int
    positions: bytes
    id: bytes


# Name, dtype, shape and bytes.
Array = tuple[str, str, list[int], bytes]


def connect() -> socket.socket:
    """A connection to the judge."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(os.environ["LAMBENCH_SOCKET"])
    return connection


def message(header: bytes, data: bytes = b"") -> bytes:
    """A message of that header and that data, its lengths as they should be."""
    return struct.pack("<QQ", 8 + len(header) + len(data), len(header)) + header + data


def stated(metadata: dict[str, str], arrays: Sequence[Array]) -> dict[str, Any]:
    """The header of such arrays, one behind the other."""
    header: dict[str, Any] = {"__metadata__": metadata}
    start = 0
    for name, dtype, shape, content in arrays:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, start + len(content)]}
        start += len(content)
    return header


def packed(metadata: dict[str, str], arrays: Sequence[Array] = ()) -> bytes:
    """A message as it should be."""
    return message(json.dumps(stated(metadata, arrays)).encode(), b"".join(content for *_, content in arrays))


def read(connection: socket.socket, count: int) -> bytes:
    """So many bytes; ends the program where the judge has left."""
    parts = []
    while count:
        part = connection.recv(min(count, 1 << 20))
        if not part:
            raise SystemExit(0)
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def receive(connection: socket.socket) -> Question:
    """The next question; ends the program at the judge's bye."""
    (length,) = struct.unpack("<Q", read(connection, 8))
    whole = read(connection, length)
    (size,) = struct.unpack("<Q", whole[:8])
    header = json.loads(whole[8 : 8 + size])
    if header["__metadata__"]["op"] != "compute":
        raise SystemExit(0)
    data = {name: whole[8 + size :][slice(*e["data_offsets"])] for name, e in header.items() if name != "__metadata__"}
    return Question(len(data["n_atoms"]) // 8, len(data["numbers"]) // 8, data["positions"], data["id"])


def zeros(question: Question) -> list[Array]:
    """The answer that everything is zero."""
    return [
        ("id", "I64", [1], question.id),
        ("energy", "F64", [question.frames], bytes(8 * question.frames)),
        ("forces", "F64", [question.atoms, 3], bytes(24 * question.atoms)),
        ("status", "I64", [question.frames], bytes(8 * question.frames)),
    ]


def answer(question: Question, **metadata: str) -> bytes:
    """A proper message that everything is zero."""
    return packed({"op": "result", **metadata}, zeros(question))


def way() -> int:
    """In which of its ways a function should misbehave, from 0."""
    return int(os.environ["LAMBENCH_MAX_ATOMS_PER_BATCH"]) - 1


def greeted() -> tuple[socket.socket, Question]:
    """A connection after a proper hello, and the first question."""
    connection = connect()
    connection.sendall(packed(HELLO))
    return connection, receive(connection)


def wait_for_end(connection: socket.socket) -> None:
    """Until the judge has left."""
    while connection.recv(1 << 16):
        pass


def send_and_wait(broken: Callable[[Question], bytes]) -> None:
    """Answers the first question with `broken`, and waits for what the judge does."""
    connection, question = greeted()
    connection.sendall(broken(question))
    wait_for_end(connection)


def altered(question: Question, name: str, **fields: Any) -> bytes:
    """An answer whose header states something else of the array `name`."""
    arrays = zeros(question)
    header = stated({"op": "result"}, arrays)
    header[name].update(fields)
    return message(json.dumps(header).encode(), b"".join(content for *_, content in arrays))


def replaced(question: Question, old: str, new: str) -> bytes:
    """An answer in whose header the text `old` stands as `new`."""
    arrays = zeros(question)
    text = json.dumps(stated({"op": "result"}, arrays))
    if old not in text:
        raise ValueError(old)
    return message(text.replace(old, new).encode(), b"".join(content for *_, content in arrays))


def marker(question: Question) -> str:
    """The file that a judge would make that unpickles: named by the structure, so that each trial has its own."""
    return "/tmp/lambench-unpickled-" + question.positions[:8].hex()


def pickled(path: str) -> bytes:
    """A pickle, protocol 0, that makes the file `path` when it is loaded: posix.system(': > path')."""
    return b"cposix\nsystem\n(S': > " + path.encode() + b"'\ntR."


def pickle_for_an_answer() -> None:
    """A pickle: instead of a message, in place of the arrays, in place of the header, and as the text of a failure."""

    def broken(question: Question) -> bytes:
        payload = pickled(marker(question))
        failures = json.dumps([[1, "Error", payload.decode()]])
        failed = [*zeros(question)[:3], ("status", "I64", [question.frames], struct.pack("<q", 1) * question.frames)]
        return [
            payload,
            struct.pack("<Q", len(payload)) + payload,
            message(payload),
            packed({"op": "result", "failures": failures}, failed),
        ][way()]

    send_and_wait(broken)


def header_is_no_json() -> None:
    """Bytes that are no text, text that is no JSON, JSON nested a hundred thousand deep, a list, no metadata."""
    send_and_wait(
        lambda question: message(
            [b"\xff" * 64, b"{" * 8, b"[" * 100_000, b'["__metadata__"]', b'{"__metadata__":[]}'][way()]
        )
    )


def names_given_twice() -> None:
    """An array named twice, and the metadata named twice."""
    energy = '"energy": {"dtype": "F64", "shape": [1], "data_offsets": [8, 16]}'
    send_and_wait(
        lambda question: [
            replaced(question, energy, f"{energy}, {energy}"),
            replaced(question, '{"__metadata__"', '{"__metadata__": {}, "__metadata__"'),
        ][way()]
    )


def numbers_that_are_none() -> None:
    """NaN, infinity, 1e999, a negative length, a fraction, true, and a number of four thousand digits as a length."""
    lengths = ["NaN", "-Infinity", "1e999", "-1", "1.0", "true", "9" * 4000]
    send_and_wait(lambda question: replaced(question, '"shape": [1]', f'"shape": [{lengths[way()]}]'))


def offsets() -> None:
    """Arrays that overlap, lie behind the message's end, before its begin, leave a gap, run backwards."""
    places = [[0, 8], [1 << 40, (1 << 40) + 8], [-8, 0], [12, 20], [16, 8]]
    send_and_wait(lambda question: altered(question, "energy", data_offsets=places[way()]))


def types_and_shapes() -> None:
    """Another dtype, one of the protocol and one that is not; an array too few, one too many; another shape."""

    def broken(question: Question) -> bytes:
        arrays = zeros(question)
        return [
            altered(question, "energy", dtype="I64"),
            altered(question, "energy", dtype="O"),
            packed({"op": "result"}, arrays[:-1]),
            packed({"op": "result"}, [*arrays, ("more", "U8", [0], b"")]),
            altered(question, "forces", shape=[3, question.atoms]),
        ][way()]

    send_and_wait(broken)


def enormous() -> None:
    """A message of 2^40 bytes; a header of so many; an answer one byte too long; a header of a million keys."""

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

    def broken(question: Question) -> bytes:
        keys: dict[str, Any] = {str(n): {} for n in range(count)}
        names = dict.fromkeys(map(str, range(count)), "")
        return [message(json.dumps(keys).encode()), packed({"op": "result", **names})][way()]

    send_and_wait(broken)


def one_byte_at_a_time() -> None:
    """An answer, or a hello, of which a byte comes every twentieth of a second."""
    if way() == 0:
        connection, question = greeted()
        slowly = answer(question)
    else:
        connection, slowly = connect(), packed({**HELLO, "device": "x" * 2000})
    for byte in slowly:
        connection.sendall(bytes([byte]))
        time.sleep(0.05)


def answer_to_another_id() -> None:
    """The right answer under another id, and the second question answered under the id of the first."""
    connection, question = greeted()
    if way() == 1:
        connection.sendall(answer(question))
        receive(connection)
    else:
        (number,) = struct.unpack("<q", question.id)
        question = question._replace(id=struct.pack("<q", number ^ 1))
    connection.sendall(answer(question))
    wait_for_end(connection)


def answer_before_the_question() -> None:
    """An answer right behind the hello, when nothing has been asked."""
    connection = connect()
    connection.sendall(packed(HELLO) + answer(Question(1, 1, b"", bytes(8))))
    wait_for_end(connection)


def two_answers() -> None:
    """Two answers to one question, in one piece or a moment apart."""
    connection, question = greeted()
    connection.sendall(answer(question) + (answer(question) if way() == 0 else b""))
    connection.sendall(answer(question))
    wait_for_end(connection)


def hello_twice() -> None:
    """A second hello instead of the first answer."""
    connection, _ = greeted()
    connection.sendall(packed(HELLO))
    wait_for_end(connection)


def impossible_hello() -> None:
    """Another protocol, a million elements, too many, impossible ones, no energy, another operation, no versions."""
    said: list[dict[str, str]] = [
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
        connection.sendall(packed(said[way()]))
        wait_for_end(connection)
    except OSError:
        return  # the judge has left in the middle of it


def escape_sequences() -> None:
    """A hello, or a failed start, whose every text would move a terminal's cursor."""
    connection = connect()
    versions = json.dumps({ESCAPES: ESCAPES, "long" * 1000: "x" * 1000})
    texts = {"calculator": ESCAPES + "x" * 1000, "device": ESCAPES, "versions": versions}
    failed = {"op": "failed", "protocol": "1", "class": ESCAPES, "text": ESCAPES}
    connection.sendall(packed({**HELLO, **texts} if way() == 0 else failed))
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

    def broken(question: Question) -> bytes:
        failed = [*zeros(question)[:3], ("status", "I64", [question.frames], struct.pack("<q", 1) * question.frames)]
        return packed({"op": "result", "failures": json.dumps(ways[way()])}, failed)

    send_and_wait(broken)


def second_connection() -> None:
    """Connects again at once; answers 1 where anything came over the second connection, else 0."""
    connection, other = connect(), socket.socket(socket.AF_UNIX)
    reached = other.connect_ex(os.environ["LAMBENCH_SOCKET"]) == 0
    connection.sendall(packed(HELLO))
    while True:
        question = receive(connection)
        heard = b""
        if reached:
            other.setblocking(False)
            try:
                other.sendall(packed(HELLO))
                heard = other.recv(1)
            except OSError:
                heard = b""
        arrays = zeros(question)
        arrays[1] = ("energy", "F64", [1], struct.pack("<d", float(bool(heard))))
        connection.sendall(packed({"op": "result"}, arrays))


def reconnects() -> None:
    """Closes after the first answer and connects anew; its log tells whether that was refused."""
    connection, question = greeted()
    connection.sendall(answer(question))
    connection.close()
    for _ in range(20):
        try:
            connect().sendall(packed(HELLO))
        except OSError:
            time.sleep(0.01)
        else:
            raise SystemExit("connected anew")
    raise SystemExit("refused twenty times")


def never_reads() -> None:
    """Says hello and takes no byte of what is asked."""
    connection = connect()
    connection.sendall(packed(HELLO))
    time.sleep(3600)


def sleeps() -> None:
    """Never says hello."""
    print("asleep", flush=True)
    time.sleep(3600)


class BesideTheGuest:
    """A calculator that answers itself over the guest's connection, with the id found in the guest's memory."""

    implemented_properties = ("energy", "forces")

    def __init__(self) -> None:
        self.results: dict[str, Any] = {}

    def calculate(self, atoms: Any, properties: Any, changes: Any) -> None:
        """Sends the answer 0, then leaves the guest to send the answer 1."""
        frame: Any = sys._getframe()
        while "arrays" not in frame.f_locals or "id" not in frame.f_locals["arrays"]:
            frame = frame.f_back
        identity = frame.f_locals["arrays"]["id"].tobytes()
        guests_connection().sendall(answer(Question(1, len(atoms), b"", identity)))
        self.results = {"energy": 1.0, "forces": [[0.0, 0.0, 0.0]] * len(atoms)}


def guests_connection() -> socket.socket:
    """The guest's own connection, found among the open files."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink("/proc/self/fd/" + name).startswith("socket:"):
                return socket.socket(fileno=os.dup(int(name)))
        except OSError:
            continue
    raise RuntimeError("no socket")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
