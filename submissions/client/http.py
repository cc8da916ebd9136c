"""Files over HTTP, fetched and posted, for whoever has nothing but an address.

Behind it is an object store, no server of the judge's. It may be slow, cut a connection, or answer with anything at
all: every answer has a bound in bytes and in time, and what it says is escaped before a person reads it. Nothing is
followed to another host.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import urljoin, urlsplit

import requests

from sandbox.events import plain
from submissions.client.form_body import FormBody
from submissions.client.storage_refusals import refusal
from submissions.requests import Form

_WAITS_S = (1.0, 2.0, 4.0, 8.0)
_CONNECT_S, _READ_S = 10.0, 60.0
_WHOLE_S = 300.0  # for all of an answer: a byte a minute would else never be too slow
_REDIRECTS = 3
_LOST = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)

T = TypeVar("T")


class MailError(Exception):
    """What was asked of the mailbox cannot be had now; one line with the remedy."""


class LostError(MailError):
    """The server did not answer in the end: later it may."""


class RefusedError(MailError):
    """The server refuses a file; one line with the remedy."""


class UnknownError(MailError):
    """There is nothing at that address."""


class Patience(NamedTuple):
    """How long a server is waited for.

    Args:
        waits_s: before each further try, seconds.
        connect_s: until it is connected.
        read_s: between two pieces of an answer.
        whole_s: for all of an answer, and for all of a request that sends no file.
    """

    waits_s: tuple[float, ...] = _WAITS_S
    connect_s: float = _CONNECT_S
    read_s: float = _READ_S
    whole_s: float = _WHOLE_S


class Web:
    """Files fetched over HTTP, each within bounds.

    Raises (all methods):
        MailError: the server does not answer, or with something else.
    """

    def __init__(self, patience: Patience | None = None) -> None:
        self._patience = patience or Patience()
        self._session = requests.Session()
        self._session.auth = _no_password  # else that of ~/.netrc would go along

    def fetch(self, url: str, max_bytes: int) -> bytes:
        """What is at `url`.

        Raises:
            UnknownError: nothing is, or nobody may read it.
        """
        return self._patiently(
            f"{_host(url)} does not answer",
            lambda: _within(self._patience.whole_s, lambda: self._fetch(url, max_bytes)),
        )

    def post(self, form: Form, path: Path, report: Callable[[int], None] = lambda n: None) -> None:
        """Posts the file at `path` through `form`. Where a connection is lost it is tried again: it may have arrived
        or not, and of equal bytes it does not matter which ones stand.

        Args:
            report: called with the bytes that were handed over so far.

        Raises:
            RefusedError: the server does not take it.
        """
        n_bytes = path.stat().st_size
        if n_bytes > form.max_bytes:
            raise RefusedError(f"{path.name} has {n_bytes} bytes, and its slot takes {form.max_bytes} at most")
        self._patiently(f"{_host(form.url)} does not take the file", lambda: self._post(form, path, report))

    def _patiently(self, what: str, attempt: Callable[[], bytes]) -> bytes:
        lost = False
        for wait in (*self._patience.waits_s, None):
            try:
                return attempt()
            except RefusedError as error:
                if lost:  # the file may be there all the same
                    raise MailError(str(error)) from error
                raise
            except _Later as later:
                lost = True
                if wait is None:
                    raise LostError(f"{what} ({later}): check the network, and run it again") from later.__cause__
                time.sleep(wait)
        raise AssertionError("the last try either returns or raises")

    def _fetch(self, url: str, max_bytes: int) -> bytes:
        for _ in range(_REDIRECTS):
            with self._request("GET", url) as answer:
                if not answer.is_redirect:
                    return _checked(answer, max_bytes)
                url = _same_host(url, answer.headers.get("location", ""))
        raise MailError(f"{_host(url)} sends from one address to the next: tell whoever sent the invitation")

    def _post(self, form: Form, path: Path, report: Callable[[int], None]) -> bytes:
        with FormBody(form.fields, path, report) as body:
            headers = {"Content-Type": body.content_type}
            answer = self._request("POST", form.url, body, headers)
            return _within(self._patience.whole_s, lambda: _taken(answer, _host(form.url)))

    def _request(
        self, method: str, url: str, body: FormBody | None = None, headers: dict[str, str] | None = None
    ) -> requests.Response:
        try:
            return self._session.request(
                method,
                url,
                data=body,
                headers={"User-Agent": "lambench-submit", **(headers or {})},
                timeout=(self._patience.connect_s, self._patience.read_s),
                allow_redirects=False,
                stream=True,
            )
        except _LOST as error:
            _require_way(url, error)
            raise _Later(_reason(error)) from error
        except requests.RequestException as error:
            raise MailError(f"{plain(url)}: {_reason(error)}: check the address") from error


def _require_way(url: str, error: Exception) -> None:
    """Returns where trying again may help: not where a certificate or a proxy of this network is in the way."""
    if isinstance(error, requests.exceptions.ProxyError):
        remedy = "check HTTPS_PROXY, or name the host in NO_PROXY"
        raise MailError(f"the proxy does not lead to {_host(url)} ({_reason(error)}): {remedy}") from error
    if isinstance(error, requests.exceptions.SSLError) and "EOF" not in str(error):  # that one is a line cut off
        remedy = "check the address; REQUESTS_CA_BUNDLE names a file of the certificates that are trusted"
        raise MailError(f"no trusted connection to {_host(url)} ({_reason(error)}): {remedy}") from error


def _within(whole_s: float, call: Callable[[], T]) -> T:
    """What `call()` returns or raises.

    It has a thread of its own: no time-out of a socket ends an answer that comes a byte a minute. One that is too late
    is left alone with its connection, which ends with the program, or with its bound in bytes.

    Raises:
        _Later: it is not done in time.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(call())
        except BaseException as error:  # noqa: BLE001 - it is raised again below
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return done.result(whole_s)
    except TimeoutError:
        raise _Later(f"not done after {whole_s:.0f} s") from None


class _Later(Exception):
    """Something that may pass."""


def _is_passing(status: int) -> bool:
    return status >= 500 or status in (408, 425, 429)


def _checked(answer: requests.Response, max_bytes: int) -> bytes:
    """The body of an answer of status 200."""
    if _is_passing(answer.status_code):
        raise _Later(f"status {answer.status_code}")
    if answer.status_code in (401, 403, 404, 410):
        raise UnknownError(f"there is nothing to read at {_host(answer.url)} under this address: check it")
    if answer.status_code != 200:
        raise MailError(f"{_host(answer.url)} answers with status {answer.status_code}: check the address")
    data = _body(answer, max_bytes)
    if len(data) > max_bytes:
        raise MailError(f"{_host(answer.url)} sends more than {max_bytes} bytes: tell whoever runs the judge")
    return data


def _taken(answer: requests.Response, host: str) -> bytes:
    """What a server says when it has taken a file."""
    with answer:
        said = _body(answer, 64 * 1024)
    if answer.status_code in (201, 204):
        return said
    if _is_passing(answer.status_code):
        raise _Later(f"status {answer.status_code}")
    raise RefusedError(f"{host} refuses the file: {refusal(answer.status_code, said)}")


def _body(answer: requests.Response, max_bytes: int) -> bytes:
    """The first bytes of an answer, `max_bytes` and a little more at most."""
    found = bytearray()
    for piece in _pieces(answer):
        found += piece
        if len(found) > max_bytes:
            break
    return bytes(found)


def _pieces(answer: requests.Response) -> Iterator[bytes]:
    try:
        yield from answer.iter_content(64 * 1024)
    except _LOST as error:
        raise _Later(_reason(error)) from error
    except requests.RequestException as error:
        raise MailError(f"{_host(answer.url)}: {_reason(error)}: tell whoever runs the judge") from error


def _same_host(url: str, location: str) -> str:
    target = urljoin(url, location)
    if urlsplit(target)[:2] != urlsplit(url)[:2]:
        raise MailError(f"{_host(url)} sends to another host, {_host(target)}: it is not followed; check the address")
    return target


def _no_password(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _host(url: str) -> str:
    """The host of an address: all of it that may be shown, since what follows is secret."""
    return plain(urlsplit(url).netloc.rpartition("@")[2] or "the server")


def _reason(error: Exception) -> str:
    words = " ".join(str(getattr(error.args[0], "reason", error.args[0]) if error.args else error).split())
    return plain(words.rpartition(">: ")[2], 120) or type(error).__name__
