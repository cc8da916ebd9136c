"""The Docker driver: one untrusted image in one container, with nothing that it does not need.

What is closed, and why: no network at all; a read-only root, so that only `/tmp` (memory, limited) can be written; a
user that owns nothing; no capability, and no way to gain one; the engine's default seccomp profile; private IPC;
limits on memory with no swap, on processes, files, shared memory and log; no core dumps; no health check, which would
run the image's command beside the guest. What goes in is one folder, read-only: the guest and a socket. Images are
run by ID: a tag may move, an ID cannot.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import docker
import docker.errors
import requests
from docker.models.containers import Container
from docker.types import DeviceRequest, LogConfig, Mount, Ulimit

from sandbox.cgroup import Cgroup
from sandbox.driver import DriverName, Image, Question
from sandbox.environment import environment
from sandbox.events import Event, tell
from sandbox.evidence import Exit
from sandbox.image_check import image_from_inspection, invalid
from sandbox.limits import Limits
from sandbox.rundir import GUEST_NAME, SOCKET_NAME, RunDir
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault

LOCK_LABEL = "org.lambench.judge.lock"
HOST_LABEL = "org.lambench.judge.host"
RUN_DIR_LABEL = "org.lambench.judge.run-dir"
INSIDE = "/lambench"
NOBODY = "65534:65534"
LOG_LINES = 60
CONFLICT = 409
ENGINE_TIMEOUT_S = 60
BAD_REQUEST = 400
# In what an engine says when it cannot start a container.
_MACHINE_CLUES = ("no space left", "cgroup", "resource temporarily", "too many open files", "cannot allocate memory")
_IMAGE_CLUES = ("OCI runtime create failed", "Cannot mkdir", "No command specified", "not a directory")


@contextmanager
def engine_faults() -> Iterator[None]:
    """Turns what the engine or the connection to it raises into a `JudgeFault`."""
    try:
        yield
    except (docker.errors.DockerException, requests.RequestException) as error:
        said = error.explanation if isinstance(error, docker.errors.APIError) and error.explanation else error
        reason = " ".join(str(said).split())[:200]
        raise JudgeFault(
            FaultCause.DOCKER, f"the Docker engine does not do as it is told ({reason}): check `judge doctor`"
        ) from error


def connect_engine() -> docker.DockerClient:
    """A connection to the engine that the environment names (DOCKER_HOST), else to the local one.

    Raises:
        JudgeFault: it does not answer.
    """
    try:
        client = docker.from_env(timeout=ENGINE_TIMEOUT_S)
        client.ping()
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise JudgeFault(
            FaultCause.DOCKER, "no Docker engine answers: start it, or set DOCKER_HOST, or use --driver process"
        ) from error
    return client


def engine_words(info: Mapping[str, Any], version: Mapping[str, Any], runtime: str | None) -> str:
    """`Docker 20.10.24 (runc 1.1.5, Linux 6.1.0, cgroup v2)`, from what an engine says of itself."""
    parts = {part.get("Name", ""): str(part.get("Version", "")) for part in version.get("Components") or []}
    name = "Podman" if any("podman" in part.lower() for part in parts) else "Docker"
    chosen = runtime or str(info.get("DefaultRuntime") or "runc")
    of_runtime = parts.get(chosen, "").split("\n", 1)[0]
    return (
        f"{name} {version.get('Version', '')} ({' '.join([chosen, of_runtime]).strip()}, "
        f"Linux {info.get('KernelVersion', '')}, cgroup v{info.get('CgroupVersion') or 1})"
    )


class DockerDriver:
    """Runs submissions as containers of the Docker engine."""

    name: DriverName = "docker"

    def __init__(self, run_dir: RunDir, runtime: str | None = None) -> None:
        self.run_dir = run_dir
        self._runtime = runtime
        self._client = connect_engine()
        with engine_faults():
            info = self._client.info()
            version = self._client.version()
        self._host = str(info.get("ID", ""))
        self.engine = engine_words(info, version, runtime)

    def resolve(self, reference: str) -> Image:
        """The image that `reference` (a tag, a digest or an ID) points to in this engine."""
        if reference.startswith((".", "/")):
            raise invalid(
                f"{reference!r} is a folder, no image: build it first with `docker build -t NAME {reference}`, "
                "or run it without isolation with --driver process."
            )
        try:
            with engine_faults():
                try:
                    inspection = self._client.api.inspect_image(reference)
                except docker.errors.ImageNotFound:
                    raise invalid(
                        f"There is no image {reference!r} on this machine: build it with `docker build -t NAME "
                        "FOLDER`, or check its name with `docker images`."
                    ) from None
        except JudgeFault as fault:
            if "invalid reference format" in str(fault.__cause__):
                raise invalid(f"{reference!r} is no image name: give name:tag.") from None
            raise
        return image_from_inspection(reference, inspection)

    def start(self, image: Image, limits: Limits, question: Question, session_dir: Path) -> DockerRunning:
        """Starts `image`; see `sandbox.driver.Driver.start`."""
        options = container_options(image, limits, question, session_dir)
        labels = {LOCK_LABEL: self.run_dir.token, RUN_DIR_LABEL: str(self.run_dir.root), HOST_LABEL: self._host}
        name = f"lambench-{session_dir.name}"
        try:
            with engine_faults():
                try:
                    container = self._client.containers.create(
                        image.id, name=name, labels=labels, runtime=self._runtime, **options
                    )
                    tell(Event.CONTAINER_CREATED, container=session_dir.name)
                    running = DockerRunning(container)
                    running.launch()
                except docker.errors.ImageNotFound:
                    raise JudgeFault(
                        FaultCause.DOCKER, f"image {image.id} ({image.reference}) is gone: build or pull it again"
                    ) from None
                except docker.errors.APIError as error:
                    raise start_fault(error) from error
        except BaseException:
            self._remove(name)  # by name: an engine that did not answer in time may have made it all the same
            raise
        return running

    def _remove(self, name: str) -> None:
        with suppress(docker.errors.DockerException, requests.RequestException):
            DockerRunning(self._client.containers.get(name)).remove()

    def reap(self) -> int:
        """Removes the containers of judges of this engine and run directory that no longer live.

        Of a judge with another run directory nothing is known here, so its containers are left alone.
        """
        mine = [f"{HOST_LABEL}={self._host}", f"{RUN_DIR_LABEL}={self.run_dir.root}"]
        removed = 0
        with engine_faults():
            for container in self._client.containers.list(all=True, filters={"label": mine}, ignore_removed=True):
                if self.run_dir.dead(container.labels[LOCK_LABEL]):
                    with suppress(docker.errors.NotFound):
                        container.remove(force=True, v=True)
                        removed += 1
        self.run_dir.sweep()
        return removed


def start_fault(error: docker.errors.APIError) -> SubmissionFault | JudgeFault:
    """Whose fault it is that a container cannot be created or started: the image's, unless it names the machine."""
    text = " ".join(str(error.explanation or error).split())
    if "device driver" in text or "nvidia" in text:
        return JudgeFault(FaultCause.GPU, "the engine cannot pass GPUs on: install the NVIDIA container toolkit")
    of_the_machine = any(clue in text.lower() for clue in _MACHINE_CLUES)
    if not of_the_machine and (error.status_code == BAD_REQUEST or any(clue in text for clue in _IMAGE_CLUES)):
        return invalid(
            "The image cannot be started as user 65534: its WORKDIR must be a folder that anyone may enter, "
            "and its entrypoint a program that anyone may run."
        )
    return JudgeFault(FaultCause.DOCKER, f"the Docker engine cannot start a container ({text[:200]}): see its log")


def container_options(image: Image, limits: Limits, question: Question, session_dir: Path) -> dict[str, Any]:
    """Everything that `docker create` is told beyond the image: each restriction of the sandbox, in one place."""
    tmpfs = f"rw,exec,nosuid,nodev,mode=1777,size={limits.tmp_bytes}"
    options: dict[str, Any] = {
        "user": NOBODY,
        "read_only": True,
        "network_mode": "none",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "ipc_mode": "private",
        "init": True,
        "pids_limit": limits.pids,
        "mem_limit": limits.memory_bytes,
        "memswap_limit": limits.memory_bytes,
        "cpuset_cpus": cpuset(limits.cpus),
        "shm_size": limits.shm_bytes,
        # A volume of the image below /tmp would be unlimited disk: a tmpfs of the same limit takes its place.
        "tmpfs": dict.fromkeys(("/tmp", *image.volumes), tmpfs),
        "ulimits": [
            Ulimit(name="nofile", soft=limits.open_files, hard=limits.open_files),
            Ulimit(name="core", soft=0, hard=0),
        ],
        "healthcheck": {"test": ["NONE"]},
        "log_config": LogConfig(type="local", config={"max-size": str(limits.log_bytes), "max-file": "2"}),
        "mounts": [Mount(INSIDE, str(session_dir), type="bind", read_only=True)],
        "environment": environment(image, limits, question, f"{INSIDE}/{SOCKET_NAME}"),
        "hostname": "lambench",
        "stdin_open": False,
        "tty": False,
        "use_config_proxy": False,
    }
    if not image.protocol:
        options["entrypoint"] = [*image.python, f"{INSIDE}/{GUEST_NAME}"]
        options["command"] = []
    if question.gpu:
        options["device_requests"] = [DeviceRequest(device_ids=[question.gpu], capabilities=[["gpu"]])]
    return options


def cpuset(cpus: int) -> str:
    """The first `cpus` processors that this process may use, as Docker writes them."""
    return ",".join(map(str, sorted(os.sched_getaffinity(0))[:cpus]))


class DockerRunning:
    """One container, from its creation to its removal."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._cgroup: Cgroup | None = None

    def launch(self) -> None:
        """Starts the container, and finds where the kernel counts its memory."""
        self._container.start()
        with engine_faults():
            found = Cgroup.of_process(int(self._state().get("Pid") or 0))
        # A judge that runs in a container itself sees other processes under the engine's numbers.
        self._cgroup = found if found and self._container.id in str(found.folder) else None

    def _state(self) -> Mapping[str, Any]:
        state: Mapping[str, Any] = self._container.client.api.inspect_container(self._container.id)["State"]
        return state

    def alive(self) -> bool:
        """Whether the container still runs."""
        with engine_faults():
            return bool(self._state()["Running"])

    def stop(self, grace_s: float) -> Exit:
        """Ends and removes the container; see `sandbox.driver.Running.stop`."""
        with engine_faults():
            try:
                return self._stop(grace_s)
            finally:
                self.remove()

    def _stop(self, grace_s: float) -> Exit:
        counters = self._cgroup.read() if self._cgroup else None
        until = time.monotonic() + grace_s
        state = self._state()
        while state["Running"] and time.monotonic() < until:
            time.sleep(0.02)
            counters = (self._cgroup.read() if self._cgroup else None) or counters
            state = self._state()
        ran_on = bool(state["Running"])
        log = self._container.logs(tail=LOG_LINES)[-16_384:].decode("utf-8", "replace")
        oom_kills = max(counters.oom_kills if counters else 0, int(bool(state.get("OOMKilled"))))
        return Exit(
            code=None if ran_on else int(state["ExitCode"]),
            oom_kills=oom_kills,
            memory_bytes=counters.peak_bytes if counters else None,
            log=log,
        )

    def remove(self) -> None:
        """Kills the container if it runs, and removes it with all it wrote."""
        with engine_faults(), suppress(docker.errors.NotFound):
            try:
                self._container.remove(force=True, v=True)
            except docker.errors.APIError as error:
                if error.status_code != CONFLICT:  # its removal is already under way
                    raise
