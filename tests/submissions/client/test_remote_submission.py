"""A submission by reference to a registry, and what cannot be asked for together."""

from __future__ import annotations

import json
from pathlib import Path

import docker
import pytest

from submissions.client.remote_submission import registry_reference
from submissions.client.status_bucket import InviteError
from tests.servers.registry import RegistryServer
from tests.servers.rgw import RgwServer
from tests.submissions.author_desk import AuthorDesk, run_here
from tests.submissions.small_image import layer, small_image

pytestmark = pytest.mark.docker

NAMED = 'name = "small"\n'


@pytest.fixture
def desk(rgw: RgwServer, tmp_path: Path) -> AuthorDesk:
    desk = AuthorDesk(rgw, tmp_path)
    (tmp_path / "lambench.toml").write_text(NAMED)
    return desk


def test_by_reference(desk: AuthorDesk, engine: docker.DockerClient, registry: RegistryServer) -> None:
    desk.put_forms()
    with small_image(engine, layer("pushed", b"1"), repository=f"{registry.host}/group") as image:
        status, _, err = desk.run(image.name, "--no-check")
        assert status == 2
        expected = f"push it first (docker push {image.name}), or send it with --upload"
        assert expected in " ".join(err.split())
        for line in engine.images.push(image.name, stream=True, decode=True):
            assert "error" not in line, line
        pushed = engine.images.get(image.name).attrs["RepoDigests"][0]
        status, out = desk.run_json(image.name, "--no-check")
        assert status == 0
    (letter,) = desk.letters()
    assert letter.image.reference == pushed
    assert pushed.startswith(f"{registry.host}/group/small-")
    assert letter.image.by == "reference"
    assert json.dumps(out).count(image.id) == 1


def test_a_reference_by_digest_needs_nothing_here(desk: AuthorDesk) -> None:
    desk.put_forms()
    reference = f"registry.example.org/group/model@sha256:{'1' * 64}"
    status, out, err = desk.run(reference, "--no-check")
    assert status == 0, err
    assert "lambench-submit list" in out
    assert desk.letters()[0].image.reference == reference


@pytest.mark.parametrize(
    ("image", "digests", "expected"),
    [
        ("ghcr.io/a/b:1", ("other.io/a/b@sha256:2", "ghcr.io/a/b@sha256:1"), "ghcr.io/a/b@sha256:1"),
        ("localhost:5000/b:1", ("localhost:5000/b@sha256:1",), "localhost:5000/b@sha256:1"),
        ("localhost:5000/b", ("localhost:5000/b@sha256:1",), "localhost:5000/b@sha256:1"),
        ("docker.io/a/b:1", ("a/b@sha256:1",), "docker.io/a/b@sha256:1"),
        ("a/b:1", ("a/b@sha256:1",), "docker.io/a/b@sha256:1"),
        ("b", ("b@sha256:1",), "docker.io/library/b@sha256:1"),
        ("index.docker.io/a/b", ("a/b@sha256:1",), "docker.io/a/b@sha256:1"),
    ],
)
def test_the_digest_of_the_repository_that_was_named(image: str, digests: tuple[str, ...], expected: str) -> None:
    assert registry_reference(image, digests) == expected


def test_a_digest_of_another_repository_does_not_count() -> None:
    with pytest.raises(InviteError, match="push it first"):
        registry_reference("ghcr.io/a/b:1", ("ghcr.io/a/c@sha256:1",))


def test_options_that_exclude_each_other(desk: AuthorDesk) -> None:
    for options in (["--store", "elsewhere"], ["--driver", "process"], ["--python", "python3"]):
        status, _, err = desk.run("x:1", *options)
        assert status == 2
        assert "an invitation is for images of Docker" in err
    for option in ("--upload", "--no-check"):
        status, _, err = run_here(desk.root, {}, "x:1", option)
        assert status == 2
        assert "give --invite FILE" in err
