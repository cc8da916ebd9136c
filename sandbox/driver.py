"""The interface of a sandbox driver: resolve, pull and start an image, and remove leftovers."""

from __future__ import annotations

import socket
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from sandbox.evidence import Exit
from sandbox.limits import Limits
from sandbox.rundir import RunDir

DriverName = Literal["docker", "process"]
ColdStart = Literal["required", "if possible", "off"]
"""Whether a container starts with none of its image's files in memory. `required`: one whose files cannot be dropped is
not started. `if possible`: it is started, on a machine that sees no hidden data. `off`: nothing is dropped, and
sessions run beside each other: that is faster, and a container can leave bits for the next."""


@dataclass(frozen=True)
class Image:
    """A submission's image. It is run by `id`, so a tag that moves later changes nothing.

    Args:
        python: the command of its Python, from the label `org.lambench.python`.
        calculator: `module:factory`, from the label `org.lambench.calculator`.
        trainer: `module:train`, from the label `org.lambench.trainer`; empty if it cannot be trained.
        home: the image's HOME: a path, or `~user` of the image's own list of users.
        entrypoint: whether the image has an ENTRYPOINT that is not run.
        protocol: "1" if the image brings its own server (label `org.lambench.protocol`), else empty.
    """

    reference: str
    id: str
    driver: DriverName
    python: tuple[str, ...] = ("python3",)
    calculator: str = ""
    trainer: str = ""
    protocol: str = ""
    digests: tuple[str, ...] = ()
    architecture: str = ""
    size_bytes: int = 0
    volumes: tuple[str, ...] = ()
    home: str = "~root"
    entrypoint: bool = False


@dataclass(frozen=True)
class Login:
    """A credential for a registry."""

    username: str
    password: str = field(repr=False)


class Question(NamedTuple):
    """The settings with which the calculator is created.

    Args:
        domain: the task's domain: a multi-head model chooses its head by it.
        label_set: the task's label set, for the same use.
        device: "cpu" or "cuda".
        gpu: UUID of the GPU that the container gets; None: no GPU.
        out_bytes: in a training, the size of the folder in which the trainer leaves its model; 0: no training.
        has_model: whether the session's folder holds a trained model, which the calculator is created from.
    """

    domain: str | None = None
    label_set: str | None = None
    device: str = "cpu"
    gpu: str | None = None
    out_bytes: int = 0
    has_model: bool = False


class Running(Protocol):
    """One started container or process."""

    def alive(self) -> bool:
        """Whether it still runs."""
        ...

    def stop(self, grace_s: float) -> Exit:
        """Ends the container with all its processes, removes it, and returns how it ended. Called once.

        Args:
            grace_s: seconds in which it may end by itself, so that its own exit status is seen.
        """
        ...


class Driver(Protocol):
    """A way to run submissions."""

    name: DriverName
    run_dir: RunDir
    engine: str
    """What isolates the submission, with versions of engine, runtime and kernel; empty if nothing does."""
    disks: tuple[Path, ...]
    """Folders of this machine that it writes to, beside the run directory."""

    def resolve(self, reference: str) -> Image:
        """The image that `reference` points to now.

        Raises:
            SubmissionFault: IMAGE_INVALID or POLICY_VIOLATION; the sentence says what to change.
            JudgeFault: the engine does not answer.
        """
        ...

    def pull(self, reference: str, login: Login | None = None) -> None:
        """Makes the engine fetch `reference`, `name@sha256:…`, from its registry.

        Args:
            login: for the registry; None: the credential that this user's engine commands use.

        Raises:
            SubmissionFault: its layers cannot be unpacked on top of each other.
            JudgeFault: REGISTRY: the image cannot be fetched; DISK: the disk is full; the engine does not answer.
        """
        ...

    def session(self, image: Image) -> AbstractContextManager[tuple[Path, socket.socket]]:
        """The time of one session of `image`: a new folder with the guest, and the socket in it that listens.

        A sandbox has the host to itself for that time: it waits until no other session runs on this host, and nothing
        that an earlier session left in memory can be read in it.

        Raises:
            JudgeFault: the folder cannot be made, or what an earlier session may have left cannot be removed.
        """
        ...

    def start(self, image: Image, limits: Limits, question: Question, session_dir: Path) -> Running:
        """Starts `image`. It must connect to `session_dir/judge.sock`; the guest is `session_dir/guest.pyz`.

        Raises:
            SubmissionFault: the image cannot be started.
            JudgeFault: the engine does not answer, or the GPU is missing.
        """
        ...

    def reap(self) -> int:
        """Removes containers and sessions of judges that have died; returns how many."""
        ...
