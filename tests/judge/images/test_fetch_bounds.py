"""An image that is too large, or for which there is no room, is not transferred."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from judge.config import JudgeSettings
from judge.images import fetch, spool
from judge.images.fetch import mirror_image
from judge.workspace import Workspace
from sandbox.image import layer_check, layer_rewriting
from sandbox.image.layer_check import ImageBudget
from sandbox.image.tar_entries import TarBudget
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault, Verdict
from submissions.requests import SentLayer, SentPart, UploadedImage
from tests.judge.images.arrivals import device, nothing, refused, upload
from tests.world.small_images import AuthorsRepository, MadeImage, send, some_tar, tar_of


def test_an_image_that_is_too_large_is_not_transferred(settings: JudgeSettings) -> None:
    part = SentPart(slot="0" * 32, n_bytes=200 * 1024**2, sha256="0" * 64)
    image = MadeImage([some_tar()])
    layer = SentLayer(diff_id=image.diff_ids[0], parts=(part,))
    request = UploadedImage(reference="x", config=image.config.decode(), layers=(layer,))
    fault = refused(lambda: mirror_image(Workspace(settings), request, (), nothing, print))  # type: ignore[arg-type]
    assert fault.verdict is Verdict.POLICY_VIOLATION
    assert "GiB" in fault.sentence


def test_a_layer_counts_as_often_as_it_is_unpacked(settings: JudgeSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine unpacks it once for each occurrence: a layer of 1 GB that occurs 100 times takes 100 GB."""
    tar = some_tar()
    image = MadeImage([tar] * 5)
    assert upload(settings, send(image)).size_bytes == 5 * len(tar)
    small = settings.model_copy(update={"max_image_bytes": 5 * len(tar) - 1})
    assert refused(lambda: upload(small, send(image))).verdict is Verdict.POLICY_VIOLATION
    held = image.diff_ids[:1]
    assert refused(lambda: upload(small, send(image, left_out=held), held=held)).verdict is Verdict.POLICY_VIOLATION
    monkeypatch.setattr(fetch, "ImageBudget", lambda max_bytes: ImageBudget(max_bytes, tar=TarBudget(entries=4)))
    assert "files" in refused(lambda: upload(settings, send(image))).sentence


def test_layers_of_zeros_count_together(settings: JudgeSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five layers, each too small for the ratio of a layer; other layers of usual size do not matter."""
    monkeypatch.setattr(layer_check, "RATIO_FROM", 4 * 1024**2)
    zeros = [tar_of((f"opt/zeros-{n}", bytes(1_800_000))) for n in range(5)]
    fault = refused(lambda: upload(settings, send(MadeImage(zeros))))
    assert (fault.verdict, "times its size" in fault.sentence) == (Verdict.POLICY_VIOLATION, True)
    assert upload(settings, send(MadeImage([tar_of(("opt/weights", os.urandom(100_000))), *zeros]))).layers


def test_an_engines_disk_without_room_is_found_before_a_transfer(
    settings: JudgeSettings, mirrored: AuthorsRepository, tmp_path: Path
) -> None:
    free = shutil.disk_usage(tmp_path).free
    huge = settings.model_copy(update={"max_image_bytes": 1 << 60})
    part = SentPart(slot="0" * 32, n_bytes=200 * 1024**2, sha256="0" * 64)
    image = MadeImage([some_tar()])
    layer = SentLayer(diff_id=image.diff_ids[0], parts=(part,) * (free // part.n_bytes + 20))
    request = UploadedImage(reference="x", config=image.config.decode(), layers=(layer,))
    for limit, fault in (
        (huge, JudgeFault),
        (settings, SubmissionFault),
    ):  # an image that is too large is a submission fault
        with pytest.raises(fault):
            mirror_image(Workspace(limit), request, (), nothing, print, [tmp_path])  # type: ignore[arg-type]


def test_without_room_on_the_disk_no_layer_is_transferred(
    settings: JudgeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = settings.model_copy(update={"min_free_bytes": 1 << 60})
    with pytest.raises(JudgeFault, match="free at") as caught:
        mirror_image(Workspace(full), send(MadeImage([some_tar()])).request, (), nothing, print)  # type: ignore[arg-type]
    assert caught.value.cause is FaultCause.DISK
    monkeypatch.setenv("TMPDIR", "/nothing/there")
    with pytest.raises(JudgeFault, match="TMPDIR"):
        upload(settings, send(MadeImage([some_tar()])))


def test_no_temporary_file_stays(settings: JudgeSettings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "spool"))
    seen: list[int] = []
    rewrite = layer_rewriting.rewrite_layer

    def watched(*arguments: object) -> object:
        seen.append(len(list((tmp_path / "spool").iterdir())))
        return rewrite(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(spool, "rewrite_layer", watched)
    upload(settings, send(MadeImage([some_tar()])))
    refused(lambda: upload(settings, send(MadeImage([device()]))))
    assert seen == [0, 0]  # the file has no name, so it also disappears with a killed judge
    assert not list((tmp_path / "spool").iterdir())
