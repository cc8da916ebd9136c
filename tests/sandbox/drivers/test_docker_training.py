"""Trainings in Docker: what a trainer sees and leaves, what it cannot, and who is gone before its files are read.

One image serves all: its trainer runs the lines that lie among its data.
"""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import docker
import numpy as np
import pytest
from ase.build import bulk

from sandbox.driver import Image, Question
from sandbox.drivers.docker_driver import DockerDriver, connect_engine
from sandbox.limits import MIB
from sandbox.training import TrainedModel
from sandbox.verdict import SubmissionFault, Verdict
from sandbox.wire.session import SessionOutcome, run_session
from sandbox.wire.training import MARGIN_BYTES, TrainingOrder, run_training
from tasks.structures.frames import Frames
from tests.sandbox.drivers.docker_sessions import LIMITS, labelled

pytestmark = pytest.mark.docker

TRAINER = Path(__file__).parents[2] / "hostile" / "trainer"
TAG = "lambench-test/trainer:latest"
OUT_BYTES = 4 * MIB
Train = Callable[..., SessionOutcome[TrainedModel]]


@pytest.fixture(scope="module")
def trainer(docker_driver: DockerDriver) -> Image:
    connect_engine().images.build(path=str(TRAINER), tag=TAG, rm=True)
    return docker_driver.resolve(TAG)


@pytest.fixture(scope="module")
def trained(docker_driver: DockerDriver, trainer: Image) -> Train:
    """The outcome of a training that runs the given lines."""

    def train(lines: str, image: Image = trainer, wall_s: float = 20.0, **limits: int) -> SessionOutcome[TrainedModel]:
        def fill(folder: Path) -> None:
            (folder / "act.py").write_text(dedent(lines))
            np.save(folder / "energy.npy", np.arange(5.0))

        order = TrainingOrder(fill, wall_s, 7, OUT_BYTES)
        return run_training(docker_driver, image, LIMITS.model_copy(update=limits), Question(), order)

    return train


def report_of(outcome: SessionOutcome[TrainedModel]) -> dict:
    """What a trainer left as `report.json`."""
    assert outcome.value is not None, outcome
    return json.loads(outcome.value.files["report.json"])


def test_a_trainer_learns_and_its_model_answers_in_a_fresh_container(docker_driver, trainer, trained: Train) -> None:
    """The data are complete, read-only, and there only after the hello: `/tmp/starts` knows of guest and trainer."""
    outcome = trained(
        """
        import json, os, shutil
        import numpy as np
        np.save(out_dir + "/mean.npy", np.load(data_dir + "/energy.npy").mean())
        os.makedirs(out_dir + "/more/empty")
        shutil.copy("/tmp/starts", out_dir + "/more/starts")
        report = {"data": sorted(os.listdir(data_dir)), "refused": {}}
        for name, change in (
            ("write", lambda: open(data_dir + "/energy.npy", "r+")),
            ("remove", lambda: os.unlink(data_dir + "/energy.npy")),
            ("add", lambda: open(data_dir + "/more", "w")),
            ("list", lambda: os.listdir(data_dir + "/..")),
        ):
            try:
                change()
            except OSError as error:
                report["refused"][name] = error.errno
        json.dump(report, open(out_dir + "/report.json", "w"))
        """
    )
    assert (outcome.verdict, outcome.sentence) == (Verdict.OK, "Trained: the trainer returned.")
    assert outcome.value is not None
    assert sorted(outcome.value.files) == ["mean.npy", "more/starts", "report.json"]
    assert outcome.value.files["more/starts"] == b"none\ndata\n"
    report = report_of(outcome)
    assert report["data"] == ["act.py", "energy.npy"]
    refused = {"write": errno.EACCES, "remove": errno.EROFS, "add": errno.EROFS, "list": errno.EACCES}
    assert report["refused"] == refused or report["refused"] == {**refused, "write": errno.EROFS}
    frames = Frames.from_atoms([bulk("Cu")])
    asked = run_session(
        docker_driver,
        trainer,
        LIMITS,
        Question(has_model=True),
        lambda remote: float(remote.compute(frames, ("energy",)).energy[0]),
        outcome.value.place,
    )
    assert asked.value == 2.0


def test_a_trainer_over_its_time_is_warned_ended_and_judged_by_what_it_left(trained: Train) -> None:
    outcome = trained(
        """
        import os, signal, time
        begin = time.monotonic()
        def warned(*_):
            with open(out_dir + "/warned", "w") as file:
                file.write(str((time.monotonic() - begin) / wall_s))
        signal.signal(signal.SIGTERM, warned)
        while True:
            time.sleep(0.01)
        """,
        wall_s=2.0,
    )
    assert (outcome.verdict, outcome.sentence) == (Verdict.OK, "Trained: its time was over.")
    assert outcome.value is not None
    assert 0.4 < float(outcome.value.files["warned"]) < 1.0  # its clock begins when it is loaded


def test_tmp_and_out_alone_can_be_written_and_out_is_limited(trained: Train) -> None:
    outcome = trained(
        """
        import json, os
        report = {"written": [], "places": 0}
        for folder, names, _ in os.walk("/"):
            names[:] = [name for name in names if os.path.join(folder, name) not in ("/proc", "/sys", "/tmp/home")]
            report["places"] += 1
            try:
                os.close(os.open(folder + "/.written", os.O_CREAT | os.O_WRONLY))
                os.unlink(folder + "/.written")
                report["written"].append(folder)
            except OSError:
                pass
        written = 0
        try:
            with open(out_dir + "/full", "wb", buffering=0) as file:
                while written < 1 << 26:
                    written += file.write(b"1" * 65536)
        except OSError as error:
            report["error"] = error.errno
        report["full"] = written
        os.unlink(out_dir + "/full")
        with open(out_dir + "/run", "w") as file:
            file.write("#!/bin/sh")
        os.chmod(out_dir + "/run", 0o755)
        report["runs"] = os.access(out_dir + "/run", os.X_OK)
        json.dump(report, open(out_dir + '/report.json', 'w'))
        """
    )
    report = report_of(outcome)
    assert sorted(report["written"]) == ["/dev/mqueue", "/dev/shm", "/out", "/tmp"]
    assert report["places"] > 100
    assert report["error"] == errno.ENOSPC
    assert OUT_BYTES < report["full"] <= OUT_BYTES + MARGIN_BYTES
    assert not report["runs"]


@pytest.mark.parametrize(
    ("lines", "verdict", "clue"),
    [
        ("open(out_dir + '/holes', 'wb').truncate(1 << 40)", Verdict.OUTPUT_LIMIT, "out_dir is full"),
        ("import os; os.mkfifo(out_dir + '/pipe')", Verdict.POLICY_VIOLATION, "a device, a pipe or a socket"),
        ("import os; open(os.fsencode(out_dir) + b'/\\xff', 'w')", Verdict.POLICY_VIOLATION, "cannot be kept"),
        ("x = bytearray(2 << 30)", Verdict.MEMORY_LIMIT, "went beyond 0.5 GiB"),
        ("import os; os.kill(os.getppid(), 9)", Verdict.CRASHED, "(killed)"),
    ],
)
def test_what_cannot_be_kept_is_a_verdict(trained: Train, lines: str, verdict: Verdict, clue: str) -> None:
    outcome = trained(lines)
    assert outcome.verdict is verdict, outcome
    assert clue in outcome.sentence


def test_a_trainer_that_was_killed_for_memory_is_judged_by_what_it_left(trained: Train) -> None:
    """A device node is refused, and leaves nothing, either."""
    outcome = trained(
        """
        import os
        try:
            os.mknod(out_dir + "/null", 0o020666, os.makedev(1, 3))
        except PermissionError:
            open(out_dir + "/refused", "w").close()
        x = bytearray(2 << 30)
        """
    )
    assert (outcome.verdict, outcome.sentence) == (
        Verdict.OK,
        "Trained: the trainer raised an error or was killed.",
    )
    assert outcome.value is not None
    assert list(outcome.value.files) == ["refused"]


def test_all_processes_are_gone_before_the_files_are_read(trained: Train) -> None:
    """A daemon that ignores signals writes on and on, and another forks without end."""
    begin = time.monotonic()
    outcome = trained(
        """
        import os, signal, time
        for number in range(1, signal.NSIG):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            while True:
                with open(out_dir + "/beats", "r+" if os.path.exists(out_dir + "/beats") else "w") as file:
                    file.write(str(time.monotonic_ns()) * 5000)
        if os.fork() == 0:
            os.setsid()
            while True:
                try:
                    os.fork()
                except OSError:
                    time.sleep(0.01)
        time.sleep(60)
        """,
        wall_s=2.0,
        pids=64,
    )
    assert (outcome.verdict, outcome.sentence) == (Verdict.OK, "Trained: its time was over.")
    assert outcome.value is not None
    assert list(outcome.value.files) == ["beats"]
    assert time.monotonic() - begin < 12


def test_an_image_without_a_trainer_cannot_learn(docker_driver: DockerDriver, trained: Train) -> None:
    outcome = trained("", docker_driver.resolve("lambench/emt:latest"))
    assert (outcome.verdict, outcome.value) == (Verdict.UNSUPPORTED, None)
    assert outcome.sentence == "The image has no label org.lambench.trainer: it cannot learn."


def test_an_own_server_cannot_be_trained(docker_driver: DockerDriver, trainer: Image) -> None:
    tag = labelled(TAG, 'LABEL org.lambench.protocol="1"', 'ENTRYPOINT ["python3", "server.py"]')
    with pytest.raises(SubmissionFault, match="an own server cannot be trained"):
        docker_driver.resolve(tag)


def test_the_images_environment_changes_nothing(docker_driver, trainer: Image, trained: Train) -> None:
    """Else the guest would take itself for the trainer, or leave processes, or read another folder."""
    settings = 'ENV LAMBENCH_ORDER="{}" LAMBENCH_ALONE=0 LAMBENCH_MODEL_DIR=/model LAMBENCH_OUT_DIR=/tmp'
    image = docker_driver.resolve(labelled(TAG, settings))
    outcome = trained("open(out_dir + '/' + out_dir.replace('/', '-'), 'w')", image)
    assert outcome.value is not None
    assert list(outcome.value.files) == ["-out"]


@pytest.mark.parametrize("target", ["/proc/self/fd", "/"])
def test_a_link_at_the_folder_of_the_model_is_the_images_fault(
    docker_driver: DockerDriver, trainer: Image, trained: Train, images: docker.DockerClient, target: str
) -> None:
    """An engine would follow it, and the container could not start: that looks like a fault of this machine."""
    image = docker_driver.resolve(labelled(TAG, f"RUN ln -s {target} /out"))
    outcome = trained("", image)
    assert outcome.verdict is Verdict.IMAGE_INVALID
    assert "a link or a file at /out" in outcome.sentence
