"""Servers whose messages are correct, but sent too slowly, too often, in the wrong order or over another connection.

Started like those of `protocol.py`. The calculator at the end misbehaves inside the guest's own process.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import time
from typing import Any

from messages import HELLO, Question, answer, connect, greeted, packed, receive, wait_for_end, way, zeros


def one_byte_at_a_time() -> None:
    """Sends an answer, or a hello, at one byte every twentieth of a second."""
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


def second_connection() -> None:
    """Connects again at once; answers 1 if a byte came over the second connection, else 0."""
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
    """Closes after the first answer and connects again; its log says whether that was refused."""
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
    """Says hello and reads no byte of its question."""
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
