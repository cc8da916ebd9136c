"""Images of a few kilobytes, made without a base image and without building: for tests of how images travel."""

from __future__ import annotations

import hashlib
import io
import json
import secrets
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import docker
import numpy as np

from sandbox.image.image_check import CALCULATOR_LABEL, MACHINE


def noise(n_bytes: int, seed: int) -> bytes:
    """Bytes that cannot be compressed."""
    return np.random.default_rng(seed).bytes(n_bytes)


def layer(name: str, content: bytes) -> bytes:
    """A layer with one file."""
    return tar_of({name: content})


def tar_of(files: dict[str, bytes]) -> bytes:
    """An archive of these files, in this order."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def digest(data: bytes) -> str:
    """`sha256:…` of `data`."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def config_of(layers: Sequence[bytes], note: str = "") -> bytes:
    """The configuration of an image that may be judged, as far as it says; `note` is a label."""
    config = {
        "architecture": MACHINE,
        "os": "linux",
        "config": {"Labels": {CALCULATOR_LABEL: "calculator:make"} | ({"note": note} if note else {})},
        "rootfs": {"type": "layers", "diff_ids": [digest(each) for each in layers]},
    }
    return json.dumps(config).encode()


class SmallImage(NamedTuple):
    """An image that the engine has."""

    name: str
    id: str
    layers: tuple[bytes, ...]

    @property
    def diff_ids(self) -> tuple[str, ...]:
        return tuple(digest(each) for each in self.layers)


@contextmanager
def small_image(
    engine: docker.DockerClient, *layers: bytes, repository: str = "lambench-test", note: str = ""
) -> Iterator[SmallImage]:
    """The image of these layers, until the block ends."""
    name = f"{repository}/small-{secrets.token_hex(6)}:1"
    config = config_of(layers, note)
    names = [f"{n}/layer.tar" for n in range(len(layers))]
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": names}]).encode()
    files = dict(zip(names, layers, strict=True)) | {"config.json": config, "manifest.json": manifest}
    (image,) = engine.images.load(tar_of(files))
    try:
        yield SmallImage(name, str(image.id), layers)
    finally:
        engine.images.remove(name, force=True)
