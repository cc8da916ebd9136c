"""A registry with TLS redirects into a private network, only to hosts that the maintainer listed; or has odd tokens."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from judge.config import JudgeSettings
from judge.images.registry_client import find_image
from judge.images.transfer import RequestFault
from sandbox.verdict import FaultCause, JudgeFault
from tests.world.small_images import MANIFEST, MadeImage, sha256, some_tar

REGISTRY, INSIDE = "registry.example", "inside.example"


def write_certificate(path: Path) -> None:
    """Writes a key and a certificate that vouches for itself, for both hosts."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, REGISTRY)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(REGISTRY), x509.DNSName(INSIDE)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    form = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(key.private_bytes(pem, *form) + certificate.public_bytes(pem))


class Answering(BaseHTTPRequestHandler):
    """Answers each GET as its subclass says, and logs nothing."""

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content_Length": str(len(body))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""


@pytest.fixture
def serve_with_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[type[Answering]], int]]:
    """Starts a server for both hosts, and returns its port."""
    write_certificate(tmp_path / "certificate.pem")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "certificate.pem"))
    resolve = socket.getaddrinfo

    def look_up(host: str, *arguments: Any, **options: Any) -> Any:
        return resolve("127.0.0.1" if host in (REGISTRY, INSIDE) else host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certificate.pem")
    with ExitStack() as servers:

        def serve(answers: type[Answering]) -> int:
            server = servers.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), answers))
            server.socket = context.wrap_socket(server.socket, server_side=True)
            Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
            servers.callback(server.shutdown)
            return server.server_address[1]

        yield serve


def test_a_redirect_to_a_private_address_is_followed_only_to_a_listed_host(
    serve_with_tls: Callable[[type[Answering]], int],
) -> None:
    image, asked = MadeImage([some_tar()]), []

    class Redirecting(Answering):
        """REGISTRY redirects to INSIDE."""

        def do_GET(self) -> None:
            host, _, port = self.headers["Host"].partition(":")
            asked.append(host)
            if host == REGISTRY:
                self.reply(307, Location=f"https://{INSIDE}:{port}{self.path}")
            else:
                self.reply(200, image.manifest(), Content_Type=MANIFEST)

    port = serve_with_tls(Redirecting)
    host = f"{REGISTRY}:{port}"
    reference = f"{host}/alice/model@{sha256(image.manifest())}"
    with pytest.raises(JudgeFault, match="RedirectRefused") as caught:
        find_image(JudgeSettings(registries=(host,)), reference)
    assert caught.value.cause is FaultCause.REGISTRY
    assert asked == [REGISTRY]
    listed = JudgeSettings(registries=(host, f"{INSIDE}:{port}"))
    assert find_image(listed, reference).manifest.config.digest == image.id
    assert asked == [REGISTRY, REGISTRY, INSIDE]


@pytest.mark.parametrize(
    "token", [b'"\\u4e00"', b'"\\ud800"', b"[" * 200_000 + b"]" * 200_000], ids=["letters", "surrogate", "nested"]
)
def test_a_token_that_no_header_can_hold_is_a_fault_of_the_registry(
    serve_with_tls: Callable[[type[Answering]], int], token: bytes
) -> None:
    class WithToken(Answering):
        def do_GET(self) -> None:
            if self.path.startswith("/token"):
                self.reply(200, b'{"token":%b}' % token)
            else:
                realm = f"https://{self.headers['Host']}/token"
                self.reply(401, WWW_Authenticate=f'Bearer realm="{realm}",service="x",scope="y"')

    host = f"{REGISTRY}:{serve_with_tls(WithToken)}"
    with pytest.raises(RequestFault, match="does not answer as it should"):
        find_image(JudgeSettings(registries=(host,)), f"{host}/alice/model@sha256:{'0' * 64}")
