"""An author may leave out held layers, and must send all others."""

from __future__ import annotations

import json

import pytest

from judge.config import JudgeSettings
from judge.images.fetch import mirror_layers
from judge.images.mirror import open_mirror
from judge.workspace import Workspace
from sandbox.verdict import FaultCause, JudgeFault, Verdict
from submissions.requests import ReferredImage
from tests.judge.images.arrivals import HOSTILE, refer, refused, upload
from tests.servers.registry import RegistryServer
from tests.world.small_images import AuthorsRepository, MadeImage, manifest_of, send, sha256, some_tar


def test_held_layers_need_not_be_sent_and_count_in_the_size(settings: JudgeSettings) -> None:
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


def test_a_layer_of_a_registry_that_is_held_is_not_fetched_again(
    settings: JudgeSettings, registry: RegistryServer
) -> None:
    """Known by what its author sent, although the mirror has the judge's own gzip."""
    base = some_tar()
    held = refer(settings, AuthorsRepository(registry).push(MadeImage([base]))).layers
    image, alice = MadeImage([base, some_tar()]), AuthorsRepository(registry, "alice/second")
    reference = alice.push(image)
    alice.request("delete", f"blobs/{sha256(image.blobs()[0])}")
    assert refer(settings, reference, held).image_id == image.id


def test_a_held_layer_that_its_author_compressed_is_compressed_again(
    settings: JudgeSettings, mirrored: AuthorsRepository
) -> None:
    """A record of version 1: the mirror has the bytes that were sent. They are written again once, and are not sent."""
    workspace, base = Workspace(settings), MadeImage([some_tar()])
    sent = mirrored.push_blob(base.blobs()[0])
    (diff_id,) = base.diff_ids
    record = {
        "schema_version": 1,
        "diff_id": diff_id,
        "digest": sent,
        "n_bytes": len(base.blobs()[0]),
        "unpacked_bytes": len(base.tars[0]),
        "gzipped": True,
        "mirrored": "2026-11-21T20:30:00Z",
    }
    workspace.store.put_if_absent(f"layers/{diff_id.removeprefix('sha256:')}.json", json.dumps(record).encode())
    image = MadeImage([base.tars[0], some_tar()])
    arrived = upload(settings, send(image, left_out=base.diff_ids), held=base.diff_ids)
    assert (arrived.image_id, arrived.size_bytes) == (image.id, sum(map(len, image.tars)))
    manifest = mirrored.request("get", f"manifests/{arrived.mirror.partition('@')[2]}", headers={"Accept": "*/*"})
    assert [layer["digest"] for layer in manifest.json()["layers"]] == [sha256(b) for b in image.mirrored_blobs()]
    layer = open_mirror(workspace).layer(diff_id)
    assert layer is not None
    assert (layer.received, layer.digest) == (sent, sha256(base.mirrored_blobs()[0]))
    mirrored.request("delete", f"blobs/{sent}")
    assert upload(settings, send(image, left_out=image.diff_ids), held=image.diff_ids) == arrived


def test_a_base_image_needs_no_calculator(settings: JudgeSettings, registry: RegistryServer) -> None:
    base = MadeImage([some_tar(), some_tar()], settings={"Labels": {}})
    reference = AuthorsRepository(registry).push(base)
    assert "org.lambench.calculator" in refused(lambda: refer(settings, reference)).sentence
    kept = mirror_layers(Workspace(settings), ReferredImage(reference=reference), lambda line: None)
    assert kept == base.diff_ids
    mirror = open_mirror(Workspace(settings))
    assert all(mirror.layer(diff_id) for diff_id in kept)
    escape = AuthorsRepository(registry).push(MadeImage([HOSTILE["path escape"][0]], settings={"Labels": {}}))
    refused(lambda: mirror_layers(Workspace(settings), ReferredImage(reference=escape), lambda line: None))


def test_the_name_of_another_authors_layer_does_not_give_the_layer(
    settings: JudgeSettings, registry: RegistryServer, mirrored: AuthorsRepository
) -> None:
    """Neither its diff ID nor its digest in the mirror does."""
    secret = some_tar("weights.bin")
    victim = MadeImage([secret])
    upload(settings, send(victim))
    thief = MadeImage([secret, some_tar("reader.py")])
    fault = refused(lambda: upload(settings, send(thief, left_out=victim.diff_ids), held=("sha256:" + "0" * 64,)))
    assert fault.verdict is Verdict.IMAGE_INVALID
    assert "its author may not leave it out" in fault.sentence

    # The thief knows the digest in the mirror, and names it in a manifest after its blob was deleted.
    mallory = AuthorsRepository(registry, "mallory/model")
    config = {"digest": mallory.push_blob(thief.config), "size": len(thief.config)}
    blobs = thief.mirrored_blobs()
    named = [{"digest": mallory.push_blob(blob), "size": len(blob)} for blob in blobs]
    reference, stolen = mallory.push_manifest(manifest_of(config, named)), sha256(blobs[0])
    mallory.request("delete", f"blobs/{stolen}")
    assert not mallory.has_blob(stolen)
    assert mirrored.has_blob(stolen)
    assert "cannot read this image" in refused(lambda: refer(settings, reference)).sentence
    assert not mirrored.has_blob(thief.id)


def test_a_held_layer_that_the_mirror_lost_is_a_judge_fault_until_it_is_sent_again(
    settings: JudgeSettings, mirrored: AuthorsRepository
) -> None:
    base = some_tar()
    held = upload(settings, send(MadeImage([base]))).layers
    mirrored.request("delete", f"blobs/{sha256(MadeImage([base]).mirrored_blobs()[0])}")
    image = MadeImage([base, some_tar()])
    with pytest.raises(JudgeFault, match=held[0]) as caught:
        upload(settings, send(image, left_out=held), held=held)
    assert caught.value.cause is FaultCause.REGISTRY
    upload(settings, send(MadeImage([base])), held=held)
    assert upload(settings, send(image, left_out=held), held=held).image_id == image.id
    again = open_mirror(Workspace(settings)).layer(held[0])
    assert again is not None
    assert again.unpacked_bytes == len(base)
