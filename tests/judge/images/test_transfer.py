"""Registries that send too slowly are given up after a short time, and are not asked again in the same intake."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from math import inf
from threading import Event
from typing import Any

import pytest

from judge.images.disk_space import require_room
from judge.images.manifest import Blob
from judge.images.reference import Repository
from judge.images.registry_client import RegistryClient, registry_faults
from judge.images.transfer import (
    FIRST_LOOK_BYTES_PER_S,
    FIRST_LOOK_MAX_S,
    FIRST_LOOK_S,
    PIECE_BYTES,
    RequestFault,
    Transfer,
)
from sandbox.image.layer_check import MAX_RATIO, RATIO_FROM, ImageBudget
from sandbox.limits import GIB
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault
from tests.servers.raw_server import Speak, drop_by_drop, raw_server
from tests.world.small_images import sha256

DATA = bytes(3 * PIECE_BYTES)
BLOB = Blob(digest=sha256(DATA), size=60 * GIB)


def slow(connection: socket.socket, _: str, over: Event) -> None:
    drop_by_drop(f"HTTP/1.1 200 OK\r\nContent-Length: {BLOB.size}\r\n\r\n".encode(), DATA)(connection, _, over)


def lost(connection: socket.socket, _: str, over: Event) -> None:
    over.wait(0.4)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\nxyz")


def silent(connection: socket.socket, _: str, over: Event) -> None:
    over.wait(60)


@pytest.mark.parametrize("speak", [slow, lost, silent])
def test_a_slow_registry_is_given_up_after_the_time_for_one_piece(speak: Speak) -> None:
    """However many bytes it has stated, and however often it loses the connection."""
    with raw_server(speak) as (host, _):
        client, start = RegistryClient(Repository(host, "a/b"), None, piece_s=1.0), time.monotonic()
        with pytest.raises(RequestFault, match="does not answer") as caught, registry_faults(client):
            list(client.blob(BLOB))
        assert time.monotonic() - start < 4
    assert (caught.value.cause, caught.value.is_silence, caught.value.counts) == (FaultCause.REGISTRY, True, True)


def test_the_time_that_the_judge_needs_itself_does_not_count() -> None:
    def speak(connection: socket.socket, _: str, over: Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + DATA)

    with raw_server(speak) as (host, _):
        client, n_bytes = RegistryClient(Repository(host, "a/b"), None, piece_s=0.5), 0
        for chunk in client.blob(Blob(digest=sha256(DATA), size=len(DATA))):
            time.sleep(0.6)
            n_bytes += len(chunk)
    assert n_bytes == len(DATA)


def test_a_silent_registry_is_not_asked_again_in_the_same_intake() -> None:
    transfer = Transfer()
    with raw_server(silent) as (host, requests):
        for _ in range(3):
            client = RegistryClient(Repository(host, "a/b"), None, piece_s=0.2)
            client.transfer = Transfer(silent_hosts=transfer.silent_hosts)
            with pytest.raises(RequestFault) as caught, registry_faults(client):
                list(client.blob(BLOB))
    assert (len(requests), caught.value.counts) == (1, False)


@contextmanager
def unreachable() -> Iterator[str]:
    """A host that does not answer when a connection is made: its queue of connections is full."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening, ExitStack() as waiting:
        for _ in range(3):
            other = waiting.enter_context(socket.socket())
            other.setblocking(False)
            with suppress(BlockingIOError):
                other.connect(listening.getsockname())
        yield f"127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize("host", [lambda: raw_server(slow), lambda: raw_server(silent), unreachable], ids=range(3))
def test_a_first_look_is_short_and_makes_no_registry_silent(host: Callable[[], Any]) -> None:
    with host() as address:
        name = address if isinstance(address, str) else address[0]
        client, start = RegistryClient(Repository(name, "a/b"), None), time.monotonic()
        client.transfer = Transfer(is_first_look=True)
        with pytest.raises(RequestFault, match="does not answer"), registry_faults(client):
            list(client.blob(BLOB))
        assert time.monotonic() - start < FIRST_LOOK_S + 2
        transfer = client.transfer
        assert (transfer.is_too_slow, transfer.silent_hosts, transfer.slow_hosts) == (True, set(), {name})
        client.transfer, start = Transfer(slow_hosts={name}, is_first_look=True), time.monotonic()
        with pytest.raises(RequestFault, match="more time"), registry_faults(client):
            list(client.blob(BLOB))
        assert (client.transfer.is_too_slow, time.monotonic() - start < 0.5) == (True, True)


def test_a_first_look_is_longer_for_the_bytes_that_have_come() -> None:
    """But not without end."""
    transfer = Transfer(is_first_look=True, waited_s=FIRST_LOOK_S)
    assert transfer.is_too_slow
    transfer.n_bytes = int(5 * FIRST_LOOK_BYTES_PER_S)
    assert transfer.left_s == pytest.approx(5.0)
    transfer.n_bytes, transfer.waited_s = 1 << 40, FIRST_LOOK_MAX_S
    assert transfer.is_too_slow
    assert not Transfer(waited_s=1e6).is_too_slow


def test_a_transfer_that_takes_too_long_is_ended() -> None:
    with pytest.raises(RequestFault, match="intake_seconds"):
        list(Transfer(max_seconds=-1.0).counted([b"x"]))
    transfer = Transfer(max_seconds=inf)
    assert (list(transfer.counted([b"x", b"yz"])), transfer.n_bytes) == ([b"x", b"yz"], 3)


def test_a_disk_that_has_room_for_smaller_images_is_the_requests_own_fault(tmp_path: object) -> None:
    for least, stated, kind in ((0, 1 << 60, RequestFault), (1 << 60, 0, JudgeFault)):
        with pytest.raises(JudgeFault, match="free at") as caught:
            require_room(tmp_path, least, stated)  # type: ignore[arg-type]
        assert (caught.value.cause, type(caught.value)) == (FaultCause.DISK, kind)


def test_layers_of_zeros_count_together() -> None:
    """Each of them is too small for the ratio of a layer."""
    budget = ImageBudget(64 * GIB)
    budget.count(GIB // 200, RATIO_FROM)
    budget.count(GIB // 3, 2 * GIB)
    budget = ImageBudget(64 * GIB)
    budget.count(1024**2, RATIO_FROM)
    with pytest.raises(SubmissionFault, match=f"more than {MAX_RATIO} times"):
        budget.count(1024**2, RATIO_FROM)
