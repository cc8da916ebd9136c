"""Real HTTP servers with unusual answers, and a relay that counts bytes and can stall."""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from submissions.client.http import RetryPolicy
from submissions.requests import UploadForm

HASTY = RetryPolicy(waits_s=(0.01, 0.01, 0.01), connect_s=5, read_s=5, exchange_s=5)

Answer = Callable[[BaseHTTPRequestHandler], None]


class OddServer(ThreadingHTTPServer):
    """Gives the stated answers, and records the requests.

    Args:
        answer: writes the answer to a request.
    """

    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def _any(self) -> None:
                server.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                with suppress(ConnectionError):
                    answer(self)

            do_GET = do_POST = _any

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


@contextmanager
def odd_server(answer: Answer) -> Iterator[OddServer]:
    """The server, until the block ends."""
    with OddServer(answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def say(status: int, body: bytes = b"", **headers: str) -> Answer:
    """An ordinary answer."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return answer


def swallow(request: BaseHTTPRequestHandler) -> int:
    """The number of bytes of a body, which are read and discarded."""
    left = n_bytes = int(request.headers["Content-Length"])
    while left:
        left -= len(request.rfile.read(min(left, 1024**2)))
    return n_bytes


def form_to(url: str) -> UploadForm:
    """A form for a server that does not look at it."""
    return UploadForm(slot=secrets.token_hex(16), url=url, fields={"key": 'a"b\r\nc', "policy": "p"}, max_bytes=1024**3)


class Relay:
    """Passes bytes on to a server, and counts those that go there; from `stall_after` bytes on it keeps them."""

    def __init__(self, endpoint: str) -> None:
        parts = urlsplit(endpoint)
        self._there = (str(parts.hostname), int(parts.port or 80))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.n_bytes = 0
        self.stall_after: int | None = None
        self.stalled = threading.Event()
        self._go = threading.Event()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def stall(self, after: int) -> None:
        """Bytes after the first so many are held back."""
        self.stalled, self._go, self.stall_after = threading.Event(), threading.Event(), after

    def go_on(self) -> None:
        """Passes bytes on again; those that were held back are lost."""
        self.stall_after = None
        self._go.set()

    def close(self) -> None:
        self._go.set()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                target = socket.create_connection(self._there)
                threading.Thread(target=self._pump, args=(here, target, True), daemon=True).start()
                threading.Thread(target=self._pump, args=(target, here, False), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, counted: bool) -> None:
        with suppress(OSError), source, target:
            while data := source.recv(16 * 1024):
                if counted:
                    with self._lock:
                        self.n_bytes += len(data)
                    if self.stall_after is not None and self.n_bytes > self.stall_after:
                        go = self._go
                        self.stalled.set()
                        go.wait()
                        return  # the sender has been killed
                target.sendall(data)


@contextmanager
def relay(endpoint: str) -> Iterator[Relay]:
    """The relay, until the block ends."""
    made = Relay(endpoint)
    try:
        yield made
    finally:
        made.close()
