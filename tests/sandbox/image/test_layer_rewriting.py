"""Engines get the judge's own gzip of a layer, never bytes that its author has compressed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import subprocess
import tarfile
import zlib
from pathlib import Path

import pytest

from sandbox.image.layer_check import ImageBudget
from sandbox.image.layer_rewriting import RewrittenLayer, rewrite_layer
from sandbox.image.tar_entries import ByteStream, TarBudget, tar_entries
from sandbox.selftest.polyglots import HIDDEN, POLYGLOTS, bzip2_layer, xz_layer, zstd_layer
from sandbox.verdict import SubmissionFault, Verdict
from tests.sandbox.image.test_layer_check import GOOD, sha256, tar_of


def rewritten(data: bytes) -> tuple[RewrittenLayer, bytes]:
    written: list[bytes] = []
    layer = rewrite_layer([data], ImageBudget(1 << 30), written.append)
    return layer, b"".join(written)


def test_the_same_tar_has_the_same_gzip_however_it_was_sent() -> None:
    members = b"".join(gzip.compress(GOOD[i : i + 700], i % 9, mtime=i) for i in range(0, len(GOOD), 700))
    extra = gzip.compress(GOOD)
    with_name = extra[:3] + b"\x08" + extra[4:10] + b"name\0" + extra[10:]
    outputs = set()
    for data in (GOOD, gzip.compress(GOOD, 9), members, with_name):
        layer, written = rewritten(data)
        assert layer.received == sha256(data)
        assert (layer.digest, layer.n_bytes) == (sha256(written), len(written))
        assert (layer.diff_id, layer.unpacked_bytes) == (sha256(GOOD), len(GOOD))
        outputs.add(written)
    (written,) = outputs
    one = zlib.decompressobj(wbits=31)
    assert one.decompress(written) == GOOD
    assert (one.eof, one.unused_data) == (True, b"")
    assert written[3:9] == bytes([0, 0, 0, 0, 0, 4])  # no fields, no time; the fastest compression


UNPACKERS = {"bzip2": bz2.decompress, "xz": lambda data: lzma.LZMADecompressor().decompress(data)}


@pytest.mark.parametrize("name", UNPACKERS)
def test_the_polyglots_of_the_selftest_hide_another_tar(name: str) -> None:
    layer = POLYGLOTS[name]()
    (shown,) = tar_entries(ByteStream(iter([layer])), TarBudget())
    assert shown.name != HIDDEN.encode()
    with tarfile.open(fileobj=io.BytesIO(UNPACKERS[name](layer)), mode="r:") as hidden:
        assert HIDDEN in hidden.getnames()


def test_zstd_skips_the_header_of_the_tar(tmp_path: Path) -> None:
    (tmp_path / "layer").write_bytes(zstd_layer())
    unpacked = subprocess.run(["zstd", "-dcf", tmp_path / "layer"], stdout=subprocess.PIPE, check=True).stdout
    assert unpacked.startswith(HIDDEN.encode() + b"\0")


@pytest.mark.parametrize("layer", [bzip2_layer, xz_layer, zstd_layer], ids=lambda make: make.__name__)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda data: gzip.compress(data[:3]) + gzip.compress(data[3:])])
def test_a_tar_that_begins_like_something_compressed_is_refused(layer: object, pack: object) -> None:
    name = layer.__name__.removesuffix("_layer")  # type: ignore[attr-defined]
    with pytest.raises(SubmissionFault, match=name) as caught:
        rewritten(pack(layer()))  # type: ignore[operator]
    assert caught.value.verdict is Verdict.IMAGE_INVALID


@pytest.mark.parametrize(
    "magic", [b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"\x50*M\x18", b"\x5f*M\x18", b"\x1f\x8b\x08"]
)
def test_each_magic_number_is_refused_inside_the_gzip(magic: bytes) -> None:
    tar = tar_of((magic.rstrip(b"\0").decode(errors="surrogateescape") + "x", b""))
    with pytest.raises(SubmissionFault):
        rewritten(gzip.compress(magic + tar[len(magic) :]))


@pytest.mark.parametrize("name", ["BZ", "BZip", "P*M", "\xfd7zXZ", "x" * 90, "Q/M"])
def test_ordinary_names_are_taken(name: str) -> None:
    rewritten(tar_of((name, b"x")))
