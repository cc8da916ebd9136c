"""An author may leave out held layers, and must send all others."""

from __future__ import annotations

import pytest

from judge.config import JudgeSettings
from judge.images.fetch import mirror_layers
from judge.images.mirror import open_mirror
from judge.workspace import Workspace
from sandbox.verdict import FaultCause, JudgeFault, Verdict
from submissions.requests import ReferredImage
from tests.judge.images.arrivals import HOSTILE, refer, refused, upload
from tests.servers.registry import RegistryServer
from tests.world.small_images import AuthorsRepository, MadeImage, send, sha256, some_tar


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

    # The thief deletes the blob after the push, so the registry has a manifest of a missing blob.
    mallory = AuthorsRepository(registry, "mallory/model")
    reference = mallory.push(thief)
    stolen = sha256(thief.blobs()[0])
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
