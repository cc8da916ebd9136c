"""Brings an author's image into the judge's mirror: from a registry by reference, or from uploaded parts.

The configuration is checked before any layer is transferred. Each layer is checked while its tar is compressed again
into a nameless file, and goes to the mirror only if it is accepted: so the mirror holds only what the judge has checked
and written, and a crash leaves nothing behind.

A layer that is not sent is taken from the mirror only if its author may leave it out. An author who names a layer gets
it in the image. But knowing the diff ID of another author's weights does not prove possession of them. For the same
reason a layer of a registry is always fetched from there, even if the mirror has its bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rich.filesize import decimal

from judge.config import JudgeSettings
from judge.images.disk_space import require_room
from judge.images.manifest import ImageConfig, read_config
from judge.images.mirror import Mirror, MirroredLayer, open_mirror
from judge.images.registry_client import find_image
from judge.images.spool import rewritten_layer
from judge.images.transfer import Transfer
from judge.workspace import Workspace
from sandbox.image.image_check import check_folder, image_from_inspection, invalid
from sandbox.image.layer_check import ImageBudget, too_large
from sandbox.verdict import FaultCause, JudgeFault
from submissions.requests import ReferredImage, SentLayer, SentPart, UploadedImage

Say = Callable[[str], None]
ReadPart = Callable[[SentPart], Iterator[bytes]]


class MirroredImage(NamedTuple):
    """An image in the mirror.

    Args:
        mirror: `HOST/NAME@sha256:…`.
        reference: the author's name for it.
        layers: diff IDs, the lowest first.
        size_bytes: the size of all layers, unpacked.
    """

    image_id: str
    mirror: str
    reference: str
    layers: tuple[str, ...]
    size_bytes: int = 0


@dataclass(frozen=True)
class _Layer:
    """A layer to be brought into the mirror.

    Args:
        n_bytes: the size of the packed layer.
        digest: the digest of the packed layer; empty if only its parts have digests.
        read: its bytes; None if its author left it out.
    """

    diff_id: str
    n_bytes: int
    digest: str
    read: Callable[[], Iterator[bytes]] | None


@dataclass(frozen=True)
class _Image:
    """An image to be brought into the mirror."""

    reference: str
    config: bytes
    layers: Callable[[ImageConfig], tuple[_Layer, ...]]

    @property
    def id(self) -> str:
        return f"sha256:{hashlib.sha256(self.config).hexdigest()}"


def resolve_id(settings: JudgeSettings, image: ReferredImage | UploadedImage, transfer: Transfer | None = None) -> str:
    """The ID of the image. No layer is transferred.

    Raises:
        SubmissionFault: the image does not exist, or may not be fetched.
        JudgeFault: its registry does not answer.
    """
    if isinstance(image, ReferredImage):
        return find_image(settings, image.reference, transfer).manifest.config.digest
    return _uploaded(image, lambda part: iter(())).id


def mirror_image(
    workspace: Workspace,
    image: ReferredImage | UploadedImage,
    held: Collection[str],
    part: ReadPart,
    say: Say,
    disks: Collection[Path] = (),
    transfer: Transfer | None = None,
) -> MirroredImage:
    """The image, after it was stored in the mirror.

    Args:
        held: diff IDs of the layers that its author may leave out.
        part: reads a part; KeyError if it was not uploaded.
        say: called with lines about the progress.
        disks: the disks of the engine that will pull the image.
        transfer: its bounds.

    Raises:
        SubmissionFault: IMAGE_INVALID or POLICY_VIOLATION, with what to change.
        JudgeFault: REGISTRY, DISK or STORE.
        ConfigError: no mirror is set.
    """
    settings, mirror, transfer = workspace.settings, open_mirror(workspace), transfer or Transfer()
    coming = _referred(settings, image, transfer) if isinstance(image, ReferredImage) else _uploaded(image, part)
    config = read_config(coming.config)
    image_from_inspection(coming.reference, config.inspection(coming.id))
    layers = _bounded(settings, coming.layers(config))
    _require_room(disks, settings, sum(layer.n_bytes for layer in layers))
    budget = ImageBudget(settings.max_image_bytes)
    kept = _keep_layers(settings, mirror, layers, held, budget, say, transfer)
    check_folder("/" + budget.links.resolved(config.folder.encode(errors="replace")).decode(errors="replace"))
    _require_room(disks, settings, budget.unpacked_bytes)
    stored = mirror.keep_image(coming.config, kept)
    return MirroredImage(coming.id, str(stored), coming.reference, config.diff_ids, budget.unpacked_bytes)


def mirror_layers(workspace: Workspace, image: ReferredImage, say: Say) -> tuple[str, ...]:
    """The diff IDs of an image's layers, after these were stored in the mirror. The image needs no calculator.

    Raises:
        SubmissionFault, JudgeFault, ConfigError: see `mirror_image`.
    """
    settings, mirror = workspace.settings, open_mirror(workspace)
    coming = _referred(settings, image, transfer := Transfer())
    config = read_config(coming.config)
    layers = _bounded(settings, coming.layers(config))
    _keep_layers(settings, mirror, layers, (), ImageBudget(settings.max_image_bytes), say, transfer)
    return config.diff_ids


def _bounded(settings: JudgeSettings, layers: tuple[_Layer, ...]) -> tuple[_Layer, ...]:
    if sum(layer.n_bytes for layer in layers) > settings.max_image_bytes:
        raise too_large(settings.max_image_bytes)
    return layers


def _keep_layers(
    settings: JudgeSettings,
    mirror: Mirror,
    layers: Sequence[_Layer],
    held: Collection[str],
    budget: ImageBudget,
    say: Say,
    transfer: Transfer,
) -> list[MirroredLayer]:
    """The layers, all stored in the mirror. A layer that occurs several times counts as often in `budget`."""
    kept: dict[str, MirroredLayer] = {}
    entries: dict[str, int] = {}
    for number, layer in enumerate(layers, 1):
        name = f"Layer {number} of {len(layers)}"
        if layer.diff_id in kept:
            _counted(kept[layer.diff_id], budget)
            budget.tar.take(n_entries=entries[layer.diff_id])
            continue
        before = budget.tar.entries
        mirrored = mirror.layer(layer.diff_id) if layer.diff_id in held else None
        if mirrored and layer.digest in ("", mirrored.received or mirrored.digest):
            say(f"{name} is here already.")
            if mirrored.received:
                kept[layer.diff_id] = _counted(mirrored, budget)
            else:  # a record of version 1: the mirror has the bytes of an author
                from_mirror = replace(layer, n_bytes=mirrored.n_bytes, read=partial(mirror.read, mirrored))
                kept[layer.diff_id] = _take(settings, mirror, from_mirror, held, budget, name, say, transfer)
        else:
            kept[layer.diff_id] = _take(settings, mirror, layer, held, budget, name, say, transfer)
        entries[layer.diff_id] = before - budget.tar.entries
    return [kept[layer.diff_id] for layer in layers]


def _require_room(disks: Collection[Path], settings: JudgeSettings, n_bytes: int) -> None:
    for disk in disks:
        require_room(disk, settings.min_free_bytes, n_bytes)


def _referred(settings: JudgeSettings, image: ReferredImage, transfer: Transfer) -> _Image:
    in_registry = find_image(settings, image.reference, transfer)

    def layers(config: ImageConfig) -> tuple[_Layer, ...]:
        blobs = in_registry.manifest.layers
        if len(blobs) != len(config.diff_ids):
            raise invalid(f"The image has {len(blobs)} layers but names {len(config.diff_ids)}: push it again.")
        pairs = zip(config.diff_ids, blobs, strict=True)
        return tuple(
            _Layer(diff_id, blob.size, blob.digest, partial(in_registry.layer, blob)) for diff_id, blob in pairs
        )

    return _Image(image.reference, in_registry.config(), layers)


def _uploaded(image: UploadedImage, part: ReadPart) -> _Image:
    def layers(config: ImageConfig) -> tuple[_Layer, ...]:
        if tuple(sent.diff_id for sent in image.layers) != config.diff_ids:
            raise invalid("The layers that were sent are not those that the image names: send it again.")
        return tuple(_sent(sent, part) for sent in image.layers)

    return _Image(image.reference, image.config.encode(errors="surrogatepass"), layers)


def _sent(sent: SentLayer, part: ReadPart) -> _Layer:
    read = partial(_parts, sent, part) if sent.parts else None
    return _Layer(sent.diff_id, sum(each.n_bytes for each in sent.parts), "", read)


def _parts(layer: SentLayer, part: ReadPart) -> Iterator[bytes]:
    """The bytes of a layer, from parts that match the request.

    Raises:
        SubmissionFault: a part is missing, or has other bytes than stated.
    """
    for number, sent in enumerate(layer.parts, 1):
        name = f"Part {number} of {len(layer.parts)} of the layer {layer.diff_id} (upload slot {sent.slot})"
        sha256, n_bytes = hashlib.sha256(), 0
        try:
            for chunk in part(sent):
                sha256.update(chunk)
                n_bytes += len(chunk)
                if n_bytes > sent.n_bytes:
                    break
                yield chunk
        except KeyError:
            raise invalid(f"{name} was not uploaded: send the image again.") from None
        if n_bytes != sent.n_bytes or sha256.hexdigest() != sent.sha256:
            raise invalid(f"{name} has other bytes than the request states: send the image again.")


def _take(
    settings: JudgeSettings,
    mirror: Mirror,
    layer: _Layer,
    held: Collection[str],
    budget: ImageBudget,
    name: str,
    say: Say,
    transfer: Transfer,
) -> MirroredLayer:
    """The layer, after it was fetched, checked and stored in the mirror."""
    if layer.read is None:
        if layer.diff_id in held:
            raise JudgeFault(
                FaultCause.REGISTRY,
                f"the layer {layer.diff_id}, which authors may leave out, is not in the mirror: have an image that "
                "has it sent whole",
            )
        raise invalid(f"{name}, {layer.diff_id}, was left out, but its author may not leave it out: send it.")
    say(f"{name}: {decimal(layer.n_bytes)} …")
    with rewritten_layer(transfer.counted(layer.read()), budget, layer.n_bytes, settings.min_free_bytes) as (
        rewritten,
        file,
    ):
        if rewritten.diff_id != layer.diff_id:
            raise invalid(f"{name} is not the one that the image names, {layer.diff_id}: push or send it again.")
        return mirror.keep_layer(rewritten, file)


def _counted(layer: MirroredLayer, budget: ImageBudget) -> MirroredLayer:
    budget.count(layer.n_bytes, layer.unpacked_bytes)
    return layer
