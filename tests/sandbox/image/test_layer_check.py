"""Layers of strangers: one pass finds their errors, and costs neither memory nor disk."""

from __future__ import annotations

import gzip
import hashlib
import io
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.image import layer_check
from sandbox.image.layer_check import ImageBudget, check_layer
from sandbox.image.tar_entries import ByteStream, TarBudget, tar_entries
from sandbox.verdict import SubmissionFault, Verdict

GIB = 1024**3
ROOT = Path(__file__).parents[3]


def entry(name: str, kind: bytes = tarfile.REGTYPE, **fields: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def tar_of(*entries: tarfile.TarInfo | tuple[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    """A tar of these entries; a pair is a file and its content."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
        for each in entries:
            if isinstance(each, tuple):
                info = entry(each[0])
                info.size = len(each[1])
                tar.addfile(info, io.BytesIO(each[1]))
            else:
                tar.addfile(each)
    return buffer.getvalue()


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


GOOD = tar_of(("usr/lib/model.bin", b"weights" * 1000), entry("usr/bin/x", tarfile.SYMTYPE, linkname="/usr/lib/../y"))
ENTRIES = (
    ("etc/.wh.passwd", b""),
    ("usr/" + "long/" * 60 + "name", b"n"),
    ("usr/größe", b"utf-8"),
    entry("usr/", tarfile.DIRTYPE),
    entry("usr/hard", tarfile.LNKTYPE, linkname="usr/" + "long/" * 60 + "name"),
    entry("run/fifo", tarfile.FIFOTYPE),
    entry("usr/bin/su", mode=0o4755),
    entry("./dev/null", tarfile.CHRTYPE, devmajor=1, devminor=3),
)


def check(data: bytes, max_bytes: int = GIB) -> layer_check.CheckedLayer:
    return check_layer([data], ImageBudget(max_bytes))


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_a_good_layer_is_known_by_both_its_digests(form: int) -> None:
    tar = tar_of(*ENTRIES, form=form)
    gzipped = gzip.compress(tar)
    plain, packed = check(tar), check(gzipped)
    assert (plain.digest, plain.diff_id, plain.n_bytes) == (sha256(tar), sha256(tar), len(tar))
    assert (packed.diff_id, packed.unpacked_bytes) == (sha256(tar), len(tar))
    assert (packed.digest, packed.n_bytes) == (sha256(gzipped), len(gzipped))


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_how_the_bytes_are_cut_changes_nothing(data: st.DataObject) -> None:
    """Neither pieces of any length nor several gzip members, which together are one stream."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(GOOD)), max_size=5)))
    members = [gzip.compress(GOOD[a:b]) for a, b in zip([0, *cuts], [*cuts, len(GOOD)], strict=True)]
    packed = b"".join(members)
    size = data.draw(st.integers(1, 300))
    layer = check_layer((packed[i : i + size] for i in range(0, len(packed), size)), ImageBudget(GIB))
    assert (layer.diff_id, layer.digest, layer.n_bytes) == (sha256(GOOD), sha256(packed), len(packed))


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_the_headers_are_read_as_tarfile_reads_them(form: int) -> None:
    files = [("f/" * (i % 70) + f"{i}" + "n" * (i % 90), bytes(i % 1025)) for i in range(1000)]
    longest = 100 if form == tarfile.USTAR_FORMAT else None
    links = [entry(f"link-{i}", tarfile.LNKTYPE, linkname=files[i][0][:longest]) for i in range(0, 1000, 50)]
    devices = [entry("dev/x", tarfile.CHRTYPE, devmajor=major, devminor=1) for major in (1, 400)]
    tar = tar_of(*files, *links, *devices, form=form)
    with tarfile.open(fileobj=io.BytesIO(tar)) as read:
        expected = [
            (info.name, info.type, info.linkname, *((info.devmajor, info.devminor) if info.ischr() else (0, 0)))
            for info in read
        ]
    entries = tar_entries(ByteStream(iter([tar])), TarBudget())
    assert [(e.name.decode(), e.kind, e.link.decode(), e.major, e.minor) for e in entries] == expected


OUT_OF_THE_IMAGE = [
    entry("../etc/cron.d/x"),
    entry("usr/../../x"),
    entry("/etc/passwd"),
    entry("a/" * 80 + "../x"),
    entry("usr/x", tarfile.LNKTYPE, linkname="../../etc/shadow"),
    entry("usr/x", tarfile.LNKTYPE, linkname="/etc/shadow"),
    entry("dev/sda", tarfile.BLKTYPE, devmajor=8, devminor=0),
    entry("dev/mem", tarfile.CHRTYPE, devmajor=1, devminor=1),
    entry("usr/null", tarfile.CHRTYPE, devmajor=1, devminor=3),
]


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
@pytest.mark.parametrize("bad", OUT_OF_THE_IMAGE, ids=lambda e: f"{e.name[-16:]} {e.linkname}")
def test_what_leads_out_of_the_image_is_refused_by_name(bad: tarfile.TarInfo, form: int) -> None:
    with pytest.raises(SubmissionFault) as caught:
        check(gzip.compress(tar_of(("usr/good", b"x"), bad, form=form)))
    assert caught.value.verdict is Verdict.POLICY_VIOLATION
    assert bad.name[:80] in caught.value.sentence or bad.linkname in caught.value.sentence


@pytest.mark.parametrize("name", ["tmp", "./lambench", "lambench", "tmp/."])
def test_nothing_but_a_folder_is_where_the_sandbox_mounts_one(name: str) -> None:
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.REGTYPE):
        with pytest.raises(SubmissionFault, match="where the sandbox mounts a folder") as caught:
            check(tar_of(entry(name, kind, linkname="proc/1")))
        assert caught.value.verdict is Verdict.IMAGE_INVALID
    check(tar_of(entry(name, tarfile.DIRTYPE), entry("opt/tmp", tarfile.SYMTYPE, linkname="/tmp"), (".wh.tmp", b"")))


def pax(*records: tuple[bytes, bytes]) -> bytes:
    """A PAX header of these records, and its data block."""
    data = b""
    for key, value in records:
        rest = b" " + key + b"=" + value + b"\n"
        length = len(rest) + 1
        while len(str(length)) + len(rest) != length:
            length = len(str(length)) + len(rest)
        data += str(length).encode() + rest
    info = entry("pax", b"x", size=len(data))
    return info.tobuf(tarfile.USTAR_FORMAT) + data + bytes(-len(data) % 512)


def with_pax(*records: tuple[bytes, bytes]) -> bytes:
    return pax(*records) + tar_of(("usr/x", b"x"), form=tarfile.USTAR_FORMAT)


def test_a_path_in_a_pax_record_is_the_path() -> None:
    with pytest.raises(SubmissionFault, match="leads out of the image"):
        check(with_pax((b"path", b"../../x")))
    check(with_pax((b"path", b"usr/" + b"y" * 200)))


@pytest.mark.parametrize(
    ("data", "clue"),
    [
        (b"", "empty"),
        (gzip.compress(b""), "empty"),
        (b"no tar at all" * 100, "no tar"),
        (GOOD[:700], "cut off"),
        (GOOD[:100], "cut off"),
        (gzip.compress(GOOD)[:-9], "cut off"),
        (gzip.compress(GOOD) + b"and more", "something follows its end"),
        (gzip.compress(GOOD) + bytes(512), "something follows its end"),
        (GOOD + b"and more", "something follows its end"),
        (bytes(1024) + GOOD, "something follows its end"),
        (gzip.compress(GOOD)[:-8] + bytes(8), "cannot be read"),
        (b"\x28\xb5\x2f\xfd" + bytes(100), "push it with gzip"),
        (b"BZh91AY&SY" + bytes(600), "bzip2: push it with gzip"),
        (tar_of(entry("usr/x" + "y" * 300)), "too long"),
        (tar_of(entry("y/" * 2100 + "y")), "too long"),
        (entry("x", tarfile.GNUTYPE_SPARSE).tobuf(tarfile.GNU_FORMAT) + bytes(1024), "sparse"),
        (with_pax((b"GNU.sparse.major", b"1")), "sparse"),
        (entry("x", b"Z").tobuf(tarfile.GNU_FORMAT) + bytes(1024), "unknown kind"),
        (with_pax((b"path", b"a\0b")), "PAX"),
        (with_pax((b"size", b"-1")), "no number"),
        (with_pax((b"size", b"99999999")), "cut off"),
        (pax((b"path", b"x")) + bytes(1024), "cut off"),
        (entry("p", b"x", size=7).tobuf() + b"999 a=\n" + bytes(505) + GOOD, "PAX"),
        (entry("p", b"x", size=1 << 30).tobuf() + bytes(2048), "more than a megabyte"),
    ],
    ids=range(24),
)
def test_a_layer_that_an_engine_would_stumble_over_is_refused(data: bytes, clue: str) -> None:
    with pytest.raises(SubmissionFault, match=clue) as caught:
        check(data)
    assert caught.value.verdict is Verdict.IMAGE_INVALID
    assert "\n" not in caught.value.sentence


@given(st.binary(max_size=2000), st.integers(0, len(GOOD)), st.booleans())
@settings(max_examples=300, deadline=None)
def test_no_bytes_bring_it_down(noise: bytes, at: int, packed: bool) -> None:
    """Any bytes are a valid layer or its author's fault."""
    data = GOOD[:at] + noise + GOOD[at + len(noise) :]
    try:
        outcome: str = check(gzip.compress(data) if packed else data).diff_id
    except SubmissionFault as fault:
        outcome = fault.verdict
    assert outcome in (sha256(data), Verdict.IMAGE_INVALID, Verdict.POLICY_VIOLATION)


def test_names_are_shown_without_what_a_terminal_would_obey() -> None:
    with pytest.raises(SubmissionFault) as caught:
        check(tar_of(("../\x1b[2J", b"")))
    assert "\x1b" not in caught.value.sentence


def test_layers_of_one_image_share_its_budget() -> None:
    budget = ImageBudget(2 * len(GOOD))
    check_layer([GOOD], budget)
    check_layer([gzip.compress(GOOD)], budget)
    assert budget.unpacked_bytes == 2 * len(GOOD)
    with pytest.raises(SubmissionFault, match="GiB") as caught:
        check_layer([GOOD], budget)
    assert caught.value.verdict is Verdict.POLICY_VIOLATION


def test_entries_names_and_members_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    files = tar_of(*[(str(i), b"") for i in range(50)])
    with pytest.raises(SubmissionFault, match="files"):
        check_layer([files], ImageBudget(GIB, tar=TarBudget(entries=49)))
    with pytest.raises(SubmissionFault, match="too long names"):
        check_layer([with_pax((b"comment", b"x" * 2000))], ImageBudget(GIB, tar=TarBudget(extension_bytes=1999)))
    monkeypatch.setattr(layer_check, "MAX_MEMBERS", 5)
    with pytest.raises(SubmissionFault, match="gzip members"):
        check(gzip.compress(b"") * 6 + gzip.compress(GOOD))


def zeros(n_bytes: int) -> Iterator[bytes]:
    """A gzipped layer with one file of zeros."""
    packer, piece = zlib.compressobj(1, wbits=31), bytes(1 << 24)
    yield packer.compress(entry("zeros", size=n_bytes).tobuf(tarfile.GNU_FORMAT))
    for _ in range(n_bytes // len(piece)):
        yield packer.compress(piece)
    yield packer.compress(bytes(1024)) + packer.flush()


def test_a_layer_that_is_mostly_zeros_is_refused_by_its_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer_check, "RATIO_FROM", 100 * 1024**2)
    assert check_layer(zeros(96 * 1024**2), ImageBudget(64 * GIB)).unpacked_bytes > 96 * 1024**2
    with pytest.raises(SubmissionFault, match="times its size") as caught:
        check_layer(zeros(256 * 1024**2), ImageBudget(64 * GIB))
    assert caught.value.verdict is Verdict.POLICY_VIOLATION


BOMB = """
import resource, sys
from sandbox.image.layer_check import ImageBudget, check_layer
from sandbox.verdict import SubmissionFault
from tests.sandbox.image.test_layer_check import zeros

made = 0
def bomb():
    global made
    for chunk in zeros(10 * 1024**3):
        made += len(chunk)
        yield chunk

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    check_layer(bomb(), ImageBudget(int(sys.argv[1])))
except SubmissionFault as fault:
    print(fault.verdict, made, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, sep="|")
"""


def test_a_bomb_costs_no_memory() -> None:
    """Ten gigabytes of zeros under a cap of half a gigabyte are read up to the cap, in a few megabytes of memory."""
    command = [sys.executable, "-c", BOMB, str(GIB // 2)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    verdict, made, kilobytes = done.stdout.strip().split("|")
    assert verdict == "POLICY_VIOLATION"
    assert int(made) < 8 * 1024**2
    assert int(kilobytes) < 64 * 1024
