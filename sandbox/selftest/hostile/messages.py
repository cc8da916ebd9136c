"""Messages of the protocol, proper and broken, and the connection to the judge that the servers of `protocol.py` use.

Standard library alone, so that a start takes no time.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

HELLO = {"op": "hello", "protocol": "1", "calculator": "hostile", "properties": "energy,forces"}
SIZES = {"I64": 8, "F64": 8, "U8": 1, "BOOL": 1}
# A text with an escape sequence that clears a terminal, a line end, a mark that reverses text, and a bell.
ESCAPES = "\x1b[2J\x1b]0;owned\x07\r\nfirst\u202elast\x00"


class Question(NamedTuple):
    """A question of the judge: the numbers of structures and atoms, and the bytes of positions and id."""

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
    """A message of that header and that data, with correct lengths."""
    return struct.pack("<QQ", 8 + len(header) + len(data), len(header)) + header + data


def stated(metadata: dict[str, str], arrays: Sequence[Array]) -> dict[str, Any]:
    """The header of these arrays, stored one after the other."""
    header: dict[str, Any] = {"__metadata__": metadata}
    start = 0
    for name, dtype, shape, content in arrays:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, start + len(content)]}
        start += len(content)
    return header


def packed(metadata: dict[str, str], arrays: Sequence[Array] = ()) -> bytes:
    """A correct message."""
    return message(json.dumps(stated(metadata, arrays)).encode(), b"".join(content for *_, content in arrays))


def read(connection: socket.socket, count: int) -> bytes:
    """`count` bytes; ends the program if the judge has closed the connection."""
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
    """An answer in which everything is zero."""
    return [
        ("id", "I64", [1], question.id),
        ("energy", "F64", [question.frames], bytes(8 * question.frames)),
        ("forces", "F64", [question.atoms, 3], bytes(24 * question.atoms)),
        ("status", "I64", [question.frames], bytes(8 * question.frames)),
    ]


def answer(question: Question, **metadata: str) -> bytes:
    """A correct message whose answer is zero everywhere."""
    return packed({"op": "result", **metadata}, zeros(question))


def way() -> int:
    """The index of the chosen variant, from 0."""
    return int(os.environ["LAMBENCH_MAX_ATOMS_PER_BATCH"]) - 1


def greeted() -> tuple[socket.socket, Question]:
    """A connection after a correct hello, and the first question."""
    connection = connect()
    connection.sendall(packed(HELLO))
    return connection, receive(connection)


def wait_for_end(connection: socket.socket) -> None:
    """Waits until the judge closes the connection."""
    while connection.recv(1 << 16):
        pass


def send_and_wait(variants: Callable[[Question], Sequence[bytes]]) -> None:
    """Answers the first question with the chosen one of `variants`, and waits until the judge closes the connection."""
    connection, question = greeted()
    connection.sendall(variants(question)[way()])
    wait_for_end(connection)


def failed(question: Question, failures: str) -> bytes:
    """An answer in which all frames have the first of `failures`, which are stated as JSON."""
    status = struct.pack("<q", 1) * question.frames
    arrays = [*zeros(question)[:3], ("status", "I64", [question.frames], status)]
    return packed({"op": "result", "failures": failures}, arrays)


def altered(question: Question, name: str, **fields: Any) -> bytes:
    """An answer whose header has other `fields` for the array `name`."""
    arrays = zeros(question)
    header = stated({"op": "result"}, arrays)
    header[name].update(fields)
    return message(json.dumps(header).encode(), b"".join(content for *_, content in arrays))


def replaced(question: Question, old: str, new: str) -> bytes:
    """An answer in whose header `new` replaces the text `old`."""
    arrays = zeros(question)
    text = json.dumps(stated({"op": "result"}, arrays))
    if old not in text:
        raise ValueError(old)
    return message(text.replace(old, new).encode(), b"".join(content for *_, content in arrays))


def marker(question: Question) -> str:
    """The file that an unpickling judge would create; its name depends on the structure, so each trial has its own."""
    return "/tmp/lambench-unpickled-" + question.positions[:8].hex()


def pickled(path: str) -> bytes:
    """A pickle, protocol 0, that makes the file `path` when it is loaded: posix.system(': > path')."""
    return b"cposix\nsystem\n(S': > " + path.encode() + b"'\ntR."
