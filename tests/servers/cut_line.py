"""A connection to a server that a test can cut."""

from __future__ import annotations

import socket
import threading
from collections import deque
from contextlib import suppress


class CutLine:
    """A loopback address that forwards to another server until a test cuts the connection.

    `cuts` holds, for the next connections in turn, after how many bytes of the server's answer they break off; further
    ones hold. A connection that is cut before its first byte has still carried the whole request.
    """

    def __init__(self, port: int) -> None:
        self.cuts: deque[int] = deque()
        self.n_cut = 0
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        """Accepts no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
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
