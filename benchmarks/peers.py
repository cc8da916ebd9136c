"""The peers that the wire is compared with, each in its own process: `python -m benchmarks.peers NAME …`.

`echo PATH REQUEST ANSWER FLAGS`: reads REQUEST bytes and answers with ANSWER bytes, over a Unix socket: the floor.
`socketio PATH ATOMS`: ASE's own client of the i-PI protocol with the calculator that costs nothing.
"""

from __future__ import annotations

import socket
import sys

from ase.calculators.socketio import SocketClient

from benchmarks.frames import copper
from benchmarks.free.calculator import Free


def receive(sock: socket.socket, buffer: bytearray, flags: int) -> bool:
    """Fills `buffer`. It sleeps while it waits, or polls with MSG_DONTWAIT. False once the other end has closed."""
    view, missing = memoryview(buffer), len(buffer)
    while missing:
        try:
            count = sock.recv_into(view, missing, flags)
        except BlockingIOError:
            continue
        if not count:
            return False
        missing -= count
        view = view[count:]
    return True


def echo(path: str, request: int, answer: int, flags: int) -> None:
    """Answers every `request` bytes with `answer` bytes until the other end closes."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(path)
    reply = bytes(answer)
    buffer = bytearray(request)
    while receive(sock, buffer, flags):
        sock.sendall(reply)


def socketio(name: str, n_atoms: int) -> None:
    """Serves the calculator that costs nothing to ASE's SocketIOCalculator."""
    atoms = copper(n_atoms)
    atoms.calc = Free()
    SocketClient(unixsocket=name).run(atoms, use_stress=True)


if __name__ == "__main__":
    if sys.argv[1] == "echo":
        echo(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        socketio(sys.argv[2], int(sys.argv[3]))
