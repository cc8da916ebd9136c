"""An image as `docker save` writes it: its layers, and the files of the archive that hold them.

Two layouts are known: `<layer>/layer.tar` of Docker to 24, and `blobs/sha256/…` of newer engines (OCI). An engine
writes the list of files last. So an archive is read twice: once for the list, and once for the layers.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple, cast

from sandbox.drivers.docker_driver import connect_engine
from sandbox.drivers.docker_running import engine_faults
from sandbox.events import plain
from sandbox.image.image_check import invalid
from submissions.requests import MAX_REQUEST_BYTES

CHUNK = 1024**2
_MAX_KEPT_BYTES = 64 * 1024**2
_EXPORT_TIMEOUT_S = 3600  # an engine may write the whole image to disk before it sends the first byte


class LayerFile(NamedTuple):
    """A layer in an archive.

    Args:
        name: of its file.
        n_bytes: of that file.
    """

    diff_id: str
    name: str
    n_bytes: int


class ImageLayout(NamedTuple):
    """The content of an archive of one image.

    Args:
        config: the image's configuration, byte by byte.
        diff_ids: of its layers, in order; the same one may be there twice.
        files: of its layers, each once.
    """

    config: bytes
    diff_ids: tuple[str, ...]
    files: tuple[LayerFile, ...]

    @property
    def image_id(self) -> str:
        """The sha256 of the configuration."""
        return _digest(self.config)

    def without(self, diff_ids: Collection[str]) -> tuple[LayerFile, ...]:
        """The files of all layers but these."""
        return tuple(file for file in self.files if file.diff_id not in diff_ids)


class IteratorFile(io.RawIOBase):
    """A readable file of the bytes that an iterator yields.

    Args:
        pieces: none of them empty.
    """

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = memoryview(b"")
        self.n_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """How many bytes were put into `buffer`."""
        if not self._rest:
            self._rest = memoryview(next(self._pieces, b""))
        n_bytes = min(len(buffer), len(self._rest))
        buffer[:n_bytes] = self._rest[:n_bytes]
        self._rest = self._rest[n_bytes:]
        self.n_bytes += n_bytes
        return n_bytes


def save_image(image_id: str) -> Iterator[bytes]:
    """The archive of an image of this machine's engine.

    Raises:
        JudgeFault: the engine does not answer, or the image was removed.
    """
    client = connect_engine()
    client.api.timeout = _EXPORT_TIMEOUT_S
    try:
        with engine_faults():
            yield from client.api.get_image(image_id, CHUNK)
    finally:
        client.close()


def read_layout(archive: Iterable[bytes]) -> ImageLayout:
    """The content of an archive.

    Raises:
        SubmissionFault: IMAGE_INVALID: it is not the archive of one image.
    """
    small: dict[str, bytes] = {}
    sizes: dict[str, int] = {}
    kept = 0
    with open_archive(archive) as tar:
        for member in tar:
            if not member.isreg():
                continue  # a repeated layer is a link
            sizes[member.name] = member.size
            if member.size <= MAX_REQUEST_BYTES and kept + member.size <= _MAX_KEPT_BYTES:
                kept += member.size
                small[member.name] = _read(tar, member)
    try:
        config, names = _listed(small, sizes)
        diff_ids = [str(diff_id) for diff_id in json.loads(config)["rootfs"]["diff_ids"]]
        pairs = list(zip(diff_ids, names, strict=True))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise invalid(f"The engine saves the image in an unknown layout ({error!r:.100}).") from error
    files = {diff_id: LayerFile(diff_id, name, sizes[name]) for diff_id, name in reversed(pairs) if name in sizes}
    if missing := next((diff_id for diff_id in diff_ids if diff_id not in files), None):
        raise invalid(f"The engine saves the image without its layer {missing}: pull or build it again.")
    return ImageLayout(config, tuple(diff_ids), tuple(files[diff_id] for diff_id in dict.fromkeys(diff_ids)))


@contextmanager
def open_archive(archive: Iterable[bytes]) -> Iterator[tarfile.TarFile]:
    """The archive, which can be read once, from front to back.

    Raises:
        SubmissionFault: IMAGE_INVALID: it is no archive, or it ends too early.
    """
    stream = io.BufferedReader(IteratorFile(archive), CHUNK)
    with archive_faults(), tarfile.open(fileobj=stream, mode="r|", bufsize=CHUNK) as tar:
        yield tar


@contextmanager
def archive_faults() -> Iterator[None]:
    """Translates the errors of an unreadable archive, or of a layer in it, into a `SubmissionFault`."""
    try:
        yield
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise invalid(f"The engine saves the image as a broken archive ({plain(str(error))}): run it again.") from error


def _listed(files: Mapping[str, bytes], sizes: Mapping[str, int]) -> tuple[bytes, list[str]]:
    """The configuration, and the names of the layers' files in the same order."""
    if "manifest.json" in files:
        (image,) = json.loads(files["manifest.json"])
        return _config(files, sizes, image["Config"]), [str(name) for name in image["Layers"]]
    manifest = _platform_manifest(files, json.loads(files["index.json"]))
    return _config(files, sizes, _blob(manifest["config"])), [_blob(layer) for layer in manifest["layers"]]


def _config(files: Mapping[str, bytes], sizes: Mapping[str, int], name: str) -> bytes:
    if sizes.get(name, 0) > MAX_REQUEST_BYTES:
        raise invalid(
            f"The image's configuration has {sizes[name]} bytes, {MAX_REQUEST_BYTES} at most: give it fewer labels, "
            "variables and steps."
        )
    return files[name]


def _platform_manifest(files: Mapping[str, bytes], index: Any) -> Any:
    """The manifest of the first image of an index that is in the archive; attestations are left out."""
    for entry in index["manifests"]:
        name = _blob(entry)
        if name not in files or entry.get("platform", {}).get("os") == "unknown":
            continue
        manifest = json.loads(files[name])
        return _platform_manifest(files, manifest) if "manifests" in manifest else manifest
    raise ValueError("no manifest")


def _blob(descriptor: Any) -> str:
    return "blobs/" + str(descriptor["digest"]).replace(":", "/")


def _read(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    with cast(BinaryIO, tar.extractfile(member)) as file:
        return file.read()


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
