"""HTTP with registries of strangers: no answer may cost more time or memory than it is worth.

A time-out of a socket begins anew with each byte, in the middle of a header even. So whatever is asked is cut off by a
clock: its connection is shut from outside. Bodies of redirects and of refusals are not read at all, and nothing is
unpacked because a server says that it is packed.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Timer
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter

from judge.images.reference import is_loopback

MAX_TOKEN = 1024**2


class Session(requests.Session):
    """A session that knows no credentials but those that it is given, and follows no redirect away from TLS."""

    def __init__(self) -> None:
        super().__init__()
        self.auth = lambda request: request  # else the netrc file of whoever runs the judge would be used
        self.max_redirects = 5
        self.headers["Accept-Encoding"] = "identity"
        self._until: float | None = None
        self._handles: list[socket.socket] = []
        for scheme in ("https://", "http://"):
            self.mount(scheme, _Adapter(self._keep_handle))

    @contextmanager
    def cut_after(self, seconds: float) -> Iterator[float]:
        """Shuts every connection after so long; the end on the monotonic clock [s].

        Raises:
            Timeout: it came to that, whatever was made of a connection that ended.
        """
        until = time.monotonic() + seconds
        self._begin_anew(until)
        clock = Timer(seconds, self._cut)
        clock.daemon = True
        clock.start()
        try:
            yield until
        except (requests.RequestException, urllib3.exceptions.HTTPError):
            if time.monotonic() >= until:
                raise requests.Timeout from None
            raise
        finally:
            clock.cancel()
            clock.join()
            self._begin_anew(None)

    def _begin_anew(self, until: float | None) -> None:
        """With new connections alone, which are kept in hand where there is a clock."""
        self.close()
        while self._handles:
            self._handles.pop().close()
        self._until = until

    def _keep_handle(self, connected: socket.socket) -> None:
        """A second handle, since the first is closed while an answer is still read, and under TLS is another."""
        if self._until is None:
            return
        self._handles.append(connected.dup())
        if time.monotonic() >= self._until:  # the clock has struck between two redirects
            self._cut()

    def _cut(self) -> None:
        for handle in list(self._handles):
            with suppress(OSError):  # it ended a moment ago
                handle.shutdown(socket.SHUT_RDWR)

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        """The answer; where it is not to be streamed, no more of its body than a token may have."""
        streamed = options.pop("stream", False)
        answer = super().send(request, stream=True, **options)
        if not streamed:
            with answer:
                body = b"".join(_bounded(answer))
            answer._content, answer._content_consumed = body, True
        return answer

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """Where an answer leads; of a redirect nothing more is read, since it may unpack to gigabytes."""
        target = super().get_redirect_target(resp)
        if target is not None:
            resp.close()
            resp._content, resp._content_consumed = b"", True
        return target

    def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
        """Leaves the credential out of a redirect to another place."""
        before, url = str(response.request.url), str(prepared_request.url)
        if "Authorization" in prepared_request.headers and self.should_strip_auth(before, url):
            del prepared_request.headers["Authorization"]
        here = is_loopback(urlsplit(before).netloc)
        if is_loopback(urlsplit(url).netloc) != here or (not here and urlsplit(url).scheme != "https"):
            raise requests.exceptions.InvalidURL("a redirect to this machine, or away from TLS")


def _bounded(answer: requests.Response) -> Iterator[bytes]:
    n_bytes = 0
    for chunk in answer.raw.stream(64 * 1024, decode_content=False):
        n_bytes += len(chunk)
        if n_bytes > MAX_TOKEN:
            raise requests.exceptions.ContentDecodingError(f"an answer of more than {MAX_TOKEN} bytes")
        yield chunk


class _Adapter(HTTPAdapter):
    """Tells `connected` of each connection that it makes."""

    def __init__(self, connected: Callable[[socket.socket], None]) -> None:
        self._connected = connected
        super().__init__()

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        """As every adapter, with pools of such connections."""
        super().init_poolmanager(*arguments, **options)
        pools = {"http": urllib3.HTTPConnectionPool, "https": urllib3.HTTPSConnectionPool}
        self.poolmanager.pool_classes_by_scheme = {
            name: _telling(pool, self._connected) for name, pool in pools.items()
        }


def _telling(pool: Any, connected: Callable[[socket.socket], None]) -> Any:
    class Connection(pool.ConnectionCls):  # type: ignore[misc]
        def _new_conn(self) -> socket.socket:
            made: socket.socket = super()._new_conn()
            connected(made)
            return made

    class Pool(pool):  # type: ignore[misc]
        ConnectionCls = Connection

    return Pool
