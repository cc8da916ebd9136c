"""Images that are brought into the mirror, and hostile layers that are refused."""

from __future__ import annotations

import tarfile
from collections.abc import Callable

import pytest

from judge.config import JudgeSettings
from judge.images.fetch import MirroredImage, mirror_image
from judge.workspace import Workspace
from sandbox.selftest.polyglots import POLYGLOTS, root_link_layer
from sandbox.verdict import SubmissionFault, Verdict
from submissions.requests import ReferredImage, SentPart
from tests.world.small_images import SentImage, tar_of


def nothing(part: SentPart) -> None:
    raise KeyError(part.slot)


def refer(settings: JudgeSettings, reference: str, held: tuple[str, ...] = ()) -> MirroredImage:
    lines: list[str] = []
    return mirror_image(Workspace(settings), ReferredImage(reference=reference), held, nothing, lines.append)  # type: ignore[arg-type]


def upload(
    settings: JudgeSettings,
    sent: SentImage,
    held: tuple[str, ...] = (),
    say: Callable[[str], None] = lambda line: None,
) -> MirroredImage:
    return mirror_image(Workspace(settings), sent.request, held, sent.part, say)


def refused(act: Callable[[], object]) -> SubmissionFault:
    with pytest.raises(SubmissionFault) as caught:
        act()
    assert caught.value.sentence.isprintable()
    return caught.value


def device() -> bytes:
    info = tarfile.TarInfo("dev/sda")
    info.type, info.devmajor, info.devminor = tarfile.BLKTYPE, 8, 0
    return tar_of(info)


def symbolic_link(name: str, target: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, target
    return info


def hard_link() -> bytes:
    info = tarfile.TarInfo("opt/x")
    info.type, info.linkname = tarfile.LNKTYPE, "../../etc/shadow"
    return tar_of(info)


HOSTILE = {
    "bomb": (tar_of(("zeros", bytes(11 * 1024**2))), "GiB", Verdict.POLICY_VIOLATION),
    "path escape": (tar_of(("opt/../../etc/x", b"")), "leads out", Verdict.POLICY_VIOLATION),
    "absolute path": (tar_of(("/etc/x", b"")), "leads out", Verdict.POLICY_VIOLATION),
    "hard link": (hard_link(), "leads out", Verdict.POLICY_VIOLATION),
    "device": (device(), "device", Verdict.POLICY_VIOLATION),
    **{name: (make(), name, Verdict.IMAGE_INVALID) for name, make in POLYGLOTS.items()},
    "link at /tmp": (root_link_layer(), "'root/tmp'", Verdict.IMAGE_INVALID),
    "no tar": (b"no tar" * 500, "no tar", Verdict.IMAGE_INVALID),
}
