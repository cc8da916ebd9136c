"""The mirror: the judge's own registry, which keeps every accepted image, also after the author deletes it.

The judge builds each image there from layers that it has checked and compressed itself, and writes its manifest, in the
form that every engine can pull. Diff IDs and configuration are the author's, and so is the image ID. The record
`layers/<diff ID>.json` states the digest of a layer in the mirror, so that no layer has to be sent twice.
`judge.intake` decides which author may leave out which layer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO, ClassVar, Literal

import dxf.exceptions
import requests
from pydantic import AwareDatetime, Field

from judge.config import ConfigError
from judge.images.credentials import login_for
from judge.images.manifest import Blob
from judge.images.reference import ImageReference, read_repository
from judge.images.registry_client import RegistryClient, does_not_answer, login_refused, status_of
from judge.workspace import Workspace
from sandbox.events import Event, emit
from sandbox.image.layer_rewriting import RewrittenLayer
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault
from submissions.records import Fields, Record, Upgrades, utc_now
from submissions.requests import Digest
from submissions.store.interface import Store
from submissions.store.read_record import read_record

FOLDER = "layers/"
TIMEOUT_S = 600.0  # a registry may copy a large layer to its place before it answers
_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_CONFIG = "application/vnd.docker.container.image.v1+json"
_LAYER = "application/vnd.docker.image.rootfs.diff.tar"
_NOT_FOUND = 404


def _mirrored_layer_2(fields: Fields) -> Fields:
    """In version 1 the blob in the mirror is what the author sent."""
    return {**fields, "schema_version": 2, "received": ""}


class MirroredLayer(Record):
    """`layers/<diff ID>.json`: a layer in the mirror.

    Args:
        received: the digest of the layer as its author sent it; empty if the blob in the mirror is what was sent.
        digest: the digest of the blob in the mirror.
        n_bytes: the size of the blob in the mirror.
    """

    upgrades: ClassVar[Upgrades] = {1: _mirrored_layer_2}
    schema_version: Literal[2] = 2
    received: Digest | Literal[""]
    diff_id: Digest
    digest: Digest
    n_bytes: int = Field(gt=0)
    unpacked_bytes: int = Field(gt=0)
    gzipped: bool
    mirrored: AwareDatetime


@dataclass(frozen=True)
class Mirror:
    """One repository of the judge's registry, with the records of its layers.

    Raises (all methods):
        JudgeFault: REGISTRY: it does not answer, or refuses a request; STORE.
    """

    client: RegistryClient
    store: Store

    def layer(self, diff_id: str) -> MirroredLayer | None:
        """The layer with this diff ID; None if the mirror does not have it, or no longer."""
        if not self.store.exists(_key(diff_id)):
            return None
        layer = read_record(self.store, _key(diff_id), MirroredLayer)
        return layer if self._size(layer.digest) == layer.n_bytes else None

    def keep_layer(self, rewritten: RewrittenLayer, file: BinaryIO) -> MirroredLayer:
        """The layer in `file`, which is stored in the mirror now. It is not sent if the mirror has it."""
        layer = MirroredLayer(**rewritten._asdict(), gzipped=True, mirrored=utc_now())
        self._push(layer.digest, file)
        data = layer.model_dump_json(indent=1).encode()
        if not self.store.put_if_absent(_key(layer.diff_id), data):
            stored = self.layer(layer.diff_id)
            # Else the record belongs to an emptied or another registry, or to a layer that its author compressed.
            if not stored or not stored.received:
                self.store.put(_key(layer.diff_id), data)
        return layer

    def read(self, layer: MirroredLayer) -> Iterator[bytes]:
        """The bytes of a layer in the mirror, piece by piece."""
        with self._faults():
            yield from self.client.blob(Blob(digest=layer.digest, size=layer.n_bytes))

    def probe(self) -> None:
        """Returns if a blob of eight bytes can be written and read again. It stays in the mirror."""
        data = b"lambench"
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        self._push(digest, BytesIO(data))
        with self._faults():
            self.client.read(f"blobs/{digest}", digest, len(data))

    def keep_image(self, config: bytes, layers: Sequence[MirroredLayer]) -> ImageReference:
        """The image of this configuration and these layers of the mirror, which can be pulled from it now."""
        image_id = f"sha256:{hashlib.sha256(config).hexdigest()}"
        self._push(image_id, BytesIO(config))
        manifest = _manifest(image_id, len(config), layers)
        with self._faults():
            # With a tag: the garbage collection of a registry deletes manifests without one.
            self.client.set_manifest(image_id.removeprefix("sha256:"), manifest)
        digest = f"sha256:{hashlib.sha256(manifest.encode()).hexdigest()}"
        reference = ImageReference(self.client.repository, digest)
        emit(Event.IMAGE_MIRRORED, key=str(reference), count=len(layers))
        return reference

    def _push(self, digest: str, data: BinaryIO) -> None:
        with self._faults():
            self.client.push_blob(data=data, digest=digest)

    def _size(self, digest: str) -> int | None:
        """The bytes of a blob; None if the mirror does not have it."""
        with self._faults():
            try:
                size: int = self.client.blob_size(digest)
            except requests.HTTPError as error:
                if status_of(error) == _NOT_FOUND:
                    return None
                raise
        return size

    @contextmanager
    def _faults(self) -> Iterator[None]:
        repository = self.client.repository
        try:
            yield
        except SubmissionFault as fault:
            raise JudgeFault(
                FaultCause.REGISTRY, f"the mirror {repository} has other bytes than were written: {fault.sentence}"
            ) from None
        except dxf.exceptions.DXFUnauthorizedError:
            if self.client.login:
                raise login_refused(repository) from None
            raise JudgeFault(
                FaultCause.REGISTRY, f"the mirror {repository} asks for a credential: set registry_config"
            ) from None
        except requests.HTTPError as error:
            raise JudgeFault(
                FaultCause.REGISTRY,
                f"the mirror {repository} refuses a request (status {status_of(error)}): see its log, "
                "and check that the judge may write to it",
            ) from None
        except (requests.RequestException, dxf.exceptions.DXFError) as error:
            silence = does_not_answer(repository, error)
            raise JudgeFault(silence.cause, silence.remedy) from error  # of the judge's own registry


def open_mirror(workspace: Workspace) -> Mirror:
    """The mirror that the settings name.

    Raises:
        ConfigError: none is set, its name is not valid, or the credential for it cannot be read.
        StoreError: the store cannot be opened.
    """
    settings = workspace.settings
    repository = read_repository(settings.mirror)
    if not settings.mirror or not repository:
        what = f"{settings.mirror!r} is not the name of a repository" if settings.mirror else "is not set"
        raise ConfigError(f"mirror: {what}: give HOST[:PORT]/NAME of the registry that keeps the images")
    login = login_for(settings.registry_config, repository.host)
    client = RegistryClient(repository, login, TIMEOUT_S, TIMEOUT_S)
    return Mirror(client, workspace.store)


def _key(diff_id: str) -> str:
    return f"{FOLDER}{diff_id.removeprefix('sha256:')}.json"


def _manifest(image_id: str, n_bytes: int, layers: Sequence[MirroredLayer]) -> str:
    """The manifest in Docker's form, schema 2. Engines take the image's ID from the configuration."""
    return json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": {"mediaType": _CONFIG, "size": n_bytes, "digest": image_id},
            "layers": [
                {"mediaType": _LAYER + ".gzip" * layer.gzipped, "size": layer.n_bytes, "digest": layer.digest}
                for layer in layers
            ],
        },
        sort_keys=True,
    )
