"""An image as an engine saves it: which layers there are, in which files of the archive.

Two layouts are known: `<layer>/layer.tar` of Docker to 24, and `blobs/sha256/…` of newer engines (OCI). An engine
writes the list of its files last: so an archive is read once to see what is in it, and again for what is wanted of it.
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
from submissions.requests import MAX_LETTER

CHUNK = 1024**2
_MAX_KEPT = 64 * 1024**2
_EXPORT_TIMEOUT_S = 3600  # an engine may write the whole image down before its first byte


class LayerFile(NamedTuple):
    """A layer in an archive.

    Args:
        name: of its file.
        n_bytes: of that file.
    """

    diff_id: str
    name: str
    n_bytes: int


class Layout(NamedTuple):
    """What an archive of one image holds.

    Args:
        config: the image's configuration, byte by byte.
        diff_ids: of its layers, in order; one may be there twice.
        files: of its layers, each once.
    """

    config: bytes
    diff_ids: tuple[str, ...]
    files: tuple[LayerFile, ...]

    @property
    def image_id(self) -> str:
        """The sha256 of the configuration."""
        return _digest(self.config)

    def without(self, held: Collection[str]) -> tuple[LayerFile, ...]:
        """The files of the layers that are not `held`."""
        return tuple(file for file in self.files if file.diff_id not in held)


class Pulled(io.RawIOBase):
    """A file of what `pieces` yields.

    Args:
        pieces: none of them empty.
    """

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._left = memoryview(b"")
        self.n_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """How many bytes were put into `buffer`."""
        if not self._left:
            self._left = memoryview(next(self._pieces, b""))
        n_bytes = min(len(buffer), len(self._left))
        buffer[:n_bytes] = self._left[:n_bytes]
        self._left = self._left[n_bytes:]
        self.n_bytes += n_bytes
        return n_bytes


def save_image(image_id: str) -> Iterator[bytes]:
    """The archive of an image of this machine's engine.

    Raises:
        JudgeFault: the engine does not answer, or has it no longer.
    """
    client = connect_engine()
    client.api.timeout = _EXPORT_TIMEOUT_S
    try:
        with engine_faults():
            yield from client.api.get_image(image_id, CHUNK)
    finally:
        client.close()


def read_layout(archive: Iterable[bytes]) -> Layout:
    """What is in an archive.

    Raises:
        SubmissionFault: IMAGE_INVALID: it is no archive of one image.
    """
    small: dict[str, bytes] = {}
    sizes: dict[str, int] = {}
    kept = 0
    with open_archive(archive) as tar:
        for member in tar:
            if not member.isreg():
                continue  # a layer that is there twice is a link the second time
            sizes[member.name] = member.size
            if member.size <= MAX_LETTER and kept + member.size <= _MAX_KEPT:
                kept += member.size
                small[member.name] = _read(tar, member)
    try:
        config, names = _listed(small, sizes)
        diff_ids = [str(diff_id) for diff_id in json.loads(config)["rootfs"]["diff_ids"]]
        pairs = list(zip(diff_ids, names, strict=True))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise invalid(f"The engine saves the image in a way that is not known here ({error!r:.100}).") from error
    files = {diff_id: LayerFile(diff_id, name, sizes[name]) for diff_id, name in reversed(pairs) if name in sizes}
    if lost := next((diff_id for diff_id in diff_ids if diff_id not in files), None):
        raise invalid(f"The engine saves the image without its layer {lost}: pull or build it again.")
    return Layout(config, tuple(diff_ids), tuple(files[diff_id] for diff_id in dict.fromkeys(diff_ids)))


@contextmanager
def open_archive(archive: Iterable[bytes]) -> Iterator[tarfile.TarFile]:
    """The archive, to be gone through once.

    Raises:
        SubmissionFault: IMAGE_INVALID: it is none, or it ends too early.
    """
    stream = io.BufferedReader(Pulled(archive), CHUNK)
    with archive_faults(), tarfile.open(fileobj=stream, mode="r|", bufsize=CHUNK) as tar:
        yield tar


@contextmanager
def archive_faults() -> Iterator[None]:
    """Turns what is raised about an archive, or a layer in it, that cannot be read into a `SubmissionFault`."""
    try:
        yield
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise invalid(f"The engine saves the image as a broken archive ({plain(str(error))}): run it again.") from error


def _listed(files: Mapping[str, bytes], sizes: Mapping[str, int]) -> tuple[bytes, list[str]]:
    """The configuration, and the names of the layers' files in its order."""
    if "manifest.json" in files:
        (image,) = json.loads(files["manifest.json"])
        return _config(files, sizes, image["Config"]), [str(name) for name in image["Layers"]]
    manifest = _platform_manifest(files, json.loads(files["index.json"]))
    return _config(files, sizes, _blob(manifest["config"])), [_blob(layer) for layer in manifest["layers"]]


def _config(files: Mapping[str, bytes], sizes: Mapping[str, int], name: str) -> bytes:
    if sizes.get(name, 0) > MAX_LETTER:
        raise invalid(
            f"The image's configuration has {sizes[name]} bytes, {MAX_LETTER} at most: give it fewer labels, variables "
            "and steps."
        )
    return files[name]


def _platform_manifest(files: Mapping[str, bytes], index: Any) -> Any:
    """The first image that an index leads to whose manifest is in the archive; not the attestations beside it."""
    for entry in index["manifests"]:
        name = _blob(entry)
        if name not in files or entry.get("platform", {}).get("os") == "unknown":
            continue
        found = json.loads(files[name])
        return _platform_manifest(files, found) if "manifests" in found else found
    raise ValueError("no manifest")


def _blob(descriptor: Any) -> str:
    return "blobs/" + str(descriptor["digest"]).replace(":", "/")


def _read(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    with cast(BinaryIO, tar.extractfile(member)) as file:
        return file.read()


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
