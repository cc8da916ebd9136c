"""Files over HTTP from servers that are slow, cut connections, lie, or are impostors."""

from __future__ import annotations

import gzip
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from submissions.client.http import FileRefusedError, NotFoundError, RetryPolicy, ServerLostError, WebClient, WebError
from submissions.records import utc_now
from tests.submissions.client.odd_server import HASTY, form_to, odd_server, say, swallow
from tests.world.commands import ROOT


def test_trouble_that_passes_is_waited_for() -> None:
    answers = [say(503), say(500), _cut_off, say(200, b"there")]
    with odd_server(lambda request: answers.pop(0)(request)) as server:
        assert WebClient(HASTY).fetch(server.url, 100) == b"there"
    assert answers == []


@pytest.mark.parametrize("answer", [say(503), lambda request: _cut_off(request)])
def test_trouble_that_stays_is_one_line(answer: Callable[[BaseHTTPRequestHandler], None]) -> None:
    with odd_server(answer) as server, pytest.raises(ServerLostError, match=r"does not answer .*: check the network"):
        WebClient(HASTY).fetch(server.url, 100)
    assert len(server.asked) == 1 + len(HASTY.waits_s)


def test_a_server_that_is_not_there_is_one_line() -> None:
    with odd_server(say(200)) as server:
        url = server.url
    with pytest.raises(ServerLostError, match=r"127\.0\.0\.1:\d+ does not answer \(.*refused"):
        WebClient(HASTY).fetch(url, 100)


def test_a_certificate_that_nobody_trusts_is_named_at_once(tmp_path: Path) -> None:
    with secret_server(tmp_path) as url, pytest.raises(WebError, match=r"REQUESTS_CA_BUNDLE names the") as caught:
        WebClient().fetch(url, 100)
    assert not isinstance(caught.value, ServerLostError)
    assert "no trusted connection to 127.0.0.1:" in str(caught.value)


def test_a_proxy_that_does_not_let_through_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with odd_server(say(403)) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "")
        with pytest.raises(WebError, match=r"the proxy does not lead to example\.org .*NO_PROXY") as caught:
            WebClient().fetch("https://example.org/secret", 100)
    assert not isinstance(caught.value, ServerLostError)
    assert "secret" not in str(caught.value)


def test_a_file_refused_after_a_lost_answer_may_be_there(tmp_path: Path) -> None:
    """So nobody may take its slot for an empty one."""
    path = tmp_path / "part"
    path.write_bytes(b"x")
    answers = [_cut_off, say(403)]

    def answer(request: BaseHTTPRequestHandler) -> None:
        swallow(request)
        answers.pop(0)(request)

    with odd_server(answer) as server, pytest.raises(WebError, match="refuses the file") as caught:
        WebClient(HASTY).post(form_to(server.url), path)
    assert not isinstance(caught.value, FileRefusedError)


@contextmanager
def secret_server(folder: Path) -> Iterator[str]:
    """The address of an HTTPS server with a certificate of its own making."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, utc_now(), utc_now() + timedelta(days=1))
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "pem").write_bytes(private + made.sign(key, hashes.SHA256()).public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "pem")
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with suppress(OSError):
                client, _ = listener.accept()
                context.wrap_socket(client, server_side=True)

        thread = threading.Thread(target=accept)
        thread.start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}/"
        thread.join(10)


def test_no_more_is_read_than_is_allowed() -> None:
    sent = []

    def endless(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        while True:
            request.wfile.write(b"x" * 65536)
            sent.append(65536)

    with odd_server(endless) as server, pytest.raises(WebError, match="sends more than 1000000 bytes"):
        WebClient(HASTY).fetch(server.url, 10**6)
    assert sum(sent) < 20 * 10**6  # what the sockets' buffers took

    bomb = gzip.compress(bytes(2 * 10**7))
    with odd_server(say(200, bomb, Content_Encoding="gzip")) as server, pytest.raises(WebError, match="sends more"):
        WebClient(HASTY).fetch(server.url, 10**6)


def fetch(web: WebClient, url: str, path: Path) -> None:
    web.fetch(url, 10**9)


def post(web: WebClient, url: str, path: Path) -> None:
    web.post(form_to(url), path)


@pytest.mark.parametrize(
    ("head", "ask"),
    [(b"Content-Length: 400\r\n\r\n", fetch), (b"Content-Length: 400\r\n\r\n", post), (b"Slow: ", fetch)],
)
def test_a_byte_now_and_then_is_too_slow(
    tmp_path: Path, head: bytes, ask: Callable[[WebClient, str, Path], None]
) -> None:
    def drip(request: BaseHTTPRequestHandler) -> None:
        if request.command == "POST":
            swallow(request)
        request.wfile.write(b"HTTP/1.1 200 OK\r\n" + head)
        for _ in range(400):
            request.wfile.write(b"x")
            time.sleep(0.02)

    (tmp_path / "part").write_bytes(b"x")
    hasty = RetryPolicy(waits_s=(), connect_s=5, read_s=5, exchange_s=0.2)
    with odd_server(drip) as server:
        began = time.monotonic()
        with pytest.raises(ServerLostError, match="not done after"):
            ask(WebClient(hasty), server.url, tmp_path / "part")
        assert time.monotonic() - began < 4, "as long as the server is busy"


def test_only_the_same_host_is_followed() -> None:
    with odd_server(say(200, b"other")) as other:
        with (
            odd_server(say(302, Location=other.url)) as server,
            pytest.raises(WebError, match=r"to another host.*not followed"),
        ):
            WebClient(HASTY).fetch(server.url, 100)
        assert other.asked == []
    with odd_server(lambda r: (say(200, b"new") if r.path == "/new" else say(301, Location="/new"))(r)) as server:
        assert WebClient(HASTY).fetch(f"{server.url}old", 100) == b"new"
    with odd_server(say(302, Location="/again")) as server, pytest.raises(WebError, match="redirects too often"):
        WebClient(HASTY).fetch(server.url, 100)


def test_no_password_of_the_author_goes_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login alice password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with odd_server(say(200)) as server:
        WebClient(HASTY).fetch(server.url, 100)
    assert "authorization" not in server.asked[0][1]


@pytest.mark.parametrize(("status", "error"), [(404, NotFoundError), (403, NotFoundError), (418, WebError)])
def test_other_answers(status: int, error: type[WebError]) -> None:
    with odd_server(say(status, b"\x1b[2J")) as server, pytest.raises(error) as caught:
        WebClient(HASTY).fetch(server.url, 100)
    assert str(caught.value).isprintable()


def test_a_post_whose_answer_is_lost_is_sent_again(tmp_path: Path) -> None:
    path, took = tmp_path / "part", []
    path.write_bytes(b"x" * 10**6)

    def answer(request: BaseHTTPRequestHandler) -> None:
        took.append(swallow(request))
        if len(took) > 2:
            say(204)(request)

    with odd_server(answer) as server:
        WebClient(HASTY).post(form_to(server.url), path)
    assert len(took) == 3
    assert len(set(took)) == 1


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (say(200, b"<html>Please log in to this network</html>"), "status 200"),
        (say(403, b"<Error><Code>AccessDenied</Code></Error>"), r"may have expired.*\(AccessDenied\)"),
        (say(400, b"<Code>QuotaExceeded</Code>"), "upload bucket is full"),
        (say(400, b"<Code>Odd</Code><Message>a\x1b[2J\nb</Message>"), r"Odd: a\\x1b\[2J\\nb: tell"),
        (say(307, Location="http://elsewhere/"), "status 307"),
        (say(400, b"<Code>" * 100_000), "status 400"),
    ],
)
def test_refusals_of_other_servers(
    tmp_path: Path, answer: Callable[[BaseHTTPRequestHandler], None], complaint: str
) -> None:
    path = tmp_path / "part"
    path.write_bytes(b"x")

    def refuse(request: BaseHTTPRequestHandler) -> None:
        swallow(request)
        answer(request)

    with odd_server(refuse) as server, pytest.raises(FileRefusedError, match=complaint) as caught:
        WebClient(HASTY).post(form_to(server.url), path)
    assert str(caught.value).isprintable()
    assert len(server.asked) == 1


def test_a_large_part_is_not_held_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "part"
    with path.open("wb") as file:
        file.truncate(64 * 1024**2)
    took = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        took.append(swallow(request))
        say(204)(request)

    code = """
import resource, sys
from pathlib import Path
from submissions.requests import UploadForm
from submissions.client.http import WebClient
form = UploadForm.read(sys.argv[1].encode())
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
WebClient().post(form, Path(sys.argv[2]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    with odd_server(answer) as server:
        command = [sys.executable, "-c", code, form_to(server.url).model_dump_json(), str(path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert took
    assert took[0] > 64 * 1024**2
    assert int(done.stdout) < 16 * 1024, "grown by as many KiB"  # about 2 MiB; the part has 64


def _cut_off(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Length", "100")
    request.end_headers()
    request.wfile.write(b"only this")
