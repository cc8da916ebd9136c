"""A TCP proxy before an HTTP server that falls silent after so many requests, as a network or a process does."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_REQUEST = b" HTTP/1.1\r\n"


class CuttingProxy:
    """Forwards connections to `port`, till it is told to cut them off.

    Args:
        lose_answer: the request at which it is cut still arrives, and its answer does not.
    """

    def __init__(self, port: int, lose_answer: bool) -> None:
        self._port, self._left, self._lose_answer = port, 0, lose_answer
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()
        self.endpoint = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.cut = False

    def cut_after(self, n_requests: int) -> None:
        """From now on so many requests are forwarded."""
        self._end()
        with self._lock:
            self._left, self.cut = n_requests, False

    def close(self) -> None:
        """Ends all connections, and every thread."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._end()
        for thread in self._threads:
            thread.join(timeout=20)
            assert not thread.is_alive()

    def _end(self) -> None:
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self._open.clear()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.cut:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self._port))
            with self._lock:
                self._open += [client, server]
                for pair in ((client, server, True), (server, client, False)):
                    self._threads.append(threading.Thread(target=self._forward, args=pair, daemon=True))
                    self._threads[-1].start()

    def _forward(self, source: socket.socket, sink: socket.socket, asks: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                cut = self._is_cut_by(data.count(_REQUEST) if asks else 0)
                if cut and not (asks and self._lose_answer):
                    break
                sink.sendall(data)
        self._end()

    def _is_cut_by(self, n: int) -> bool:
        with self._lock:
            self._left -= n
            self.cut = self.cut or self._left < 0
            return self.cut


@contextmanager
def cutting_proxy(port: int, lose_answer: bool = False) -> Iterator[CuttingProxy]:
    """One that is gone afterwards."""
    proxy = CuttingProxy(port, lose_answer)
    try:
        yield proxy
    finally:
        proxy.close()
