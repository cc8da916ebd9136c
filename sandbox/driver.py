"""The seam of the sandbox: what a driver can do, whichever way it runs a submission."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from sandbox.evidence import Exit
from sandbox.limits import Limits
from sandbox.rundir import RunDir

DriverName = Literal["docker", "process"]


@dataclass(frozen=True)
class Image:
    """A submission's image as it will be run: by `id`, whatever its tag points to later.

    Args:
        python: how its Python is called, from the label `org.lambench.python`.
        calculator: `module:factory`, from the label `org.lambench.calculator`.
        protocol: "1" where the image brings its own server instead (label `org.lambench.protocol`), else empty.
    """

    reference: str
    id: str
    driver: DriverName
    python: tuple[str, ...] = ("python3",)
    calculator: str = ""
    protocol: str = ""
    digests: tuple[str, ...] = ()
    architecture: str = ""
    size_bytes: int = 0
    volumes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Login:
    """A credential for a registry."""

    username: str
    password: str = field(repr=False)


class Question(NamedTuple):
    """What the calculator is made for.

    Args:
        domain: of the task, by which a multi-head model chooses its head.
        label_set: of the task, likewise.
        device: "cpu" or "cuda".
        gpu: UUID of the GPU that the container is given; None for none.
    """

    domain: str | None = None
    label_set: str | None = None
    device: str = "cpu"
    gpu: str | None = None


class Running(Protocol):
    """One container (or process) that was started."""

    def alive(self) -> bool:
        """Whether it still runs."""
        ...

    def stop(self, grace_s: float) -> Exit:
        """Ends it and everything in it, and tells what became of it. Called once; leaves nothing behind.

        Args:
            grace_s: seconds that it is given to end by itself, so that its own exit status is seen.
        """
        ...


class Driver(Protocol):
    """A way to run submissions."""

    name: DriverName
    run_dir: RunDir
    engine: str
    """What isolates the submission, with versions of engine, runtime and kernel; empty where nothing does."""
    disks: tuple[Path, ...]
    """Folders of this machine that it writes to, beside the run directory."""

    def resolve(self, reference: str) -> Image:
        """The image that `reference` points to now.

        Raises:
            SubmissionFault: IMAGE_INVALID or POLICY_VIOLATION, with what to change.
            JudgeFault: the engine does not answer.
        """
        ...

    def pull(self, reference: str, login: Login | None = None) -> None:
        """Has the engine fetch `reference`, `name@sha256:…`, from its registry.

        Args:
            login: for the registry; None for what this user's own engine commands would use.

        Raises:
            SubmissionFault: its layers cannot be unpacked on each other.
            JudgeFault: REGISTRY: it cannot be had; DISK: there is no room for it; the engine does not answer.
        """
        ...

    def start(self, image: Image, limits: Limits, question: Question, session_dir: Path) -> Running:
        """Starts `image`, which shall connect to `session_dir/judge.sock`; the guest is `session_dir/guest.pyz`.

        Raises:
            SubmissionFault: the image cannot be started as it is.
            JudgeFault: the engine does not answer, the GPU is not there.
        """
        ...

    def reap(self) -> int:
        """Removes what judges that no longer live left behind, and says how many."""
        ...
