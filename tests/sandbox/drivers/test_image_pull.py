"""Failed pulls: the submission's fault or the judge's; and the wait for a silent engine."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import docker
import pytest

from sandbox.drivers.image_pull import pull_by_digest, pull_fault
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault

NAME = "127.0.0.1:5000/x@sha256:" + "0" * 64
TAR = "failed to register layer: Error processing tar file(exit status 1): "


@pytest.mark.parametrize(
    "message",
    [
        TAR + "link /opt/nothing-there /opt/x: no such file or directory",
        TAR + "mkdir /srv/x: not a directory",
        TAR + "archive/tar: invalid tar header",
        TAR + "lsetxattr security.capability: invalid argument",
        TAR + "open /var/lib/docker/overlay2/x/layerdb: file exists",
        "failed to register layer: archive/tar: invalid tar header",
        "json: cannot unmarshal number into Go struct field Config.config.ExposedPorts of type nat.PortSet",
        'parsing time "\\"x\\"" as "\\"2006-01-02T15:04:05Z07:00\\"": cannot parse "x\\"" as "2006"',
    ],
)
def test_what_only_an_image_can_cause_is_its_authors_fault(message: str) -> None:
    assert isinstance(pull_fault(NAME, message), SubmissionFault)


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        (
            "failed to register layer: rename /var/lib/docker/image/overlay2/layerdb/tmp/write-set-1 "
            "/var/lib/docker/image/overlay2/layerdb/sha256/ab: file exists",
            FaultCause.REGISTRY,
        ),
        ("failed to register layer: stat /var/lib/docker/overlay2/ab: no such file or directory", FaultCause.REGISTRY),
        (TAR + "write /opt/x: no space left on device", FaultCause.DISK),
        (TAR + "write /opt/x: input/output error", FaultCause.REGISTRY),
        (TAR + "open /opt/Error processing tar file(exit status 1): x: read-only file system", FaultCause.REGISTRY),
        ("failed to register layer: Error processing tar file(signal: killed): ", FaultCause.REGISTRY),
        ("manifest for x: json: cannot unmarshal nothing", FaultCause.REGISTRY),
        ("manifest unknown: manifest unknown", FaultCause.REGISTRY),
        ('Get "http://127.0.0.1:5000/v2/": dial tcp: connection refused', FaultCause.REGISTRY),
    ],
)
def test_what_the_engine_itself_can_cause_is_the_judges(message: str, cause: FaultCause) -> None:
    fault = pull_fault(NAME, message)
    assert isinstance(fault, JudgeFault)
    assert fault.cause is cause


@contextmanager
def silent_engine(says: bytes) -> Iterator[docker.APIClient]:
    """An engine that answers `says`, and nothing more."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        connections: list[socket.socket] = []

        def answer() -> None:
            connection, _ = listening.accept()
            connections.append(connection)
            connection.recv(65536)
            connection.sendall(says)

        thread = Thread(target=answer, daemon=True)
        thread.start()
        try:
            yield docker.APIClient(f"tcp://127.0.0.1:{listening.getsockname()[1]}", version="1.41")
        finally:
            thread.join()
            for connection in connections:
                connection.close()


LINE = b'{"status":"Pulling"}\r\n'


@pytest.mark.parametrize(
    "says", [b"", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(LINE), LINE)]
)
def test_an_engine_that_says_nothing_more_is_given_up(says: bytes) -> None:
    with silent_engine(says) as api, pytest.raises(JudgeFault, match="said nothing for") as caught:
        pull_by_digest(api, NAME, None, silence_s=0.2)
    assert caught.value.cause is FaultCause.REGISTRY
