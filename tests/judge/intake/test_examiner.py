"""The device on which submitted images are tried, and how long intake waits for it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from judge.config import JudgeSettings
from judge.intake.examiner import Examiner
from judge.intake.upload_bucket import UploadBucket
from judge.workspace import Workspace
from sandbox.drivers.gpu import hold_gpu
from sandbox.verdict import FaultCause, JudgeFault
from submissions.progress import Reporter
from submissions.store.local import LocalStore
from submissions.store.s3_client import BucketPlace, connect

ExaminerOf = Callable[..., Examiner]


@pytest.fixture
def examiner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ExaminerOf:
    """An examiner on a machine with two GPUs; a program in place of nvidia-smi lists them."""
    listing = "GPU 0: NVIDIA One (UUID: GPU-aaaa)\nGPU 1: NVIDIA Two (UUID: GPU-bbbb)"
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{listing}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    def make(*gpus: str, intake_gpu: str = "") -> Examiner:
        settings = JudgeSettings(run_dir=tmp_path / "run", intake_gpu=intake_gpu)
        workspace = Workspace(settings, LocalStore(tmp_path / "store"))
        inbox = UploadBucket(connect("http://127.0.0.1:1"), BucketPlace("upload_bucket", ""))
        return Examiner(workspace, inbox, Reporter(Console(file=StringIO())), gpus, ())

    return make


def tried_on(examiner: Examiner) -> str:
    return examiner.gpu.uuid if examiner.gpu else "cpu"


def test_a_machine_with_gpus_tries_images_on_one(examiner: ExaminerOf, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tried_on(examiner()) == "GPU-aaaa"
    assert tried_on(examiner("GPU-bbbb", "GPU-aaaa")) == "GPU-bbbb"
    assert tried_on(examiner(intake_gpu="GPU-bbbb")) == "GPU-bbbb"
    assert tried_on(examiner("GPU-aaaa", intake_gpu="GPU-bbbb")) == "GPU-aaaa"
    assert tried_on(examiner(intake_gpu="cpu")) == "cpu"
    with pytest.raises(JudgeFault, match="GPU-cccc is not in this machine"):
        tried_on(examiner(intake_gpu="GPU-cccc"))
    monkeypatch.setenv("PATH", "/nowhere")
    assert tried_on(examiner()) == "cpu"


def test_a_gpu_that_is_not_let_go_of_is_the_judges_fault(examiner: ExaminerOf, tmp_path: Path) -> None:
    subject = examiner()
    subject.gpu_wait_s = 0.2
    begun = time.monotonic()
    with hold_gpu("GPU-aaaa", tmp_path / "run" / "gpus"):
        for _ in range(2):  # after one wait in vain, later requests do not wait
            with pytest.raises(JudgeFault, match="GPU-aaaa is still used") as raised, subject.alone_on_gpu():
                pass
            assert raised.value.cause is FaultCause.GPU
            assert subject.gpu_wait_s == 0
    assert time.monotonic() - begun < 10
    subject.gpu_wait_s = 30
    with subject.alone_on_gpu():  # free again
        pass


def test_who_waits_for_a_gpu_has_it_next(examiner: ExaminerOf, tmp_path: Path) -> None:
    """A judge that releases the GPU and takes it again at once does not block others for ever."""
    over = threading.Event()

    def busy() -> None:
        while not over.is_set():
            with hold_gpu("GPU-aaaa", tmp_path / "run" / "gpus"):
                over.wait(0.01)

    judge = threading.Thread(target=busy)
    judge.start()
    try:
        subject = examiner()
        subject.gpu_wait_s = 30
        with subject.alone_on_gpu():
            assert 0 < subject.gpu_wait_s < 30
        with hold_gpu("GPU-aaaa", tmp_path / "run" / "gpus", wait_s=30):
            pass
    finally:
        over.set()
        judge.join()
