"""Bounds on what the image of one submission request may cost, and the faults that only this request causes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf

from sandbox.verdict import FaultCause, JudgeFault
from submissions.bounded_http import BoundedSession

PIECE_S = 15.0
"""A registry must send each further `PIECE_BYTES` in this time [s]; the judge's own work does not count."""
PIECE_BYTES = 1024**2
FIRST_LOOK_S, FIRST_LOOK_MAX_S, FIRST_LOOK_BYTES_PER_S = 3.0, 60.0, 10e6
"""While other requests wait, a registry may take `FIRST_LOOK_S` in all, and longer for the bytes that it has sent."""


class RequestFault(JudgeFault):
    """A fault that one submission request causes alone, though its author may not be to blame.

    Args:
        counts: whether it brings the request nearer to its last delay.
        is_silence: the registry did not answer in time, or lost the connection.
    """

    def __init__(self, cause: FaultCause, remedy: str, *, counts: bool = True, is_silence: bool = False) -> None:
        super().__init__(cause, remedy)
        self.counts = counts
        self.is_silence = is_silence


@dataclass
class Transfer:
    """The transfer of one request's image.

    Args:
        max_seconds: how long it may take, with the checks of the layers.
        silent_hosts: registries that did not answer in this intake. They are not asked again in it.
        slow_hosts: registries that needed more time than a first look has. No other first look asks them.
        n_bytes: received so far.
        repositories: `HOST` or `HOST/PATH` that the judge's credential may read; None: all.
        is_first_look: other requests wait, so the registry has little time.
        waited_s: for the registry, so far [s].
    """

    max_seconds: float = inf
    silent_hosts: set[str] = field(default_factory=set)
    slow_hosts: set[str] = field(default_factory=set)
    n_bytes: int = 0
    start: float = field(default_factory=time.monotonic)
    repositories: tuple[str, ...] | None = None
    is_first_look: bool = False
    waited_s: float = 0.0

    @property
    def left_s(self) -> float:
        """How long the registry may still be waited for [s]; infinite unless this is a first look."""
        if not self.is_first_look:
            return inf
        return min(FIRST_LOOK_S + self.n_bytes / FIRST_LOOK_BYTES_PER_S, FIRST_LOOK_MAX_S) - self.waited_s

    @property
    def is_too_slow(self) -> bool:
        """Whether the first look has ended, since the registry needs more time."""
        return self.left_s <= 0.0

    def may_log_in(self, repository: str) -> bool:
        """Whether the judge's credential may be used for the repository `HOST/NAME`."""
        named = self.repositories
        return named is None or any(f"{repository}/".startswith(f"{name}/") for name in named)

    def counted(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The same chunks.

        Raises:
            RequestFault: the transfer takes too long.
        """
        for chunk in chunks:
            self.n_bytes += len(chunk)
            if time.monotonic() - self.start > self.max_seconds:
                raise RequestFault(
                    FaultCause.REGISTRY,
                    f"the image's transfer takes longer than {self.max_seconds:.0f} s (intake_seconds): "
                    "try again when the network is faster, or set intake_seconds",
                )
            yield chunk

    @contextmanager
    def asking(self, host: str) -> Iterator[None]:
        """Asks a registry, unless it was silent before in this intake, or too slow for a first look.

        Raises:
            RequestFault: it was.
        """
        if self.is_first_look and host in self.slow_hosts:
            self.waited_s = inf
            raise RequestFault(FaultCause.REGISTRY, f"the registry {host} needs more time", counts=False)
        if host in self.silent_hosts:
            raise RequestFault(
                FaultCause.REGISTRY,
                f"the registry {host} did not answer in time before: the next intake asks it again",
                counts=False,
            )
        try:
            yield
        except RequestFault as fault:
            if fault.is_silence:
                (self.slow_hosts if self.is_too_slow else self.silent_hosts).add(host)
            raise


class Pace:
    """The least speed of a server: a time for each piece, however often the connection is lost in it.

    Args:
        seconds: for each `PIECE_BYTES` [s].
        transfer: its first look may end earlier.
    """

    def __init__(self, session: BoundedSession, seconds: float, transfer: Transfer) -> None:
        self._session = session
        self._transfer = transfer
        self._seconds = self._left_s = seconds
        self._n_bytes = 0

    @contextmanager
    def wait(self) -> Iterator[None]:
        """Waits for the server in this block.

        Raises:
            requests.Timeout: the time for the present piece is over, or the first look.
        """
        start = time.monotonic()
        try:
            with self._session.cut_unless_done(max(0.0, min(self._left_s, self._transfer.left_s))):
                yield
        finally:
            waited_s = time.monotonic() - start
            self._left_s -= waited_s
            self._transfer.waited_s += waited_s

    def keep(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The same chunks; the wait for each is as short as the pace demands. Raises as `wait`."""
        while True:
            with self.wait():
                chunk = next(chunks, None)
            if chunk is None:
                return
            self._n_bytes += len(chunk)
            if self._n_bytes >= PIECE_BYTES:
                self._n_bytes, self._left_s = 0, self._seconds
            yield chunk
