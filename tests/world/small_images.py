"""Small images made by hand, valid and invalid ones, and repositories of authors in a registry."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import requests

from sandbox.image.image_check import MACHINE
from submissions.requests import SentLayer, SentPart, UploadedImage
from tests.servers.registry import RegistryServer

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def tar_of(*entries: tarfile.TarInfo | tuple[str, bytes]) -> bytes:
    """A tar of these entries; a pair is a file and its content."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for each in entries:
            if isinstance(each, tuple):
                info = tarfile.TarInfo(each[0])
                info.size = len(each[1])
                tar.addfile(info, io.BytesIO(each[1]))
            else:
                tar.addfile(each)
    return buffer.getvalue()


def some_tar(name: str = "model.bin") -> bytes:
    """A layer that no other test has, because the engine keeps layers that it pulled before."""
    return tar_of((f"opt/{name}", os.urandom(2000)))


@dataclass(frozen=True)
class MadeImage:
    """An image that was made by hand.

    Args:
        tars: its layers, not compressed.
        settings: more settings of its configuration, beside the required label.
        fields: more fields of its configuration at the outermost level.
    """

    tars: Sequence[bytes]
    settings: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def config(self) -> bytes:
        labels = {"Labels": {"org.lambench.calculator": "calculator:make_calculator"}}
        fields = {
            "architecture": MACHINE,
            "os": "linux",
            "config": {**labels, **self.settings},
            "rootfs": {"type": "layers", "diff_ids": [sha256(tar) for tar in self.tars]},
            "history": [{"created_by": "by hand"} for _ in self.tars],
            **self.fields,
        }
        return json.dumps(fields).encode()

    @property
    def id(self) -> str:
        return sha256(self.config)

    @property
    def diff_ids(self) -> tuple[str, ...]:
        return tuple(sha256(tar) for tar in self.tars)

    def blobs(self) -> list[bytes]:
        return [gzip.compress(tar, mtime=0) for tar in self.tars]

    def mirrored_blobs(self) -> list[bytes]:
        """The layers as the judge compresses them for its mirror."""
        return [zlib.compress(tar, 1, wbits=31) for tar in self.tars]

    def manifest(self, kind: str = MANIFEST) -> bytes:
        described = [{"digest": sha256(blob), "size": len(blob)} for blob in self.blobs()]
        config = {"digest": self.id, "size": len(self.config)}
        return manifest_of(config, described, kind)


def manifest_of(config: Mapping[str, Any], layers: Iterable[Mapping[str, Any]], kind: str = MANIFEST) -> bytes:
    oci = kind == OCI_MANIFEST
    of_config = "application/vnd.oci.image.config.v1+json" if oci else "application/vnd.docker.container.image.v1+json"
    of_layer = "oci.image.layer.v1.tar+gzip" if oci else "docker.image.rootfs.diff.tar.gzip"
    return json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": kind,
            "config": {"mediaType": of_config, **config},
            "layers": [{"mediaType": f"application/vnd.{of_layer}", **layer} for layer in layers],
        }
    ).encode()


def index_of(manifests: Mapping[str, bytes], kind: str = LIST) -> bytes:
    """An index: manifests by `os/architecture`."""
    entries = [
        {
            "mediaType": MANIFEST if kind == LIST else OCI_MANIFEST,
            "digest": sha256(data),
            "size": len(data),
            "platform": dict(zip(("os", "architecture"), platform.split("/"), strict=True)),
        }
        for platform, data in manifests.items()
    ]
    return json.dumps({"schemaVersion": 2, "mediaType": kind, "manifests": entries}).encode()


@dataclass(frozen=True)
class AuthorsRepository:
    """An author's repository; it uses HTTP alone and no code of the judge."""

    server: RegistryServer
    name: str = "alice/model"

    def request(self, method: str, path: str, **options: Any) -> requests.Response:
        login = (self.server.user, self.server.password) if self.server.user else None
        url = path if path.startswith("http") else f"http://{self.server.host}/v2/{self.name}/{path}"
        answer = requests.request(method, url, auth=login, timeout=20, **options)
        answer.raise_for_status()
        return answer

    def push_blob(self, data: bytes) -> str:
        begun = self.request("post", "blobs/uploads/").headers["Location"]
        joint = "&" if "?" in begun else "?"
        self.request("put", f"{begun}{joint}digest={sha256(data)}", data=data)
        return sha256(data)

    def push_manifest(self, data: bytes, tag: str = "") -> str:
        """Pushes the manifest; the reference by digest."""
        headers = {"Content-Type": json.loads(data)["mediaType"]}
        self.request("put", f"manifests/{tag or sha256(data)}", data=data, headers=headers)
        return f"{self.server.host}/{self.name}@{sha256(data)}"

    def push(self, image: MadeImage, kind: str = MANIFEST) -> str:
        """Pushes the image; the reference by digest."""
        for blob in (image.config, *image.blobs()):
            self.push_blob(blob)
        return self.push_manifest(image.manifest(kind), tag="latest")

    def delete(self, reference: str) -> None:
        self.request("delete", f"manifests/{reference.partition('@')[2]}")

    def has_blob(self, digest: str) -> bool:
        try:
            return self.request("head", f"blobs/{digest}").ok
        except requests.HTTPError:
            return False


@dataclass
class SentImage:
    """An image in parts, and the parts by upload slot."""

    made: MadeImage
    request: UploadedImage
    parts: dict[str, bytes]

    def part(self, sent: SentPart) -> Iterator[bytes]:
        data = self.parts[sent.slot]
        yield from (data[i : i + 1000] for i in range(0, len(data), 1000))


def send(
    image: MadeImage, part_bytes: int = 700, left_out: Iterable[str] = (), blobs: Sequence[bytes] = ()
) -> SentImage:
    """`image` in parts of `part_bytes` bytes.

    Args:
        left_out: diff IDs.
        blobs: wrong bytes for the layers, if any.
    """
    parts: dict[str, bytes] = {}
    layers = []
    for diff_id, blob in zip(image.diff_ids, blobs or image.blobs(), strict=True):
        sent = []
        for start in range(0, 0 if diff_id in left_out else len(blob), part_bytes):
            data, slot = blob[start : start + part_bytes], uuid.uuid4().hex
            parts[slot] = data
            sent.append(SentPart(slot=slot, n_bytes=len(data), sha256=sha256(data).removeprefix("sha256:")))
        layers.append(SentLayer(diff_id=diff_id, parts=tuple(sent)))
    request = UploadedImage(reference="alice/model:1", config=image.config.decode(), layers=tuple(layers))
    return SentImage(image, request, parts)
