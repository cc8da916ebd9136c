"""HTTP requests with bounds on time, bytes, redirects and hosts, for servers that may be hostile.

The timeout of a socket starts again with each byte, even in the middle of a header. So a timer bounds each exchange as
a whole: at its end it shuts the connections. The bodies of redirects are not read.
"""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Timer
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter

MAX_UNSTREAMED = 1024**2
MAX_REDIRECTS = 5
_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052


class RedirectRefused(requests.exceptions.InvalidURL):
    """A redirect leads where it is not followed."""


class _PrivateAddress(Exception):
    """A host has an address that only this machine's own network has. Not an OSError, which would be tried again."""


class InvalidAnswer(requests.RequestException):
    """An answer, or an address or a credential in it, is not as HTTP demands."""


class AnswerTooLarge(requests.RequestException):
    """An answer has more bytes than are allowed."""


class BoundedSession(requests.Session):
    """A session that sends only the credentials that it is given.

    Args:
        same_host: a redirect is followed only on the same host, by the same scheme. Else it may lead to another host,
            but neither away from TLS nor to this machine, and the credential is left out.
        private: `HOST` or `HOST:PORT` of those that may have addresses which are not public: private, link-local or
            others. None: all may. A proxy that the environment names resolves names itself, so it is not checked.

    Raises (all methods):
        requests.RequestException: `RedirectRefused`, `InvalidAnswer` and `AnswerTooLarge` among them.
    """

    def __init__(self, *, same_host: bool, private: Collection[str] | None = None) -> None:
        super().__init__()
        self.auth = lambda request: request  # else the user's netrc file would be used
        self.max_redirects = MAX_REDIRECTS
        self.headers["Accept-Encoding"] = "identity"
        self._same_host = same_host
        self._until: float | None = None
        self._done_by: float | None = None
        self._is_cut = False
        self._handles: list[socket.socket] = []
        for scheme in ("https://", "http://"):
            self.mount(scheme, _Adapter(self._keep_handle, private))

    @contextmanager
    def cut_after(self, seconds: float) -> Iterator[None]:
        """Shuts every connection after so many seconds.

        Raises:
            requests.Timeout: the time is over. A connection that was shut may look like one that ended by itself.
        """
        until = time.monotonic() + seconds
        self._renew_connections(until)
        clock = Timer(seconds, self._cut)
        clock.daemon = True
        clock.start()
        too_late = requests.Timeout(f"not done after {seconds:.0f} s")
        try:
            yield
        except requests.RequestException:
            if self._is_cut or time.monotonic() >= until:
                raise too_late from None
            raise
        else:
            if time.monotonic() >= until:
                raise too_late
        finally:
            clock.cancel()
            clock.join()
            self._renew_connections(None)

    @contextmanager
    def cut_unless_done(self, seconds: float) -> Iterator[None]:
        """Shuts every connection if the block takes longer than so many seconds; inside `cut_after`, which ends then.

        Raises:
            requests.Timeout: it took longer.
        """
        clock = Timer(seconds, self._cut)
        clock.daemon = True
        clock.start()
        self._done_by = time.monotonic() + seconds
        try:
            yield
        finally:
            self._done_by = None
            clock.cancel()
            clock.join()
        if self._is_cut:
            raise requests.Timeout(f"not done after {seconds:.0f} s")

    def _renew_connections(self, until: float | None) -> None:
        """Closes all connections. While a timer runs (`until`), new ones are remembered, so that it can shut them."""
        self.close()
        while self._handles:
            self._handles.pop().close()
        self._until, self._is_cut = until, False

    def _keep_handle(self, connection: socket.socket) -> None:
        """Keeps a second handle: the first may be closed while an answer is read, and TLS wraps it in another."""
        if self._until is None:
            return
        self._handles.append(connection.dup())
        if self._is_cut or time.monotonic() >= self._until:  # the timer ended while the connection was made
            self._cut()

    def _cut(self) -> None:
        self._is_cut = True
        for handle in list(self._handles):
            with suppress(OSError):  # it ended a moment ago
                handle.shutdown(socket.SHUT_RDWR)

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        """The answer; unless it is streamed, its body has at most `MAX_UNSTREAMED` bytes."""
        if self._is_cut or (self._until is not None and time.monotonic() >= self._until):
            raise requests.Timeout("the time is over")
        streamed = options.pop("stream", False)
        if self._done_by is not None:
            options["timeout"] = _connecting_within(self._done_by - time.monotonic(), options.get("timeout"))
        try:
            answer = super().send(request, stream=True, **options)
        except _PrivateAddress as refused:
            raise RedirectRefused(str(refused)) from None
        except requests.RequestException:
            raise
        except ValueError as error:  # of a redirect's address, or of a token that no header can hold
            raise InvalidAnswer(error) from error
        if not streamed:
            with answer:
                body = read_body(answer, MAX_UNSTREAMED)
            answer._content, answer._content_consumed = body, True
            answer.encoding = "utf-8"  # a stated one may be punycode, which takes long
        return answer

    def resolve_redirects(self, *arguments: Any, **options: Any) -> Iterator[requests.Response]:  # type: ignore[override]
        """The answers along a redirect; none if the caller does not follow redirects."""
        return iter(()) if options.pop("yield_requests", False) else super().resolve_redirects(*arguments, **options)

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """The target of a redirect. Its body is not read: it might unpack to gigabytes."""
        target = super().get_redirect_target(resp)
        if target is not None:
            resp.close()
            resp._content, resp._content_consumed = b"", True
        return target

    def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
        """Removes the credential from a redirect to another host.

        Raises:
            RedirectRefused: the redirect is not followed.
        """
        before, url = str(response.request.url), str(prepared_request.url)
        if "Authorization" in prepared_request.headers and self.should_strip_auth(before, url):
            del prepared_request.headers["Authorization"]
        if self._same_host:
            if urlsplit(url)[:2] != urlsplit(before)[:2]:
                raise RedirectRefused(f"a redirect to another host, {urlsplit(url).netloc}")
            return
        is_local = is_loopback(urlsplit(before).netloc)
        if is_loopback(urlsplit(url).netloc) != is_local or (not is_local and urlsplit(url).scheme != "https"):
            raise RedirectRefused("a redirect to this machine, or away from TLS")


def _connecting_within(seconds: float, timeout: Any) -> tuple[float, float | None]:
    """`timeout` of requests, with less time for the connection: the timer cannot shut one that is being made."""
    connect, read = timeout if isinstance(timeout, tuple) else (timeout, timeout)
    return max(0.01, seconds if connect is None else min(connect, seconds)), read


def read_body(answer: requests.Response, max_bytes: int, *, unpack: bool = False) -> bytes:
    """The whole body of a streamed answer.

    Args:
        unpack: as `pieces`; then `max_bytes` bounds the unpacked bytes.

    Raises:
        AnswerTooLarge: it has more than `max_bytes`.
    """
    body = bytearray()
    for piece in pieces(answer, unpack=unpack):
        body += piece
        if len(body) > max_bytes:
            raise AnswerTooLarge(f"more than {max_bytes} bytes")
    return bytes(body)


def pieces(answer: requests.Response, piece_bytes: int = 64 * 1024, *, unpack: bool = False) -> Iterator[bytes]:
    """The body of a streamed answer, piece by piece.

    Args:
        unpack: undo the compression that the server states.
    """
    try:
        yield from answer.raw.stream(piece_bytes, decode_content=unpack)
    except urllib3.exceptions.DecodeError as error:
        raise requests.exceptions.ContentDecodingError(error) from error
    except urllib3.exceptions.HTTPError as error:
        raise requests.ConnectionError(error) from error
    except ValueError as error:  # a chunk of a negative size
        raise InvalidAnswer(error) from error


def is_loopback(host: str) -> bool:
    """Whether `host`, with or without a port, is this machine: the only one that may be used without TLS."""
    name = urlsplit(f"//{host}").hostname or ""
    return name == "localhost" or (is_address(name) and ipaddress.ip_address(name).is_loopback)


def is_address(host: str) -> bool:
    """Whether `host` is an IP address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the internet, also if IPv6 only carries an address of IPv4."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        carried = (
            ip.ipv4_mapped or ip.sixtofour or (ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _NAT64 else None)
        )
        if carried:
            return is_public(str(carried))
    return ip.is_global and not ip.is_multicast


def _require_public(host: str, addresses: Iterable[str]) -> None:
    for address in addresses:
        if not is_public(address):
            raise _PrivateAddress(f"{host} has the address {address}, which is not public")


def _is_named(host: str, port: int, named: Collection[str]) -> bool:
    """Whether `named` has this host; an entry without a port means the usual ports."""
    return f"{host}:{port}" in named or (host in named and port in (80, 443))


class _Adapter(HTTPAdapter):
    """Calls `on_connect` with each connection that it makes, also to a proxy.

    Args:
        private: as for `BoundedSession`.
    """

    def __init__(self, on_connect: Callable[[socket.socket], None], private: Collection[str] | None) -> None:
        pools = {"http": urllib3.HTTPConnectionPool, "https": urllib3.HTTPSConnectionPool}
        self._pools = {name: _reporting(pool, on_connect, private) for name, pool in pools.items()}
        self._proxy_pools = {name: _reporting(pool, on_connect, None) for name, pool in pools.items()}
        super().__init__()

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        """As in the base class, with connections that are reported."""
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = self._pools

    def proxy_manager_for(self, *arguments: Any, **options: Any) -> Any:
        """As in the base class, with connections that are reported; a SOCKS proxy keeps its own kind."""
        manager = super().proxy_manager_for(*arguments, **options)
        if type(manager) is urllib3.ProxyManager:
            manager.pool_classes_by_scheme = self._proxy_pools
        return manager


def _reporting(pool: Any, on_connect: Callable[[socket.socket], None], private: Collection[str] | None) -> Any:
    class Connection(pool.ConnectionCls):  # type: ignore[misc]
        def _new_conn(self) -> socket.socket:
            if private is None or is_loopback(self.host) or _is_named(self.host, self.port, private):
                return self._connected()
            with suppress(OSError):  # then the connection fails too, with a better message
                found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
                _require_public(self.host, (str(entry[4][0]) for entry in found))
            connection = self._connected()
            try:  # the name may have been resolved to another address this time
                _require_public(self.host, [str(connection.getpeername()[0])])
            except BaseException:
                connection.close()
                raise
            return connection

        def _connected(self) -> socket.socket:
            connection: socket.socket = super()._new_conn()
            on_connect(connection)
            return connection

    class Pool(pool):  # type: ignore[misc]
        ConnectionCls = Connection

    return Pool
