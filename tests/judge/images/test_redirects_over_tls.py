"""A registry with TLS redirects into a private network: only to hosts that the maintainer listed."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
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


@pytest.fixture
def registry_with_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, MadeImage, list[str]]]:
    """The port of a server for both hosts, its image, and the hosts that were asked. REGISTRY redirects to INSIDE."""
    image, asked = MadeImage([some_tar()]), []

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host, _, port = self.headers["Host"].partition(":")
            asked.append(host)
            body = b"" if host == REGISTRY else image.manifest()
            self.send_response(307 if host == REGISTRY else 200)
            self.send_header("Location", f"https://{INSIDE}:{port}{self.path}")
            self.send_header("Content-Type", MANIFEST)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Logs nothing."""

    write_certificate(tmp_path / "certificate.pem")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "certificate.pem"))
    resolve = socket.getaddrinfo

    def look_up(host: str, *arguments: Any, **options: Any) -> Any:
        return resolve("127.0.0.1" if host in (REGISTRY, INSIDE) else host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certificate.pem")
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield server.server_address[1], image, asked
        server.shutdown()


def test_a_redirect_to_a_private_address_is_followed_only_to_a_listed_host(
    registry_with_tls: tuple[int, MadeImage, list[str]],
) -> None:
    port, image, asked = registry_with_tls
    host = f"{REGISTRY}:{port}"
    reference = f"{host}/alice/model@{sha256(image.manifest())}"
    with pytest.raises(JudgeFault, match="RedirectRefused") as caught:
        find_image(JudgeSettings(registries=(host,)), reference)
    assert caught.value.cause is FaultCause.REGISTRY
    assert asked == [REGISTRY]
    listed = JudgeSettings(registries=(host, f"{INSIDE}:{port}"))
    assert find_image(listed, reference).manifest.config.digest == image.id
    assert asked == [REGISTRY, REGISTRY, INSIDE]
