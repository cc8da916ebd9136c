"""Tars with two readings: an entry that is hidden from the judge must not reach the engine."""

from __future__ import annotations

import io
import random
import tarfile
from collections.abc import Callable

import docker
import pytest

from sandbox.image import layer_check
from sandbox.image.layer_check import ImageBudget, check_layer
from sandbox.image.layer_rewriting import rewrite_layer
from sandbox.image.tar_entries import ByteStream, TarBudget, tar_entries
from sandbox.selftest.polyglots import HIDDEN, POLYGLOTS
from sandbox.verdict import SubmissionFault, Verdict
from tests.sandbox.image.test_layer_check import entry, pax, tar_of

END = bytes(1024)
ENGINES_OWN = ("dev", "etc", "proc", "sys")  # folders that the engine puts into every container
DEVICE = entry("dev/sda", tarfile.BLKTYPE, devmajor=8, devminor=0).tobuf(tarfile.USTAR_FORMAT)
FILE = entry("usr/x").tobuf(tarfile.USTAR_FORMAT)


def header(name: str = "usr/x", kind: bytes = b"0", size: int = 0, form: int = tarfile.USTAR_FORMAT) -> bytes:
    return entry(name, kind, size=size, linkname="to" if kind == b"2" else "").tobuf(form)


def changed(block: bytes, at: int, data: bytes) -> bytes:
    """The header with other bytes in one place, and a correct checksum."""
    block = block[:at] + data + block[at + len(data) :]
    total = sum(block[:148]) + 8 * 32 + sum(block[156:512])
    return block[:148] + b"%06o\0 " % total + block[156:]


def named(kind: bytes, name: bytes) -> bytes:
    """A long name in the form of GNU tar."""
    return header("././@LongLink", kind, len(name), tarfile.GNU_FORMAT) + name + bytes(-len(name) % 512)


HIDING = {
    "a folder's data, by its name": changed(header("usr/x/", b"0", 512), 156, b"\0") + DEVICE,
    "a file named as a folder": header("usr/x/", b"0"),
    **{
        f"data of kind {kind.decode()}": changed(header("usr/x", b"0", 512), 156, kind) + DEVICE
        for kind in (b"1", b"2", b"3", b"4", b"5", b"6")
    },
    "data of a folder by a record": pax((b"size", b"512")) + header("usr/x", b"5") + DEVICE,
    "a header of the whole archive": named(b"L", b"safe") + header("g", b"g") + header("../../evil-out"),
    "an empty one": header("g", b"g") + FILE,
    "two long names": named(b"L", b"a") + named(b"L", b"b") + FILE,
    "a long name and records": named(b"L", b"a") + pax((b"path", b"b")) + FILE,
    "records and a long link": pax((b"uid", b"1")) + named(b"K", b"b") + FILE,
    "records twice": pax((b"path", b"a")) + pax((b"size", b"0")) + FILE,
    "a record twice": pax((b"path", b"a"), (b"path", b"b")) + FILE,
    "an empty path": pax((b"path", b"")) + FILE,
    "an empty size": pax((b"size", b"")) + FILE,
    "a signed size": pax((b"size", b"+5")) + FILE,
    "a record with no name": pax((b"", b"abc")) + FILE,
    "an empty long name": named(b"L", b"\0") + FILE,
    "no POSIX": changed(FILE, 257, bytes(8)),
    "star": changed(FILE, 508, b"tar\0"),
    "GNU's with a prefix": changed(header(form=tarfile.GNU_FORMAT), 345, b"../../evil"),
    "a sum in binary": FILE[:148] + b"\x80" + sum(FILE[:148] + b" " * 8 + FILE[156:]).to_bytes(7) + FILE[156:],
    "a mode that is none": changed(FILE, 100, b"zzzzzz\0\0"),
    "a time that is none": changed(FILE, 136, b"99999999999\0"),
    "a major number that is none": changed(FILE, 329, b"x"),
    "a negative size": changed(FILE, 124, b"\xff" * 12),
    "a size without end": changed(FILE, 124, b"\x80\0\0\0" + b"\xff" * 8),
    "a user that is none": pax((b"uid", b"abc")) + FILE,
    "a user without end": pax((b"uid", b"4294967296")) + FILE,
    "a record's time that is none": pax((b"mtime", b"1.x")) + FILE,
    "overlay's own attribute": pax((b"SCHILY.xattr.trusted.overlay.redirect", b"/etc")) + FILE,
    "an attribute that fills a block": pax((b"SCHILY.xattr.user.x", b"x" * 5000)) + FILE,
}


@pytest.mark.parametrize("name", HIDING)
def test_what_could_be_read_in_two_ways_is_refused(name: str) -> None:
    with pytest.raises(SubmissionFault) as caught:
        check_layer([HIDING[name] + END], ImageBudget(1 << 30))
    assert caught.value.verdict is Verdict.IMAGE_INVALID
    assert caught.value.sentence.isprintable()


@pytest.mark.parametrize("name", [".wh...", "usr/.wh...", "usr/.wh..", "usr/.wh.", ".", "./", ""])
def test_nothing_takes_the_place_of_the_root_or_of_a_folder_above(name: str) -> None:
    with pytest.raises(SubmissionFault, match="not a file of the image"):
        check_layer([entry(name, tarfile.SYMTYPE, linkname="x").tobuf() + END], ImageBudget(1 << 30))
    check_layer([tar_of(entry("./", tarfile.DIRTYPE), entry("usr/.wh..wh..opq"))], ImageBudget(1 << 30))


def test_what_builders_write_is_taken() -> None:
    xattr = pax((b"SCHILY.xattr.security.capability", b"\1\0\0\2" + bytes(16)), (b"mtime", b"1700000000.25"))
    for data in (xattr + FILE, pax((b"uid", b"2097152"), (b"uname", b"")) + FILE, changed(FILE, 156, b"\0")):
        check_layer([data + END], ImageBudget(1 << 30))


def mutated(chance: random.Random, number: int) -> bytes:
    """An entry in its own folder, with up to two oddities on which readers differ."""
    place = f"e{number}/x"
    block = header(place, chance.choice((b"0", b"0", b"2", b"5", b"6")), form=chance.choice((0, 1)))
    before = b""
    for _ in range(chance.randint(1, 2)):
        at, values = chance.choice(
            (
                (156, (b"\0", b"0", b"5", b"6", b"7", b"S")),
                (124, (b"00000001000\0", b"\x80" + bytes(9) + b"\2\0", b"\xff" * 12, b"           0")),
                (257, (b"ustar  \0", b"ustar\x0000", bytes(8), b"ustar\0 \0")),
                (345, (f"p{number}".encode(), b"00000000001\0", bytes(8))),
                (500, (bytes(8), b"x")),
                (508, (b"tar\0",)),
                (100, (b"0000755\0", b"755     ", b"zz")),
                (len(place), (b"/",)),
            )
        )
        block = changed(block, at, chance.choice(values))
    if chance.random() < 0.5:
        record = chance.choice(((b"size", b"512"), (b"size", b"0"), (b"path", f"e{number}/y".encode()), (b"uid", b"7")))
        before = chance.choice((pax(record), named(b"L", f"e{number}/z".encode()), header("g", b"g")))
    return before + block + header(f"e{number}/hidden")  # or the data of the first


def found_in(data: bytes) -> list[str]:
    """The names that the judge reads in a tar; empty if it refuses the tar."""
    try:
        return [each.name.decode() for each in tar_entries(ByteStream(iter([data + END])), TarBudget())]
    except SubmissionFault:
        return []


@pytest.mark.docker
def test_the_engine_reads_what_the_judge_reads(engine: docker.DockerClient) -> None:
    """Hundreds of odd entries: a real engine unpacks the accepted ones, all in one layer."""
    chance = random.Random(5)
    taken = [data for data in (mutated(chance, number) for number in range(1200)) if found_in(data)]
    assert len(taken) > 200
    tar = b"".join(taken)
    assert exported(engine, tar + END) == {name.rstrip("/") for name in found_in(tar)}


@pytest.fixture
def unpack(engine: docker.DockerClient) -> Callable[[bytes], set[str]]:
    return lambda data: exported(engine, data)


@pytest.mark.docker
def test_the_engine_reads_otherwise_what_is_refused(unpack: Callable[[bytes], set[str]]) -> None:
    """Two known attacks, with a harmless file in place of a device: they show that the refusal is needed."""
    hidden = changed(header("usr/x/", b"0", 512), 156, b"\0") + header("usr/hidden")
    dropped = named(b"L", b"safe") + header("g", b"g") + header("other")
    assert found_in(hidden) == found_in(dropped) == []
    assert "usr/hidden" in unpack(hidden + END)
    assert "other" in unpack(dropped + END)


@pytest.mark.docker
@pytest.mark.parametrize("name", ["bzip2", "xz"])
def test_an_engine_unpacks_what_a_tar_hides_unless_the_judge_has_compressed_it(
    unpack: Callable[[bytes], set[str]], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The engine obeys the first bytes. In the judge's gzip these are the judge's, even if the tar were taken."""
    layer = POLYGLOTS[name]()
    monkeypatch.setattr(layer_check, "_COMPRESSIONS", {"gzip": layer_check._COMPRESSIONS["gzip"]})
    written = io.BytesIO()
    rewrite_layer([layer], ImageBudget(1 << 30), written.write)
    assert HIDDEN in unpack(layer)
    assert HIDDEN not in unpack(written.getvalue())


def exported(engine: docker.DockerClient, tar: bytes) -> set[str]:
    """The names that the engine unpacks from a layer, without folders that it creates for them."""
    image = engine.api.import_image_from_data(tar)
    image_id = next(part.split('"')[0] for part in image.split('"status":"')[1:])
    try:
        made = engine.api.create_container(image_id, ["x"])["Id"]
        try:
            data = b"".join(engine.api.export(made))
        finally:
            engine.api.remove_container(made)
    finally:
        engine.images.remove(image_id)
    with tarfile.open(fileobj=io.BytesIO(data)) as read:
        names = {info.name for info in read if info.name[0] != "." and not info.name.startswith(ENGINES_OWN)}
    return (
        names - {name.rpartition("/")[0] for name in names} - {name.partition("/")[0] for name in names if "/" in name}
    )
