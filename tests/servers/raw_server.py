"""A server on loopback whose HTTP answers a test writes byte by byte, valid or not."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

Speak = Callable[[socket.socket, str, Event], None]


@contextmanager
def raw_server(speak: Speak) -> Iterator[tuple[str, list[str]]]:
    """A server that answers each request with `speak` on a new connection, and the list of its requests."""
    over, asked, threads = Event(), [], []

    def answer(connection: socket.socket) -> None:
        with connection:
            request = b""
            while b"\r\n\r\n" not in request and (more := connection.recv(65536)):
                request += more
            asked.append(request.decode())
            try:
                speak(connection, request.decode(), over)
            except OSError:
                return

    def listen(listening: socket.socket) -> None:
        while not over.is_set():
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threads.append(Thread(target=answer, args=(connection,), daemon=True))
            threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listener = Thread(target=listen, args=(listening,), daemon=True)
        listener.start()
        try:
            yield f"127.0.0.1:{listening.getsockname()[1]}", asked
        finally:
            over.set()
            listening.shutdown(socket.SHUT_RDWR)
            for thread in (listener, *threads):
                thread.join()


def drop_by_drop(before: bytes, drops: bytes) -> Speak:
    def speak(connection: socket.socket, _: str, over: Event) -> None:
        connection.sendall(before)
        for drop in drops:
            if over.wait(0.02):
                return
            connection.sendall(bytes([drop]))

    return speak
