"""A submission by reference to a registry, and options that exclude each other."""

from __future__ import annotations

import json
import re

import docker
import pytest

from submissions.client.remote_submission import registry_reference
from submissions.client.status_bucket import InviteError
from tests.servers.registry import RegistryServer
from tests.submissions.small_image import layer, small_image
from tests.world.author_machine import AuthorMachine, run_here

pytestmark = pytest.mark.docker


def test_by_reference(author: AuthorMachine, engine: docker.DockerClient, registry: RegistryServer) -> None:
    author.put_forms()
    with small_image(engine, layer("pushed", b"1"), repository=f"{registry.host}/group") as image:
        status, _, err = author.run(image.name, "--no-check")
        assert status == 2
        expected = f"push it first (docker push {image.name}), or send it with --upload"
        assert expected in " ".join(err.split())
        for line in engine.images.push(image.name, stream=True, decode=True):
            assert "error" not in line, line
        pushed = engine.images.get(image.name).attrs["RepoDigests"][0]
        status, out = author.run_json(image.name, "--no-check")
        assert status == 0
    (request,) = author.requests()
    assert request.image.reference == pushed
    assert pushed.startswith(f"{registry.host}/group/small-")
    assert request.image.by == "reference"
    assert json.dumps(out).count(image.id) == 1


def test_a_reference_by_digest_needs_nothing_here(author: AuthorMachine) -> None:
    author.put_forms()
    reference = f"registry.example.org/group/model@sha256:{'1' * 64}"
    status, out, err = author.run(reference, "--no-check")
    assert status == 0, err
    assert "lambench-submit list\n" in out
    assert author.requests()[0].image.reference == reference


def test_the_next_command_names_the_invitation_unless_the_variable_does(author: AuthorMachine) -> None:
    author.put_forms()
    without_variable = {name: value for name, value in author.environment.items() if name != "LAMBENCH_INVITE"}
    reference = f"registry.example.org/group/model@sha256:{'2' * 64}"
    status, out, err = run_here(author.root, without_variable, reference, "--invite", str(author.file), "--no-check")
    assert status == 0, err
    command = re.search(r"lambench-submit (list .*)\n", out)
    assert command
    assert run_here(author.root, without_variable, *command[1].split())[0] == 0


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


def test_an_image_without_a_registry_in_its_name_gets_one_before_it_is_pushed() -> None:
    with pytest.raises(InviteError, match=r"\(docker tag my-model:1 HOST/my-model:1; docker push HOST/my-model:1\)"):
        registry_reference("my-model:1", ())
    with pytest.raises(InviteError, match=r"push it first \(docker push ghcr.io/a/b:1\)"):
        registry_reference("ghcr.io/a/b:1", ())


def test_options_that_exclude_each_other(author: AuthorMachine) -> None:
    for options in (["--store", "elsewhere"], ["--driver", "process"], ["--python", "python3"]):
        status, _, err = author.run("x:1", *options)
        assert status == 2
        assert "an invitation is for images of Docker" in err
    for option in ("--upload", "--no-check"):
        status, _, err = run_here(author.root, {}, "x:1", option)
        assert status == 2
        assert "give --invite FILE" in err
