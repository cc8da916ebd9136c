"""How an author's image comes into the judge's registry, by reference and in parts, and what stops it on the way."""

from __future__ import annotations

import dataclasses
import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from judge.config import ConfigError, JudgeSettings
from judge.images import fetch
from judge.images.fetch import MirroredImage, mirror_image, mirror_layers, resolve_id
from judge.images.mirror import open_mirror
from judge.workspace import Workspace
from sandbox.image.image_check import MACHINE
from sandbox.image.tar_entries import TarBudget
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault, Verdict
from submissions.requests import ReferredImage, SentLayer, SentPart, UploadedImage
from tests.servers.registry import RegistryServer
from tests.world.small_images import (
    OCI_MANIFEST,
    AuthorsRepository,
    MadeImage,
    SentImage,
    index_of,
    manifest_of,
    send,
    sha256,
    some_tar,
    tar_of,
)

OTHER = "amd64" if MACHINE == "arm64" else "arm64"


@pytest.fixture
def settings(registry: RegistryServer, tmp_path: Path) -> JudgeSettings:
    """Of a judge with a mirror and a store of its own, who fetches from the same registry."""
    return JudgeSettings(
        store=str(tmp_path / "store"),
        mirror=f"{registry.host}/judge-{tmp_path.name.lower().replace('_', '-')[-30:]}/images",
        registries=(registry.host,),
        max_image_bytes=10 * 1024**2,
        min_free_bytes=0,
    )


@pytest.fixture
def mirrored(settings: JudgeSettings, registry: RegistryServer) -> AuthorsRepository:
    """What the mirror has, seen without any code of the judge's."""
    return AuthorsRepository(registry, settings.mirror.partition("/")[2])


def nothing(part: SentPart) -> None:
    raise KeyError(part.slot)


def refer(settings: JudgeSettings, reference: str, held: tuple[str, ...] = ()) -> MirroredImage:
    said: list[str] = []
    return mirror_image(Workspace(settings), ReferredImage(reference=reference), held, nothing, said.append)  # type: ignore[arg-type]


def upload(
    settings: JudgeSettings,
    sent: SentImage,
    held: tuple[str, ...] = (),
    say: Callable[[str], None] = lambda line: None,
) -> MirroredImage:
    return mirror_image(Workspace(settings), sent.request, held, sent.part, say)


def refused(act: Callable[[], object]) -> SubmissionFault:
    with pytest.raises(SubmissionFault) as caught:
        act()
    assert caught.value.sentence.isprintable()
    return caught.value


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
    assert [layer["digest"] for layer in manifest.json()["layers"]] == [sha256(blob) for blob in image.blobs()]


def test_in_parts(settings: JudgeSettings, mirrored: AuthorsRepository) -> None:
    twice = some_tar()
    image = MadeImage([some_tar(), twice, twice])
    sent = send(image)
    assert len(sent.parts) > 3
    assert resolve_id(settings, sent.request) == image.id
    arrived = upload(settings, sent)
    assert (arrived.image_id, arrived.layers, arrived.reference) == (image.id, image.diff_ids, "alice/model:1")
    assert mirrored.request("get", f"blobs/{image.id}").content == image.config
    assert [mirrored.request("get", f"blobs/{sha256(blob)}").content for blob in image.blobs()] == image.blobs()


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
    for mirror, clue in (("", "is not set"), ("https://x/y", "no name"), ("localhost:5000", "no name")):
        with pytest.raises(ConfigError, match=f"mirror: .*{clue}"):
            upload(settings.model_copy(update={"mirror": mirror}), send(MadeImage([some_tar()])))


def test_a_mirror_that_does_not_answer_is_the_judges_fault(settings: JudgeSettings) -> None:
    with pytest.raises(JudgeFault, match=r"127\.0\.0\.1:9") as caught:
        upload(settings.model_copy(update={"mirror": "127.0.0.1:9/judge"}), send(MadeImage([some_tar()])))
    assert caught.value.cause is FaultCause.REGISTRY


def test_the_configuration_is_checked_before_anything_travels(
    settings: JudgeSettings, registry: RegistryServer
) -> None:
    def untouched(part: SentPart) -> None:
        raise AssertionError("a layer travelled")

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


def device() -> bytes:
    info = tarfile.TarInfo("dev/sda")
    info.type, info.devmajor, info.devminor = tarfile.BLKTYPE, 8, 0
    return tar_of(info)


def hard_link() -> bytes:
    info = tarfile.TarInfo("opt/x")
    info.type, info.linkname = tarfile.LNKTYPE, "../../etc/shadow"
    return tar_of(info)


HOSTILE = {
    "bomb": (tar_of(("zeros", bytes(11 * 1024**2))), "GiB", Verdict.POLICY_VIOLATION),
    "path escape": (tar_of(("opt/../../etc/x", b"")), "leads out", Verdict.POLICY_VIOLATION),
    "absolute path": (tar_of(("/etc/x", b"")), "leads out", Verdict.POLICY_VIOLATION),
    "hard link": (hard_link(), "leads out", Verdict.POLICY_VIOLATION),
    "device": (device(), "device", Verdict.POLICY_VIOLATION),
    "no tar": (b"no tar" * 500, "no tar", Verdict.IMAGE_INVALID),
}


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
    assert not mirrored.has_blob(image.id)


def test_layers_that_are_not_those_of_the_configuration(settings: JudgeSettings, registry: RegistryServer) -> None:
    image, other, alice = MadeImage([some_tar()]), MadeImage([some_tar(), some_tar()]), AuthorsRepository(registry)
    alice.push(other)
    alice.push(image)
    config = {"digest": image.id, "size": len(image.config)}
    blobs = [{"digest": sha256(blob), "size": len(blob)} for blob in other.blobs()]
    for layers, clue in ((blobs, "2 layers, and names 1"), (blobs[:1], "not the one that the image names")):
        reference = alice.push_manifest(manifest_of(config, layers))
        assert clue in refused(lambda reference=reference: refer(settings, reference)).sentence
    sent = send(image, blobs=other.blobs()[:1])
    assert "not the one that the image names" in refused(lambda: upload(settings, sent)).sentence
    fewer = dataclasses.replace(sent, request=sent.request.model_copy(update={"layers": ()}))
    assert "not those that the image names" in refused(lambda: upload(settings, fewer)).sentence


def test_parts_are_those_that_were_announced(settings: JudgeSettings, mirrored: AuthorsRepository) -> None:
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
        assert not mirrored.has_blob(sha256(sent.made.blobs()[0]))
    sent = send(MadeImage([some_tar()]))
    slot = list(sent.parts)[1]
    del sent.parts[slot]
    assert f"(slot {slot}) was not uploaded" in refused(lambda: upload(settings, sent)).sentence


def test_an_image_is_too_large_before_it_travels(settings: JudgeSettings) -> None:
    part = SentPart(slot="0" * 32, n_bytes=200 * 1024**2, sha256="0" * 64)
    image = MadeImage([some_tar()])
    layer = SentLayer(diff_id=image.diff_ids[0], parts=(part,))
    request = UploadedImage(reference="x", config=image.config.decode(), layers=(layer,))
    fault = refused(lambda: mirror_image(Workspace(settings), request, (), nothing, print))  # type: ignore[arg-type]
    assert fault.verdict is Verdict.POLICY_VIOLATION
    assert "GiB" in fault.sentence


def test_held_layers_need_not_be_sent_and_count_still(settings: JudgeSettings) -> None:
    base = some_tar()
    first = upload(settings, send(MadeImage([base])))
    image = MadeImage([base, some_tar()])
    sent = send(image, left_out=first.layers)
    lines: list[str] = []
    arrived = upload(settings, sent, held=first.layers, say=lines.append)
    assert (arrived.image_id, arrived.layers) == (image.id, image.diff_ids)
    assert arrived.size_bytes == sum(map(len, image.tars))
    assert lines[0] == "Layer 1 of 2 is here already."
    small = settings.model_copy(update={"max_image_bytes": len(base) + 1})
    assert refused(lambda: upload(small, sent, held=first.layers)).verdict is Verdict.POLICY_VIOLATION


def test_a_layer_counts_as_often_as_it_is_unpacked(settings: JudgeSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine unpacks it once for each place: a hundred times one gigabyte are a hundred gigabytes."""
    tar = some_tar()
    image = MadeImage([tar] * 5)
    assert upload(settings, send(image)).size_bytes == 5 * len(tar)
    small = settings.model_copy(update={"max_image_bytes": 5 * len(tar) - 1})
    assert refused(lambda: upload(small, send(image))).verdict is Verdict.POLICY_VIOLATION
    held = image.diff_ids[:1]
    assert refused(lambda: upload(small, send(image, left_out=held), held=held)).verdict is Verdict.POLICY_VIOLATION
    budget = fetch.ImageBudget
    monkeypatch.setattr(fetch, "ImageBudget", lambda max_bytes: budget(max_bytes, tar=TarBudget(entries=4)))
    assert "files" in refused(lambda: upload(settings, send(image))).sentence


def test_an_engines_disk_without_room_is_found_before_anything_travels(
    settings: JudgeSettings, mirrored: AuthorsRepository, tmp_path: Path
) -> None:
    free = shutil.disk_usage(tmp_path).free
    huge = settings.model_copy(update={"max_image_bytes": 1 << 60})
    part = SentPart(slot="0" * 32, n_bytes=200 * 1024**2, sha256="0" * 64)
    image = MadeImage([some_tar()])
    layer = SentLayer(diff_id=image.diff_ids[0], parts=(part,) * (free // part.n_bytes + 20))
    request = UploadedImage(reference="x", config=image.config.decode(), layers=(layer,))
    for limit, fault in ((huge, JudgeFault), (settings, SubmissionFault)):  # what is too large is its author's
        with pytest.raises(fault):
            mirror_image(Workspace(limit), request, (), nothing, print, [tmp_path])  # type: ignore[arg-type]


def test_of_a_base_image_the_layers_alone_matter(settings: JudgeSettings, registry: RegistryServer) -> None:
    base = MadeImage([some_tar(), some_tar()], settings={"Labels": {}})
    reference = AuthorsRepository(registry).push(base)
    assert "org.lambench.calculator" in refused(lambda: refer(settings, reference)).sentence
    kept = mirror_layers(Workspace(settings), ReferredImage(reference=reference), lambda line: None)
    assert kept == base.diff_ids
    mirror = open_mirror(Workspace(settings))
    assert all(mirror.layer(diff_id) for diff_id in kept)
    escape = AuthorsRepository(registry).push(MadeImage([HOSTILE["path escape"][0]], settings={"Labels": {}}))
    refused(lambda: mirror_layers(Workspace(settings), ReferredImage(reference=escape), lambda line: None))


def test_another_authors_layer_is_not_to_be_had_by_its_name(
    settings: JudgeSettings, registry: RegistryServer, mirrored: AuthorsRepository
) -> None:
    """Neither by its diff ID, nor by the digest under which it lies in the mirror."""
    secret = some_tar("weights.bin")
    victim = MadeImage([secret])
    upload(settings, send(victim))
    thief = MadeImage([secret, some_tar("reader.py")])
    fault = refused(lambda: upload(settings, send(thief, left_out=victim.diff_ids), held=("sha256:" + "0" * 64,)))
    assert fault.verdict is Verdict.IMAGE_INVALID
    assert "none that its author may leave out" in fault.sentence

    # A registry that takes manifests of blobs that it does not have: as if the thief had deleted the blob.
    mallory = AuthorsRepository(registry, "mallory/model")
    reference = mallory.push(thief)
    stolen = sha256(thief.blobs()[0])
    mallory.request("delete", f"blobs/{stolen}")
    assert not mallory.has_blob(stolen)
    assert mirrored.has_blob(stolen)
    assert "cannot read this image" in refused(lambda: refer(settings, reference)).sentence
    assert not mirrored.has_blob(thief.id)


def test_a_held_layer_that_the_mirror_lost_is_the_judges_fault_until_it_is_sent_again(
    settings: JudgeSettings, mirrored: AuthorsRepository
) -> None:
    base = some_tar()
    held = upload(settings, send(MadeImage([base]))).layers
    mirrored.request("delete", f"blobs/{sha256(MadeImage([base]).blobs()[0])}")
    image = MadeImage([base, some_tar()])
    with pytest.raises(JudgeFault, match=held[0]) as caught:
        upload(settings, send(image, left_out=held), held=held)
    assert caught.value.cause is FaultCause.REGISTRY
    upload(settings, send(MadeImage([base])), held=held)
    assert upload(settings, send(image, left_out=held), held=held).image_id == image.id
    again = open_mirror(Workspace(settings)).layer(held[0])
    assert again is not None
    assert again.unpacked_bytes == len(base)


def test_without_room_on_the_disk_nothing_travels(settings: JudgeSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    full = settings.model_copy(update={"min_free_bytes": 1 << 60})
    with pytest.raises(JudgeFault, match="free at") as caught:
        mirror_image(Workspace(full), send(MadeImage([some_tar()])).request, (), nothing, print)  # type: ignore[arg-type]
    assert caught.value.cause is FaultCause.DISK
    monkeypatch.setenv("TMPDIR", "/nothing/there")
    with pytest.raises(JudgeFault, match="TMPDIR"):
        upload(settings, send(MadeImage([some_tar()])))


def test_nothing_is_left_of_what_passed_through(
    settings: JudgeSettings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "spool").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "spool"))
    seen: list[int] = []
    written = fetch._written

    def watched(*arguments: object) -> object:
        seen.append(len(list((tmp_path / "spool").iterdir())))
        return written(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(fetch, "_written", watched)
    upload(settings, send(MadeImage([some_tar()])))
    refused(lambda: upload(settings, send(MadeImage([device()]))))
    assert seen == [0, 0]  # even while it is written it has no name, and dies with its judge
    assert not list((tmp_path / "spool").iterdir())
