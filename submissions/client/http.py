"""Reads and uploads files over HTTP: the author knows only an address, and the server is an object store.

The server may be slow, cut connections, or answer with anything. So every exchange is limited in bytes and in time
(`submissions.bounded_http`), temporary failures are retried, and the server's text is escaped before it is shown.
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
from submissions.requests import UploadForm

_SLOWEST_BYTES_PER_S = 10_000.0
_REFUSAL_PIECES = 4  # pieces that are read of the answer to an upload
_CONNECTION_FAILURES = (requests.ConnectionError, requests.Timeout)

T = TypeVar("T")


class WebError(Exception):
    """A file cannot be read or uploaded now; one line with the remedy."""


class ServerLostError(WebError):
    """The server did not answer, after all retries."""


class FileRefusedError(WebError):
    """The server refuses a file; one line with the remedy."""


class NotFoundError(WebError):
    """There is nothing at that address."""


class RetryPolicy(NamedTuple):
    """How long to wait for a server.

    Args:
        waits_s: before each retry [s].
        connect_s: for a connection [s].
        read_s: between two pieces of an answer [s].
        exchange_s: for a whole exchange [s], as a server that sends a byte a minute would never reach the other limits;
            an upload has more time, by its size.
    """

    waits_s: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0)
    connect_s: float = 10.0
    read_s: float = 60.0
    exchange_s: float = 300.0


class WebClient:
    """Reads and uploads files over HTTP, within limits.

    Raises (all methods):
        WebError: the server does not answer, or its answer is not the file.
    """

    def __init__(self, policy: RetryPolicy | None = None) -> None:
        self._policy = policy or RetryPolicy()
        self._session = BoundedSession(same_host=True)
        self._session.headers["User-Agent"] = "lambench-submit"

    def fetch(self, url: str, max_bytes: int) -> bytes:
        """The content of the file at `url`.

        Raises:
            NotFoundError: there is none, or it may not be read.
        """

        def attempt() -> bytes:
            with self._exchange("GET", url, self._policy.exchange_s) as answer:
                _require_content(answer)
                return read_body(answer, max_bytes, unpack=True)

        return self._with_retries(f"{_host(url)} does not answer", attempt)

    def post(self, form: UploadForm, path: Path, report: Callable[[int], None] = lambda n: None) -> None:
        """Uploads the file at `path` with `form`. After a lost connection the file is sent again, which does no harm:
        the bytes are the same.

        Args:
            report: called with the number of bytes sent so far.

        Raises:
            FileRefusedError: the server does not take it.
        """
        n_bytes = path.stat().st_size
        if n_bytes > form.max_bytes:
            raise FileRefusedError(
                f"{path.name} has {n_bytes} bytes, and its upload slot takes {form.max_bytes} at most"
            )

        def attempt() -> None:
            with path.open("rb") as file:
                encoder = MultipartEncoder({**form.fields, "file": ("file", file)})  # servers ignore what follows it
                body = MultipartEncoderMonitor(encoder, lambda monitor: report(min(monitor.bytes_read, n_bytes)))
                seconds = self._policy.exchange_s + n_bytes / _SLOWEST_BYTES_PER_S
                headers = {"Content-Type": body.content_type}
                with self._exchange("POST", form.url, seconds, data=body, headers=headers) as answer:
                    _require_taken(answer, _host(form.url))

        self._with_retries(f"{_host(form.url)} does not take the file", attempt)

    def _with_retries(self, what: str, attempt: Callable[[], T]) -> T:
        may_have_arrived = False
        for wait in (*self._policy.waits_s, None):
            try:
                return attempt()
            except FileRefusedError as error:
                if may_have_arrived:
                    raise WebError(str(error)) from error
                raise
            except _TemporaryFailure as failure:
                may_have_arrived = True
                if wait is None:
                    raise ServerLostError(
                        f"{what} ({failure}): check the network, and run it again"
                    ) from failure.__cause__
                time.sleep(wait)
        raise AssertionError("the last try either returns or raises")

    @contextmanager
    def _exchange(self, method: str, url: str, seconds: float, **content: Any) -> Iterator[requests.Response]:
        """The answer to a request, within so many seconds. Translates the errors of the libraries."""
        timeout = (self._policy.connect_s, self._policy.read_s)
        options: dict[str, Any] = {"timeout": timeout, "allow_redirects": method == "GET", "stream": True}
        try:
            with (
                self._session.cut_after(seconds),
                self._session.request(method, url, **options, **content) as answer,
            ):
                yield answer
        except RedirectRefused as error:
            raise WebError(f"{_host(url)}: {_reason(error)}: it is not followed; check the address") from error
        except requests.TooManyRedirects as error:
            remedy = "tell the maintainer who sent the invitation"
            raise WebError(f"{_host(url)} redirects too often: {remedy}") from error
        except AnswerTooLarge as error:
            raise WebError(f"{_host(url)} sends {_reason(error)}: tell the judge's maintainer") from error
        except _CONNECTION_FAILURES as error:
            _check_certificate_and_proxy(url, error)
            raise _TemporaryFailure(_reason(error)) from error
        except requests.RequestException as error:
            raise WebError(f"{_host(url)}: {_reason(error)}: check the address") from error


def _check_certificate_and_proxy(url: str, error: Exception) -> None:
    """Returns if a retry may help.

    Raises:
        WebError: a proxy or a certificate is the reason.
    """
    if isinstance(error, requests.exceptions.ProxyError):
        remedy = "check HTTPS_PROXY, or name the host in NO_PROXY"
        raise WebError(f"the proxy does not lead to {_host(url)} ({_reason(error)}): {remedy}") from error
    if isinstance(error, requests.exceptions.SSLError) and "EOF" not in str(error):  # that is a connection that was cut
        remedy = "check the address; REQUESTS_CA_BUNDLE names the file of trusted certificates"
        raise WebError(f"no trusted connection to {_host(url)} ({_reason(error)}): {remedy}") from error


class _TemporaryFailure(Exception):
    """A failure after which the request is repeated."""


def _require_no_server_failure(answer: requests.Response) -> None:
    """Returns unless the server reports a temporary failure."""
    if answer.status_code >= 500 or answer.status_code in (408, 425, 429):
        raise _TemporaryFailure(f"status {answer.status_code}")


def _require_content(answer: requests.Response) -> None:
    _require_no_server_failure(answer)
    if answer.status_code in (401, 403, 404, 410):
        raise NotFoundError(f"there is nothing to read at {_host(answer.url)} under this address: check it")
    if answer.status_code != 200:
        raise WebError(f"{_host(answer.url)} answers with status {answer.status_code}: check the address")


def _require_taken(answer: requests.Response, host: str) -> None:
    beginning = b"".join(islice(pieces(answer), _REFUSAL_PIECES))
    if answer.status_code not in (201, 204):
        _require_no_server_failure(answer)
        raise FileRefusedError(f"{host} refuses the file: {refusal(answer.status_code, beginning)}")


def _host(url: str) -> str:
    """The host of an address. The rest of the address is secret and must not be shown."""
    return plain(urlsplit(url).netloc.rpartition("@")[2] or "the server")


def _reason(error: Exception) -> str:
    words = " ".join(str(getattr(error.args[0], "reason", error.args[0]) if error.args else error).split())
    return plain(words.rpartition(">: ")[2], 120) or type(error).__name__
