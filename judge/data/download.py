"""Files from web servers: verified by their hash, and continued where an interrupted download ended.

pooch verifies and moves the file; it does not continue downloads, so it gets a downloader that does.
"""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass
from pathlib import Path

import pooch
import requests

from submissions.progress import Report

ATTEMPTS = 5
PAUSE_S = 0.5
TIMEOUT_S = 60.0
CHUNK = 64 * 1024
PARTIAL, UNSATISFIABLE, TOO_MANY = 206, 416, 429


class FetchError(ValueError):
    """A source cannot be fetched, or is not what was pinned: one line with the thing at fault and the remedy."""


def download(address: str, target: Path, sha256: str, n_bytes: int, report: Report) -> None:
    """Writes the file at `address` to `target`. A `target` with that hash stays as it is.

    What was received before an interruption is kept in `target` with `.part`, and continued by the next call.

    Args:
        report: called with the received bytes, `n_bytes` and their unit.

    Raises:
        FetchError: the server does not answer, or the file has another size or hash.
    """
    pooch.get_logger().setLevel(logging.WARNING)
    continued = _Continued(target.with_name(f"{target.name}.part"), n_bytes, report)
    try:
        pooch.retrieve(address, f"sha256:{sha256}", fname=target.name, path=target.parent, downloader=continued)
    except FetchError:
        raise
    except ValueError:  # pooch's only one: the hash
        raise FetchError(
            f"{address}: has another sha256 than {sha256}, which is pinned: the file changed or was damaged "
            "on its way; nothing is kept. Compare it with its publisher's, and state the new hash if it is meant"
        ) from None


@dataclass(frozen=True)
class _Continued:
    """A downloader of pooch that continues a partial file.

    Args:
        part: the partial file.
        n_bytes: the size of the whole file.
    """

    part: Path
    n_bytes: int
    report: Report

    def __call__(self, address: str, output_file: str, _: object) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._receive(address)
                break
            except requests.RequestException as error:
                answer = error.response
                is_final = answer is not None and 400 <= answer.status_code < 500 and answer.status_code != TOO_MANY
                if is_final or attempt == ATTEMPTS:
                    raise self._fault(address, error) from None
                time.sleep(attempt * PAUSE_S)
        os.replace(self.part, output_file)

    def _fault(self, address: str, error: requests.RequestException) -> FetchError:
        if error.response is not None:
            return FetchError(
                f"{address}: the server answers {error.response.status_code}: check the address, or [mirrors]"
            )
        received = f"{self._received} of {self.n_bytes} bytes are kept: " if self._received else ""
        return FetchError(
            f"{address}: the connection failed ({type(error).__name__}); {received}run the command again to go on, "
            "or state a mirror in [mirrors] of judge.toml"
        )

    @property
    def _received(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _receive(self, address: str) -> None:
        """Appends the remaining bytes to the partial file.

        Raises:
            requests.RequestException: the server refused, or the connection ended early.
            FetchError: the file is larger than stated.
        """
        start = self._received
        if start >= self.n_bytes:
            self._check_size(address, start)
            return
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
        with requests.get(address, headers=headers, stream=True, timeout=TIMEOUT_S) as answer:
            if start and answer.status_code == UNSATISFIABLE:
                self.part.unlink()  # the server's file is smaller: begin again, and let size and hash say what it is
                raise requests.ConnectionError("the range is not there")
            answer.raise_for_status()
            stated = answer.headers.get("Content-Range", "")
            # A server may ignore the range and send the whole file.
            is_rest = answer.status_code == PARTIAL and stated.startswith(f"bytes {start}-")
            answer.raw.enforce_content_length = False  # else the last bytes before an early end would be lost
            self._write(address, answer, start if is_rest else 0)
        if self._received < self.n_bytes:
            raise requests.ConnectionError("the connection ended early")

    def _write(self, address: str, answer: requests.Response, start: int) -> None:
        received = start
        with self.part.open("ab" if start else "wb") as file:
            for chunk in answer.iter_content(CHUNK):
                received += len(chunk)
                if received > self.n_bytes:
                    file.truncate(0)
                    self._check_size(address, received)
                file.write(chunk)
                file.flush()
                self.report(received, self.n_bytes, "bytes")

    def _check_size(self, address: str, n_received: int) -> None:
        if n_received > self.n_bytes:
            self.part.unlink(missing_ok=True)
            raise FetchError(
                f"{address}: is larger than {self.n_bytes} bytes, which are pinned: compare it with its publisher's, "
                "and state the new size and hash if it is meant"
            )
