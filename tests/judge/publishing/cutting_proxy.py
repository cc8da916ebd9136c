"""A TCP proxy before an HTTP server that falls silent after so many requests, as a network or a process does."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_REQUEST = b" HTTP/1.1\r\n"


@dataclass
class _Round:
    """From one order to the next: a thread that is late ends the connections of its own alone.

    Args:
        left: requests that are still forwarded.
    """

    left: int
    cut: bool = False
    open: list[socket.socket] = field(default_factory=list)


class CuttingProxy:
    """Forwards connections to `port`, until it is to cut them.

    Args:
        lose_answer: the request at which it is cut still arrives, and its answer does not.
    """

    def __init__(self, port: int, lose_answer: bool) -> None:
        self._port, self._lose_answer = port, lose_answer
        self._lock = threading.Lock()
        self._round = _Round(0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()
        self.endpoint = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    @property
    def cut(self) -> bool:
        """Whether the connections were cut since the last order."""
        return self._round.cut

    def cut_after(self, n_requests: int) -> None:
        """From now on so many requests are forwarded, on connections that begin now."""
        before, self._round = self._round, _Round(n_requests)
        self._end(before)

    def close(self) -> None:
        """Ends all connections, and every thread."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._end(self._round)
        for thread in self._threads:
            thread.join(timeout=20)
            assert not thread.is_alive()

    def _end(self, turn: _Round) -> None:
        with self._lock:
            _shut(turn.open)
            turn.open.clear()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            turn = self._round
            if turn.cut:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self._port))
            with self._lock:
                turn.open += [client, server]
                for pair in ((client, server, True), (server, client, False)):
                    self._threads.append(threading.Thread(target=self._forward, args=(turn, *pair), daemon=True))
                    self._threads[-1].start()

    def _forward(self, turn: _Round, source: socket.socket, sink: socket.socket, asks: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                cut = self._is_cut_by(turn, data.count(_REQUEST) if asks else 0)
                if cut and not (asks and self._lose_answer):
                    break
                sink.sendall(data)
        if turn.cut:
            self._end(turn)
        else:  # closed by one of the two: no other connection hangs on it
            _shut((source, sink))

    def _is_cut_by(self, turn: _Round, n: int) -> bool:
        with self._lock:
            turn.left -= n
            turn.cut = turn.cut or turn.left < 0
            return turn.cut


def _shut(connections: Iterable[socket.socket]) -> None:
    for connection in connections:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def cutting_proxy(port: int, lose_answer: bool = False) -> Iterator[CuttingProxy]:
    """One that is gone afterwards."""
    proxy = CuttingProxy(port, lose_answer)
    try:
        yield proxy
    finally:
        proxy.close()
