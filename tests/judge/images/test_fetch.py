"""An author's image is checked and brought into the mirror, by reference or in parts."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest

from judge.config import ConfigError, JudgeSettings
from judge.images.fetch import mirror_image, resolve_id
from judge.workspace import Workspace
from sandbox.image.image_check import MACHINE
from sandbox.verdict import FaultCause, JudgeFault, Verdict
from submissions.requests import ReferredImage, SentPart
from tests.judge.images.arrivals import HOSTILE, refer, refused, symbolic_link, upload
from tests.servers.registry import RegistryServer
from tests.world.small_images import (
    OCI_MANIFEST,
    AuthorsRepository,
    MadeImage,
    index_of,
    manifest_of,
    send,
    sha256,
    some_tar,
    tar_of,
)

OTHER = "amd64" if MACHINE == "arm64" else "arm64"


@pytest.mark.parametrize("kind", ["docker", "oci", "index"])
def test_by_reference(
    settings: JudgeSettings, registry: RegistryServer, mirrored: AuthorsRepository, kind: str
) -> None:
    image, alice = MadeImage([some_tar(), some_tar()]), AuthorsRepository(registry)
    reference = alice.push(image, OCI_MANIFEST) if kind == "oci" else alice.push(image)
    if kind == "index":
        reference = alice.push_manifest(index_of({f"linux/{MACHINE}": image.manifest()}))
    assert resolve_id(settings, ReferredImage(reference=reference)) == image.id
    arrived = refer(settings, reference)
    assert (arrived.image_id, arrived.layers, arrived.reference) == (image.id, image.diff_ids, reference)
    assert arrived.size_bytes == sum(map(len, image.tars))
    name, _, digest = arrived.mirror.partition("@")
    assert name == settings.mirror
    manifest = mirrored.request("get", f"manifests/{digest}", headers={"Accept": "*/*"})
    assert sha256(manifest.content) == digest
    assert manifest.json()["config"]["digest"] == image.id
    assert [layer["digest"] for layer in manifest.json()["layers"]] == [sha256(blob) for blob in image.mirrored_blobs()]


def test_in_parts(settings: JudgeSettings, mirrored: AuthorsRepository) -> None:
    twice = some_tar()
    image = MadeImage([some_tar(), twice, twice])
    sent = send(image)
    assert len(sent.parts) > 3
    assert resolve_id(settings, sent.request) == image.id
    arrived = upload(settings, sent)
    assert (arrived.image_id, arrived.layers, arrived.reference) == (image.id, image.diff_ids, "alice/model:1")
    assert mirrored.request("get", f"blobs/{image.id}").content == image.config
    blobs = image.mirrored_blobs()
    assert [mirrored.request("get", f"blobs/{sha256(blob)}").content for blob in blobs] == blobs
    assert not any(mirrored.has_blob(sha256(blob)) for blob in image.blobs())


def test_a_private_registry_is_read_and_a_private_mirror_written(
    settings: JudgeSettings, private_registry: RegistryServer, tmp_path: Path
) -> None:
    login = tmp_path / "config.json"
    login.write_text(json.dumps(private_registry.docker_config))
    settings = settings.model_copy(
        update={
            "registries": (private_registry.host,),
            "mirror": f"{private_registry.host}/judge/{tmp_path.name[-20:].replace('_', '-')}",
            "registry_config": login,
        }
    )
    image = MadeImage([some_tar()])
    assert refer(settings, AuthorsRepository(private_registry).push(image)).image_id == image.id
    for config in (None, tmp_path / "wrong.json"):
        (tmp_path / "wrong.json").write_text(
            json.dumps({"auths": {private_registry.host: {"auth": "ZGVwbG95Onh4"}}})  # another password
        )
        with pytest.raises(JudgeFault, match="registry_config") as caught:
            upload(settings.model_copy(update={"registry_config": config}), send(MadeImage([some_tar()])))
        assert caught.value.cause is FaultCause.REGISTRY


def test_without_a_mirror_nothing_arrives(settings: JudgeSettings) -> None:
    for mirror, clue in (("", "is not set"), ("https://x/y", "not the name"), ("localhost:5000", "not the name")):
        with pytest.raises(ConfigError, match=f"mirror: .*{clue}"):
            upload(settings.model_copy(update={"mirror": mirror}), send(MadeImage([some_tar()])))


def test_a_mirror_that_does_not_answer_is_a_judge_fault(settings: JudgeSettings) -> None:
    with pytest.raises(JudgeFault, match=r"127\.0\.0\.1:9") as caught:
        upload(settings.model_copy(update={"mirror": "127.0.0.1:9/judge"}), send(MadeImage([some_tar()])))
    assert caught.value.cause is FaultCause.REGISTRY


def test_the_configuration_is_checked_before_a_layer_is_transferred(
    settings: JudgeSettings, registry: RegistryServer
) -> None:
    def untouched(part: SentPart) -> None:
        raise AssertionError("a layer was transferred")

    for image, clue, verdict in (
        (MadeImage([some_tar()], fields={"architecture": OTHER}), f"--platform linux/{MACHINE}", Verdict.IMAGE_INVALID),
        (MadeImage([some_tar()], settings={"Labels": {}}), "org.lambench.calculator", Verdict.IMAGE_INVALID),
        (MadeImage([some_tar()], settings={"Env": ["LD_PRELOAD=/x"]}), "LD_PRELOAD", Verdict.POLICY_VIOLATION),
        (MadeImage([some_tar()], settings={"Env": 5}), "Env", Verdict.IMAGE_INVALID),
        (
            MadeImage([some_tar()], fields={"rootfs": {"type": "layers", "diff_ids": []}}),
            "rootfs",
            Verdict.IMAGE_INVALID,
        ),
    ):
        sent, reference = send(image), AuthorsRepository(registry).push(image)
        for act in (
            lambda sent=sent: mirror_image(Workspace(settings), sent.request, (), untouched, print),
            lambda reference=reference: refer(settings, reference),
        ):
            fault = refused(act)
            assert fault.verdict is verdict
            assert clue in fault.sentence


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_layer_does_not_reach_the_mirror(
    settings: JudgeSettings, registry: RegistryServer, mirrored: AuthorsRepository, name: str
) -> None:
    tar, clue, verdict = HOSTILE[name]
    image = MadeImage([some_tar(), tar])
    reference = AuthorsRepository(registry).push(image)
    for fault in (refused(lambda: refer(settings, reference)), refused(lambda: upload(settings, send(image)))):
        assert fault.verdict is verdict
        assert clue in fault.sentence
    assert not mirrored.has_blob(sha256(image.blobs()[1]))
    assert not mirrored.has_blob(sha256(image.mirrored_blobs()[1]))
    assert not mirrored.has_blob(image.id)


@pytest.mark.parametrize(("folder", "clue"), [("/a/x", "'/proc/x'"), ("/b/a", "'/proc'"), ("/b", "")])
def test_the_folder_of_an_image_is_its_own_once_links_are_followed(
    settings: JudgeSettings, folder: str, clue: str
) -> None:
    """Links in different layers."""
    layers = [tar_of(symbolic_link("a", "/proc"), ("x", os.urandom(9))), tar_of(symbolic_link("b", "."))]
    sent = send(MadeImage(layers, settings={"WorkingDir": folder}))
    if clue:
        assert f"WORKDIR is {clue}" in refused(lambda: upload(settings, sent)).sentence
    else:
        upload(settings, sent)


def test_layers_that_differ_from_the_configuration_are_refused(
    settings: JudgeSettings, registry: RegistryServer
) -> None:
    image, other, alice = MadeImage([some_tar()]), MadeImage([some_tar(), some_tar()]), AuthorsRepository(registry)
    alice.push(other)
    alice.push(image)
    config = {"digest": image.id, "size": len(image.config)}
    blobs = [{"digest": sha256(blob), "size": len(blob)} for blob in other.blobs()]
    for layers, clue in ((blobs, "2 layers but names 1"), (blobs[:1], "not the one that the image names")):
        reference = alice.push_manifest(manifest_of(config, layers))
        assert clue in refused(lambda reference=reference: refer(settings, reference)).sentence
    sent = send(image, blobs=other.blobs()[:1])
    assert "not the one that the image names" in refused(lambda: upload(settings, sent)).sentence
    fewer = dataclasses.replace(sent, request=sent.request.model_copy(update={"layers": ()}))
    assert "not those that the image names" in refused(lambda: upload(settings, fewer)).sentence


def test_parts_that_differ_from_the_request_are_refused(settings: JudgeSettings, mirrored: AuthorsRepository) -> None:
    for spoil in (
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: b"",
    ):
        sent = send(MadeImage([some_tar()]))
        slot = list(sent.parts)[1]
        sent.parts[slot] = spoil(sent.parts[slot])
        fault = refused(lambda sent=sent: upload(settings, sent))
        assert fault.verdict is Verdict.IMAGE_INVALID
        assert slot in fault.sentence
        assert "other bytes" in fault.sentence
        assert not mirrored.has_blob(sha256(sent.made.mirrored_blobs()[0]))
    sent = send(MadeImage([some_tar()]))
    slot = list(sent.parts)[1]
    del sent.parts[slot]
    assert f"(upload slot {slot}) was not uploaded" in refused(lambda: upload(settings, sent)).sentence
