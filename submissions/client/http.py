"""Files over HTTP, fetched and posted, by an author who has nothing but an address.

Behind it is an object store, no server of the judge's. It may be slow, cut a connection, or answer with anything at
all: every exchange has a bound in bytes and in time (`submissions.bounded_http`), what may pass is tried again, and
what a server says is escaped before a person reads it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import requests
from requests_toolbelt import MultipartEncoder, MultipartEncoderMonitor

from sandbox.events import plain
from submissions.bounded_http import AnswerTooLarge, BoundedSession, RedirectRefused, pieces, read_body
from submissions.client.storage_refusals import refusal
from submissions.requests import Form

_WAITS_S = (1.0, 2.0, 4.0, 8.0)
_CONNECT_S, _READ_S = 10.0, 60.0
_WHOLE_S = 300.0  # for all of an answer: a byte a minute would else never be too slow
_SLOWEST_BYTES_PER_S = 10_000.0
_REFUSAL_PIECES = 4  # of an answer that refuses a file
_LOST = (requests.ConnectionError, requests.Timeout)

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
        whole_s: for a whole exchange, beside the time that a file takes which is sent.
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
        self._session = BoundedSession(same_host=True)
        self._session.headers["User-Agent"] = "lambench-submit"

    def fetch(self, url: str, max_bytes: int) -> bytes:
        """What is at `url`.

        Raises:
            UnknownError: nothing is, or nobody may read it.
        """

        def attempt() -> bytes:
            with self._exchange("GET", url, self._patience.whole_s) as answer:
                _require_content(answer)
                return read_body(answer, max_bytes, unpack=True)

        return self._patiently(f"{_host(url)} does not answer", attempt)

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

        def attempt() -> None:
            with path.open("rb") as file:
                encoder = MultipartEncoder({**form.fields, "file": ("file", file)})  # servers ignore what follows it
                body = MultipartEncoderMonitor(encoder, lambda monitor: report(min(monitor.bytes_read, n_bytes)))
                seconds = self._patience.whole_s + n_bytes / _SLOWEST_BYTES_PER_S
                headers = {"Content-Type": body.content_type}
                with self._exchange("POST", form.url, seconds, data=body, headers=headers) as answer:
                    _require_taken(answer, _host(form.url))

        self._patiently(f"{_host(form.url)} does not take the file", attempt)

    def _patiently(self, what: str, attempt: Callable[[], T]) -> T:
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

    @contextmanager
    def _exchange(self, method: str, url: str, seconds: float, **content: Any) -> Iterator[requests.Response]:
        """The answer to a request, both within so many seconds; what the libraries raise becomes ours."""
        timeout = (self._patience.connect_s, self._patience.read_s)
        options: dict[str, Any] = {"timeout": timeout, "allow_redirects": method == "GET", "stream": True}
        try:
            with (
                self._session.cut_after(seconds),
                self._session.request(method, url, **options, **content) as answer,
            ):
                yield answer
        except RedirectRefused as error:
            raise MailError(f"{_host(url)}: {_reason(error)}: it is not followed; check the address") from error
        except requests.TooManyRedirects as error:
            remedy = "tell whoever sent the invitation"
            raise MailError(f"{_host(url)} sends from one address to the next: {remedy}") from error
        except AnswerTooLarge as error:
            raise MailError(f"{_host(url)} sends {_reason(error)}: tell whoever runs the judge") from error
        except _LOST as error:
            _require_way(url, error)
            raise _Later(_reason(error)) from error
        except requests.RequestException as error:
            raise MailError(f"{_host(url)}: {_reason(error)}: check the address") from error


def _require_way(url: str, error: Exception) -> None:
    """Returns where trying again may help: not where a certificate or a proxy of this network is in the way."""
    if isinstance(error, requests.exceptions.ProxyError):
        remedy = "check HTTPS_PROXY, or name the host in NO_PROXY"
        raise MailError(f"the proxy does not lead to {_host(url)} ({_reason(error)}): {remedy}") from error
    if isinstance(error, requests.exceptions.SSLError) and "EOF" not in str(error):  # that one is a line cut off
        remedy = "check the address; REQUESTS_CA_BUNDLE names a file of the certificates that are trusted"
        raise MailError(f"no trusted connection to {_host(url)} ({_reason(error)}): {remedy}") from error


class _Later(Exception):
    """Something that may pass."""


def _require_no_trouble(answer: requests.Response) -> None:
    """Returns unless the server says that it is in trouble that may pass."""
    if answer.status_code >= 500 or answer.status_code in (408, 425, 429):
        raise _Later(f"status {answer.status_code}")


def _require_content(answer: requests.Response) -> None:
    _require_no_trouble(answer)
    if answer.status_code in (401, 403, 404, 410):
        raise UnknownError(f"there is nothing to read at {_host(answer.url)} under this address: check it")
    if answer.status_code != 200:
        raise MailError(f"{_host(answer.url)} answers with status {answer.status_code}: check the address")


def _require_taken(answer: requests.Response, host: str) -> None:
    beginning = b"".join(islice(pieces(answer), _REFUSAL_PIECES))
    if answer.status_code not in (201, 204):
        _require_no_trouble(answer)
        raise RefusedError(f"{host} refuses the file: {refusal(answer.status_code, beginning)}")


def _host(url: str) -> str:
    """The host of an address: all of it that may be shown, since what follows is secret."""
    return plain(urlsplit(url).netloc.rpartition("@")[2] or "the server")


def _reason(error: Exception) -> str:
    words = " ".join(str(getattr(error.args[0], "reason", error.args[0]) if error.args else error).split())
    return plain(words.rpartition(">: ")[2], 120) or type(error).__name__
