"""A connection to a server that a test can cut."""

from __future__ import annotations

import socket
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class CutLine:
    """A loopback address that forwards to another server until a test cuts the connection, or all of them.

    `cuts` holds, for the next connections in turn, after how many bytes of the server's answer they break off; further
    ones hold. A connection that is cut before its first byte has still carried the whole request.
    """

    def __init__(self, port: int) -> None:
        self.cuts: deque[int] = deque()
        self.n_cut = 0
        self._port = port
        self._is_down = threading.Event()
        self._ends: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    @contextmanager
    def down(self) -> Iterator[None]:
        """A context in which every connection breaks off, also new ones, as without a network."""
        self._is_down.set()
        for end in list(self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        try:
            yield
        finally:
            self._is_down.clear()

    def close(self) -> None:
        """Accepts no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                if self._is_down.is_set():
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._port))
                self._ends |= {client, server}
                threading.Thread(target=self._carry, args=(client, server, None), daemon=True).start()
                threading.Thread(target=self._answer, args=(server, client), daemon=True).start()

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        """Forwards the answer. The place of the cut is known before its first byte arrives."""
        with suppress(OSError):
            server.recv(1, socket.MSG_PEEK)
        after = self.cuts.popleft() if self.cuts else None
        self._carry(server, client, after)

    def _carry(self, source: socket.socket, sink: socket.socket, cut_after: int | None) -> None:
        left = cut_after
        with suppress(OSError):
            while left is None or left > 0:
                data = source.recv(65536 if left is None else min(left, 65536))
                if not data:
                    break
                sink.sendall(data)
                left = None if left is None else left - len(data)
            if left == 0:
                self.n_cut += 1
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
