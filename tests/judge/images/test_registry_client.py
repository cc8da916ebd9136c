"""Images in authors' registries are read by digest, for this machine, with the judge's credential or without one."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest

from judge.config import ConfigError, JudgeSettings
from judge.images.credentials import login_for
from judge.images.manifest import MAX_CONFIG, MAX_MANIFEST
from judge.images.reference import Repository, read_reference
from judge.images.registry_client import RegistryClient, RegistryImage, find_image
from judge.images.transfer import Transfer
from sandbox.driver import Login
from sandbox.image.image_check import MACHINE
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault, Verdict
from tests.servers.raw_server import raw_server
from tests.servers.registry import RegistryServer
from tests.world.small_images import (
    MANIFEST,
    OCI_INDEX,
    OCI_MANIFEST,
    AuthorsRepository,
    MadeImage,
    index_of,
    manifest_of,
    sha256,
    some_tar,
)

DIGEST = "sha256:" + "a" * 64
OTHER = "amd64" if MACHINE == "arm64" else "arm64"


def settings(*servers: RegistryServer, **fields: object) -> JudgeSettings:
    return JudgeSettings(registries=tuple(server.host for server in servers), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"alice/model@{DIGEST}", f"docker.io/alice/model@{DIGEST}"),
        (f"model@{DIGEST}", f"docker.io/library/model@{DIGEST}"),
        (f"docker.io/model:1.0@{DIGEST}", f"docker.io/library/model@{DIGEST}"),
        (f"index.docker.io/a/b@{DIGEST}", f"docker.io/a/b@{DIGEST}"),
        (f"ghcr.io/a/b/c_d.e--f:x@{DIGEST}", f"ghcr.io/a/b/c_d.e--f@{DIGEST}"),
        (f"localhost:5000/a@{DIGEST}", f"localhost:5000/a@{DIGEST}"),
    ],
)
def test_a_reference_is_read_as_docker_reads_it(text: str, expected: str) -> None:
    assert str(read_reference(text, ("docker.io", "ghcr.io", "localhost:5000"))) == expected


@pytest.mark.parametrize(
    ("text", "clue"),
    [
        (f"10.0.0.1/a@{DIGEST}", "ask the maintainer which registries"),
        (f"169.254.169.254/latest@{DIGEST}", "not fetched from"),
        (f"ghcr.io:8443/a@{DIGEST}", "not fetched from"),
        (f"ghcr.io@evil.example/a@{DIGEST}", "not fetched from"),
        (f"GHCR.IO/a@{DIGEST}", "not fetched from"),
        (f"\x1b[2J.example/a@{DIGEST}", "not fetched from"),
        ("ghcr.io/a/b:latest", "by its digest"),
        ("ghcr.io/a/b@sha256:abc", "by its digest"),
        (f"ghcr.io/a/../b@{DIGEST}", "by its digest"),
        (f"ghcr.io//b@{DIGEST}", "by its digest"),
        (f"ghcr.io/a?x=@{DIGEST}", "by its digest"),
        (f"ghcr.io/a/%2e%2e/b@{DIGEST}", "by its digest"),
        (f"ghcr.io/{'a' * 600}@{DIGEST}", "by its digest"),
        (f"ghcr.io/a@{DIGEST}\n", "by its digest"),
        ("", "by its digest"),
    ],
)
def test_a_reference_leads_nowhere_else(text: str, clue: str) -> None:
    with pytest.raises(SubmissionFault, match=clue) as caught:
        read_reference(text, ("ghcr.io", "docker.io"))
    assert caught.value.verdict is Verdict.IMAGE_INVALID
    assert caught.value.sentence.isprintable()


@pytest.mark.parametrize("kind", [MANIFEST, OCI_MANIFEST])
def test_an_image_is_found_by_the_digest_of_its_manifest(registry: RegistryServer, kind: str) -> None:
    image, alice = MadeImage([some_tar(), some_tar()]), AuthorsRepository(registry)
    in_registry = find_image(settings(registry), alice.push(image, kind))
    assert in_registry.config() == image.config
    assert [b"".join(in_registry.layer(blob)) for blob in in_registry.manifest.layers] == image.blobs()


@pytest.mark.parametrize(("kind", "of_index"), [(MANIFEST, ""), (OCI_MANIFEST, OCI_INDEX)])
def test_the_image_of_this_machine_is_found_in_an_index(registry: RegistryServer, kind: str, of_index: str) -> None:
    mine, other = MadeImage([some_tar()]), MadeImage([some_tar()], fields={"architecture": OTHER})
    alice = AuthorsRepository(registry)
    for image in (mine, other):
        alice.push(image, kind)
    manifests = {f"linux/{OTHER}": other.manifest(kind), f"linux/{MACHINE}": mine.manifest(kind)}
    index = index_of(manifests, of_index) if of_index else index_of(manifests)
    in_registry = find_image(settings(registry), alice.push_manifest(index))
    assert in_registry.manifest.config.digest == mine.id
    assert in_registry.reference.digest == sha256(mine.manifest(kind))
    only_other = index_of({f"linux/{OTHER}": other.manifest(kind)}, of_index) if of_index else None
    if only_other:
        with pytest.raises(SubmissionFault, match=f"--platform linux/{MACHINE}"):
            find_image(settings(registry), alice.push_manifest(only_other))


def test_a_missing_image_is_a_submission_fault(registry: RegistryServer) -> None:
    alice = AuthorsRepository(registry)
    alice.push(MadeImage([some_tar()]))
    for name in (alice.name, "nobody/nothing"):
        with pytest.raises(SubmissionFault, match="push it, or let the judge read it") as caught:
            find_image(settings(registry), f"{registry.host}/{name}@{DIGEST}")
        assert caught.value.verdict is Verdict.IMAGE_INVALID


def test_a_private_image_is_read_with_the_judges_credential(private_registry: RegistryServer, tmp_path: Path) -> None:
    image, alice = MadeImage([some_tar()]), AuthorsRepository(private_registry)
    reference = alice.push(image)
    login = tmp_path / "config.json"
    login.write_text(json.dumps(private_registry.docker_config))
    in_registry = find_image(settings(private_registry, registry_config=login), reference)
    assert b"".join(in_registry.layer(in_registry.manifest.layers[0])) == image.blobs()[0]

    readable = settings(private_registry, registry_config=login)
    for repositories in ((private_registry.host,), (f"{private_registry.host}/alice",)):
        find_image(readable, reference, Transfer(repositories=repositories))
    for repositories in ((), (f"{private_registry.host}/ali",), (f"{private_registry.host}/bob",)):
        with pytest.raises(SubmissionFault, match="let the judge read it"):  # the credential is not for this author
            find_image(readable, reference, Transfer(repositories=repositories))
    with pytest.raises(SubmissionFault, match="let the judge read it"):  # the judge has no credential
        find_image(settings(private_registry), reference)
    server = RegistryServer(tmp_path, private_registry.user, "wrong")
    server.port = private_registry.port
    login.write_text(json.dumps(server.docker_config))
    with pytest.raises(JudgeFault, match="refuses the judge's credential") as caught:
        find_image(settings(private_registry, registry_config=login), reference)
    assert caught.value.cause is FaultCause.REGISTRY
    assert "wrong" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"auths": {"x": {"auth": "%%"}}}', '{"auths": {"x": {"auth": 5}}}'])
def test_credentials_that_cannot_be_read_are_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match="registry_config") as caught:
        login_for(path, "ghcr.io")
    assert str(path) in str(caught.value)
    with pytest.raises(ConfigError, match="No such file"):
        login_for(tmp_path / "nothing.json", "ghcr.io")


def test_a_registry_that_does_not_answer_is_a_judge_fault(tmp_path: Path) -> None:
    server = RegistryServer(tmp_path)
    server.port = 9  # no server listens there
    with pytest.raises(JudgeFault, match=server.host) as caught:
        find_image(settings(server), f"{server.host}/a@{DIGEST}")
    assert caught.value.cause is FaultCause.REGISTRY


class HostileAnswers:
    """The answers of a hostile registry, status, headers and body by path; `requests` has paths and credentials."""

    def __init__(self) -> None:
        self.by_path: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.requests: list[tuple[str, str | None]] = []


@pytest.fixture
def hostile() -> Iterator[tuple[str, HostileAnswers]]:
    """The address of a server on loopback, and the answers that it gives."""
    answer = HostileAnswers()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer.requests.append((self.path, self.headers.get("Authorization")))
            status, headers, body = answer.by_path.get(self.path, (404, {}, b""))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}", answer
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def read_from(host: str, digest: str, **fields: object) -> RegistryImage:
    return find_image(JudgeSettings(registries=(host,), **fields), f"{host}/a/b@{digest}")  # type: ignore[arg-type]


def test_bytes_that_do_not_match_their_digest_are_refused(hostile: tuple[str, HostileAnswers]) -> None:
    host, answer = hostile
    image = MadeImage([some_tar()])
    other = MadeImage([some_tar()])
    answer.by_path[f"/v2/a/b/manifests/{sha256(image.manifest())}"] = (200, {}, other.manifest())
    with pytest.raises(SubmissionFault, match="other bytes"):
        read_from(host, sha256(image.manifest()))
    answer.by_path[f"/v2/a/b/manifests/{sha256(image.manifest())}"] = (200, {}, image.manifest())
    in_registry = read_from(host, sha256(image.manifest()))
    blob = in_registry.manifest.layers[0]
    for body in (other.blobs()[0], image.blobs()[0][:-1], image.blobs()[0] + b"x", b""):
        answer.by_path[f"/v2/a/b/blobs/{blob.digest}"] = (200, {}, body)
        with pytest.raises(SubmissionFault, match="other bytes"):
            list(in_registry.layer(blob))
    answer.by_path[f"/v2/a/b/blobs/{image.id}"] = (200, {"Content-Encoding": "gzip"}, image.config)
    assert in_registry.config() == image.config  # the header does not make the judge unpack it


def test_an_answer_that_is_too_large_is_not_read_to_its_end(hostile: tuple[str, HostileAnswers]) -> None:
    host, answer = hostile
    large = b" " * (MAX_MANIFEST + 1)
    answer.by_path[f"/v2/a/b/manifests/{sha256(large)}"] = (200, {}, large)
    with pytest.raises(SubmissionFault, match=f"more than {MAX_MANIFEST} bytes"):
        read_from(host, sha256(large))
    config = b" " * (MAX_CONFIG + 1)
    manifest = manifest_of({"digest": sha256(config), "size": 5}, [])
    answer.by_path[f"/v2/a/b/manifests/{sha256(manifest)}"] = (200, {}, manifest)
    answer.by_path[f"/v2/a/b/blobs/{sha256(config)}"] = (200, {}, config)
    with pytest.raises(SubmissionFault, match=f"more than {MAX_CONFIG} bytes"):
        read_from(host, sha256(manifest)).config()


@pytest.mark.parametrize(
    ("status", "of_judge"),
    [(status, False) for status in (400, 401, 403, 404, 405, 406, 410, 451)]
    + [(status, True) for status in (407, 408, 425, 429, 500, 503)],
)
def test_the_status_of_an_answer_decides_whose_fault_it_is(
    hostile: tuple[str, HostileAnswers], status: int, of_judge: bool
) -> None:
    host, answer = hostile
    answer.by_path[f"/v2/a/b/manifests/{DIGEST}"] = (status, {}, b"")
    with pytest.raises(JudgeFault if of_judge else SubmissionFault):
        read_from(host, DIGEST)


def with_login(tmp_path: Path, host: str) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"auths": {host: {"auth": "YTpzZWNyZXQ="}}}))
    return path


def test_a_credential_does_not_follow_a_redirect(hostile: tuple[str, HostileAnswers]) -> None:
    """Registries redirect to the server of their blobs. The credential is not sent, even to another port of a host."""
    host, answer = hostile
    port = host.partition(":")[2]
    path = f"/v2/a/b/manifests/{DIGEST}"
    client = RegistryClient(Repository(host, "a/b"), Login("a", "secret"))
    client.authorize(Login("a", "secret"))
    answer.by_path[path] = (307, {"Location": f"http://localhost:{port}/elsewhere"}, b"")
    answer.by_path["/elsewhere"] = (200, {}, b"")
    with pytest.raises(SubmissionFault):
        client.read(f"manifests/{DIGEST}", DIGEST, 10)
    assert [requested for requested, _ in answer.requests] == [path, "/elsewhere"]
    assert answer.requests[0][1] is not None
    assert answer.requests[1][1] is None


def test_another_port_of_the_registrys_host_does_not_get_the_credential(
    hostile: tuple[str, HostileAnswers], tmp_path: Path
) -> None:
    host, answer = hostile
    asked: list[str] = []

    def note(connection: socket.socket, request: str, _: Event) -> None:
        asked.append(request)

    with raw_server(note) as (other, _):
        challenge = {"WWW-Authenticate": f'Bearer realm="http://{other}/token",service="x",scope="y"'}
        answer.by_path[f"/v2/a/b/manifests/{DIGEST}"] = (401, challenge, b"")
        with pytest.raises(JudgeFault, match="not its own"):
            read_from(host, DIGEST, registry_config=with_login(tmp_path, host))
    assert asked == []


def test_a_token_service_that_is_not_the_registrys_own_gets_nothing(
    hostile: tuple[str, HostileAnswers], tmp_path: Path
) -> None:
    host, answer = hostile
    challenge = {"WWW-Authenticate": 'Bearer realm="https://evil.example/token",service="x",scope="y"'}
    answer.by_path[f"/v2/a/b/manifests/{DIGEST}"] = (401, challenge, b"")
    with pytest.raises(JudgeFault, match=r"evil\.example.*not its own"):
        read_from(host, DIGEST, registry_config=with_login(tmp_path, host))
    assert all(credential is None for _, credential in answer.requests)


@pytest.mark.parametrize(
    "challenge",
    ["", "Bearer", "Bearer realm", "Basic", '"', "Bearer realm=\x80", "Digest x=y", 'realm="x"', 'Bearer, realm="x"'],
)
def test_an_invalid_challenge_is_a_fault_and_no_crash(hostile: tuple[str, HostileAnswers], challenge: str) -> None:
    host, answer = hostile
    answer.by_path[f"/v2/a/b/manifests/{DIGEST}"] = (401, {"WWW-Authenticate": challenge}, b"")
    with pytest.raises((SubmissionFault, JudgeFault)):
        read_from(host, DIGEST)


def test_a_challenge_of_many_headers_costs_no_time() -> None:
    """Its parser takes a time that grows as the square of the letters."""

    def speak(connection: socket.socket, request: str, over: Event) -> None:
        header = b"WWW-Authenticate: " + b"," * 65_000 + b"\r\n"
        connection.sendall(b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n" + header * 8 + b"\r\n")

    with raw_server(speak) as (host, _):
        start = time.process_time()
        with pytest.raises(SubmissionFault, match="cannot read this image"):
            read_from(host, DIGEST)
        assert time.process_time() - start < 2


def test_a_netrc_file_is_not_read(
    hostile: tuple[str, HostileAnswers], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, answer = hostile
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with pytest.raises(SubmissionFault):
        read_from(host, DIGEST)
    assert answer.requests == [(f"/v2/a/b/manifests/{DIGEST}", None)]
