"""Registries that answer slowly, lose the connection, or name a foreign token service."""

from __future__ import annotations

import os
import socket
import time
from threading import Event

import pytest

from judge.config import JudgeSettings
from judge.images import registry_client
from judge.images.manifest import Blob
from judge.images.reference import Repository
from judge.images.registry_client import RegistryClient, registry_faults
from judge.images.token_service import require_own_service
from sandbox.verdict import FaultCause, JudgeFault
from tests.servers.raw_server import drop_by_drop, raw_server
from tests.world.small_images import sha256

DATA = os.urandom(200_000)
BLOB = Blob(digest=sha256(DATA), size=len(DATA))


@pytest.mark.parametrize(
    ("before", "drops"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n", DATA),
        (b"HTTP/1.1 200 OK\r\n\r\n", DATA),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"0" * 5000),
        (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x" * 5000),
        (b"", b"HTTP/1.1 200 " + b"x" * 5000),
    ],
    ids=["body", "body without end", "chunks", "headers", "first line"],
)
def test_an_answer_byte_by_byte_times_out(monkeypatch: pytest.MonkeyPatch, before: bytes, drops: bytes) -> None:
    monkeypatch.setattr(registry_client, "PATIENCE_S", 0.3)
    with raw_server(drop_by_drop(before, drops)) as (host, _):
        client, begun = RegistryClient(Repository(host, "a/b"), None), time.monotonic()
        with pytest.raises(JudgeFault, match="Timeout") as caught, registry_faults(client):
            list(client.blob(BLOB))
        assert time.monotonic() - begun < 5
    assert caught.value.cause is FaultCause.REGISTRY


def test_a_blob_continues_where_its_connection_was_lost() -> None:
    """Also from a server that starts each answer at the first byte."""
    for knows_ranges in (True, False):

        def speak(connection: socket.socket, request: str, _: Event, knows_ranges: bool = knows_ranges) -> None:
            ranges = [line for line in request.splitlines() if line.startswith("Range: bytes=")]
            start = int(ranges[0][13:].rstrip("-")) if ranges and knows_ranges else 0
            status = "206 Partial Content" if start else "200 OK"
            connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {len(DATA) - start}\r\n\r\n".encode())
            end = start + 90_000 if knows_ranges or not ranges else len(DATA)
            connection.sendall(DATA[start:end])

        with raw_server(speak) as (host, requests):
            client = RegistryClient(Repository(host, "a/b"), None)
            assert b"".join(client.blob(BLOB)) == DATA
        assert len(requests) == (3 if knows_ranges else 2)


def test_a_connection_that_is_lost_each_time_is_given_up() -> None:
    def speak(connection: socket.socket, _: str, over: Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\nxyz")

    with raw_server(speak) as (host, requests):
        client = RegistryClient(Repository(host, "a/b"), None)
        with pytest.raises(JudgeFault), registry_faults(client):
            list(client.blob(BLOB))
        assert len(requests) == registry_client.TRIES


# The answers of these registries to a request without a credential.
REALMS = {
    "docker.io": "https://auth.docker.io/token",
    "ghcr.io": "https://ghcr.io/token",
    "quay.io": "https://quay.io/v2/auth",
    "nvcr.io": "https://nvcr.io/proxy_auth",
    "registry.gitlab.com": "https://gitlab.com/jwt/auth",
}


def test_the_token_service_of_each_known_registry_is_accepted() -> None:
    assert set(REALMS) == set(JudgeSettings.model_fields["registries"].default)
    for host, realm in REALMS.items():
        require_own_service(Repository(host, "a/b"), realm)


@pytest.mark.parametrize(
    ("host", "realm"),
    [
        ("registry.example.co.uk", "https://evil.co.uk/token"),
        ("1.dkr.ecr.eu-west-1.amazonaws.com", "https://evil.s3.amazonaws.com/token"),
        ("registry.gitlab.com", "https://gitlab.com.evil.example/jwt"),
        ("ghcr.io", "https://evil.ghcr.io/token"),
        ("ghcr.io", "https://ghcr.io@evil.example/token"),
        ("ghcr.io", "https://[/token"),
        ("ghcr.io", ""),
        ("ghcr.io", "http://ghcr.io/token"),
        ("ghcr.io", "https://ghcr.io:8443/token"),
        ("registry.example:5050", "https://registry.example/jwt"),
        ("127.0.0.1:5000", "http://127.0.0.1:5001/token"),
        ("127.0.0.1:5000", "https://127.0.0.1:5000/token"),
    ],
)
def test_a_foreign_token_service_is_refused(host: str, realm: str) -> None:
    with pytest.raises(JudgeFault, match="not its own"):
        require_own_service(Repository(host, "a/b"), realm)


def test_a_token_service_that_the_maintainer_listed_is_accepted() -> None:
    repository, realm = Repository("registry.example:5050", "a/b"), "https://registry.example/jwt"
    require_own_service(repository, realm, ("registry.example:5050", "registry.example"))
    require_own_service(repository, "https://registry.example:5050/jwt")
