"""Images in authors' registries: found by digest, for this machine, with the judge's credential or none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from judge.config import ConfigError, JudgeSettings
from judge.images.credentials import login_for
from judge.images.manifest import MAX_CONFIG, MAX_MANIFEST
from judge.images.reference import Repository, read_reference
from judge.images.registry_client import RegistryClient, RegistryImage, find_image
from sandbox.driver import Login
from sandbox.image.image_check import MACHINE
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault, Verdict
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
        (f"10.0.0.1/a@{DIGEST}", "push yours to one of docker.io, ghcr.io"),
        (f"169.254.169.254/latest@{DIGEST}", "docker.io"),
        (f"ghcr.io:8443/a@{DIGEST}", "docker.io"),
        (f"ghcr.io@evil.example/a@{DIGEST}", "docker.io"),
        (f"GHCR.IO/a@{DIGEST}", "docker.io"),
        (f"\x1b[2J.example/a@{DIGEST}", "docker.io"),
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
    found = find_image(settings(registry), alice.push(image, kind))
    assert found.config() == image.config
    assert [b"".join(found.layer(blob)) for blob in found.manifest.layers] == image.blobs()


@pytest.mark.parametrize(("kind", "of_index"), [(MANIFEST, ""), (OCI_MANIFEST, OCI_INDEX)])
def test_of_an_index_the_image_of_this_machine_is_found(registry: RegistryServer, kind: str, of_index: str) -> None:
    mine, other = MadeImage([some_tar()]), MadeImage([some_tar()], fields={"architecture": OTHER})
    alice = AuthorsRepository(registry)
    for image in (mine, other):
        alice.push(image, kind)
    manifests = {f"linux/{OTHER}": other.manifest(kind), f"linux/{MACHINE}": mine.manifest(kind)}
    index = index_of(manifests, of_index) if of_index else index_of(manifests)
    found = find_image(settings(registry), alice.push_manifest(index))
    assert found.manifest.config.digest == mine.id
    assert found.reference.digest == sha256(mine.manifest(kind))
    only_other = index_of({f"linux/{OTHER}": other.manifest(kind)}, of_index) if of_index else None
    if only_other:
        with pytest.raises(SubmissionFault, match=f"--platform linux/{MACHINE}"):
            find_image(settings(registry), alice.push_manifest(only_other))


def test_what_is_not_there_is_its_authors_fault(registry: RegistryServer) -> None:
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
    found = find_image(settings(private_registry, registry_config=login), reference)
    assert b"".join(found.layer(found.manifest.layers[0])) == image.blobs()[0]

    with pytest.raises(SubmissionFault, match="let the judge read it"):  # of whom the judge knows no credential
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


def test_a_registry_that_does_not_answer_is_the_judges_fault(tmp_path: Path) -> None:
    server = RegistryServer(tmp_path)
    server.port = 9  # where nobody listens
    with pytest.raises(JudgeFault, match=server.host) as caught:
        find_image(settings(server), f"{server.host}/a@{DIGEST}")
    assert caught.value.cause is FaultCause.REGISTRY


class Answer:
    """What a registry that means ill answers: status, headers and body by path."""

    def __init__(self) -> None:
        self.by_path: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[tuple[str, str | None]] = []


@pytest.fixture
def hostile() -> Iterator[tuple[str, Answer]]:
    """A server on loopback that answers whatever it is told to, and its address."""
    answer = Answer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer.asked.append((self.path, self.headers.get("Authorization")))
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


def asked_of(host: str, digest: str, **fields: object) -> RegistryImage:
    return find_image(JudgeSettings(registries=(host,), **fields), f"{host}/a/b@{digest}")  # type: ignore[arg-type]


def test_bytes_that_are_not_what_their_digest_says_are_refused(hostile: tuple[str, Answer]) -> None:
    host, answer = hostile
    image = MadeImage([some_tar()])
    other = MadeImage([some_tar()])
    answer.by_path[f"/v2/a/b/manifests/{sha256(image.manifest())}"] = (200, {}, other.manifest())
    with pytest.raises(SubmissionFault, match="other bytes"):
        asked_of(host, sha256(image.manifest()))
    answer.by_path[f"/v2/a/b/manifests/{sha256(image.manifest())}"] = (200, {}, image.manifest())
    found = asked_of(host, sha256(image.manifest()))
    blob = found.manifest.layers[0]
    for body in (other.blobs()[0], image.blobs()[0][:-1], image.blobs()[0] + b"x", b""):
        answer.by_path[f"/v2/a/b/blobs/{blob.digest}"] = (200, {}, body)
        with pytest.raises(SubmissionFault, match="other bytes"):
            list(found.layer(blob))
    answer.by_path[f"/v2/a/b/blobs/{image.id}"] = (200, {"Content-Encoding": "gzip"}, image.config)
    assert found.config() == image.config  # nothing is unpacked because a header says so


def test_what_is_larger_than_it_may_be_is_not_read_to_its_end(hostile: tuple[str, Answer]) -> None:
    host, answer = hostile
    large = b" " * (MAX_MANIFEST + 1)
    answer.by_path[f"/v2/a/b/manifests/{sha256(large)}"] = (200, {}, large)
    with pytest.raises(SubmissionFault, match=f"more than {MAX_MANIFEST} bytes"):
        asked_of(host, sha256(large))
    config = b" " * (MAX_CONFIG + 1)
    manifest = manifest_of({"digest": sha256(config), "size": 5}, [])
    answer.by_path[f"/v2/a/b/manifests/{sha256(manifest)}"] = (200, {}, manifest)
    answer.by_path[f"/v2/a/b/blobs/{sha256(config)}"] = (200, {}, config)
    with pytest.raises(SubmissionFault, match=f"more than {MAX_CONFIG} bytes"):
        asked_of(host, sha256(manifest)).config()


@pytest.mark.parametrize(
    ("status", "mine"),
    [(status, False) for status in (400, 401, 403, 404, 405, 406, 410, 451)]
    + [(status, True) for status in (407, 408, 425, 429, 500, 503)],
)
def test_whose_fault_an_answer_is(hostile: tuple[str, Answer], status: int, mine: bool) -> None:
    host, answer = hostile
    answer.by_path[f"/v2/a/b/manifests/{DIGEST}"] = (status, {}, b"")
    with pytest.raises(JudgeFault if mine else SubmissionFault):
        asked_of(host, DIGEST)


def with_login(tmp_path: Path, host: str) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"auths": {host: {"auth": "YTpzZWNyZXQ="}}}))
    return path


def test_a_credential_goes_with_no_redirect(hostile: tuple[str, Answer]) -> None:
    """To another port even: as a registry sends its readers on to where its blobs are stored."""
    host, answer = hostile
    port = host.partition(":")[2]
    path = f"/v2/a/b/manifests/{DIGEST}"
    client = RegistryClient(Repository(host, "a/b"), Login("a", "secret"))
    client.authorize(Login("a", "secret"))
    answer.by_path[path] = (307, {"Location": f"http://localhost:{port}/elsewhere"}, b"")
    answer.by_path["/elsewhere"] = (200, {}, b"")
    with pytest.raises(SubmissionFault):
        client.read(f"manifests/{DIGEST}", DIGEST, 10)
    assert [asked for asked, _ in answer.asked] == [path, "/elsewhere"]
    assert answer.asked[0][1] is not None
    assert answer.asked[1][1] is None


def test_a_token_service_that_is_not_the_registrys_own_gets_nothing(
    hostile: tuple[str, Answer], tmp_path: Path
) -> None:
    host, answer = hostile
    challenge = {"WWW-Authenticate": 'Bearer realm="https://evil.example/token",service="x",scope="y"'}
    answer.by_path[f"/v2/a/b/manifests/{DIGEST}"] = (401, challenge, b"")
    with pytest.raises(JudgeFault, match=r"evil\.example.*not its own"):
        asked_of(host, DIGEST, registry_config=with_login(tmp_path, host))
    assert all(credential is None for _, credential in answer.asked)


@pytest.mark.parametrize("challenge", ["", "Bearer", "Bearer realm", "Basic", '"', "Bearer realm=\x80", "Digest x=y"])
def test_a_challenge_that_nobody_can_answer_is_no_crash(hostile: tuple[str, Answer], challenge: str) -> None:
    host, answer = hostile
    answer.by_path[f"/v2/a/b/manifests/{DIGEST}"] = (401, {"WWW-Authenticate": challenge}, b"")
    with pytest.raises((SubmissionFault, JudgeFault)):
        asked_of(host, DIGEST)


def test_a_netrc_file_is_not_read(hostile: tuple[str, Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host, answer = hostile
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with pytest.raises(SubmissionFault):
        asked_of(host, DIGEST)
    assert answer.asked == [(f"/v2/a/b/manifests/{DIGEST}", None)]
