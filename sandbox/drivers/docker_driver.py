"""The Docker driver: one untrusted image in one container, with nothing that it does not need.

Restrictions: no network; a read-only root, so that only `/tmp`, and in a training `/out`, can be written (memory,
limited); a user that owns nothing; no capability, and no way to gain one; a seccomp profile that is stricter than the
engine's; the host's facts and counters in `/proc` and `/sys` masked; private IPC and cgroups; limits on memory without
swap, on processes, files, shared memory and log; no core dumps; no health check, which would run the image's command
beside the guest.
One folder is mounted, read-only: the guest and a socket. Images are run by ID: a tag can move, an ID cannot.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import docker
import docker.errors
import requests
from docker.types import DeviceRequest, LogConfig, Mount, Ulimit

from sandbox.driver import ColdStart, DriverName, Image, Login, Question
from sandbox.drivers import podman
from sandbox.drivers.cold_start import ColdStarter
from sandbox.drivers.docker_create import MASKED, create_container
from sandbox.drivers.docker_running import BUSY, NO_ENGINE, DockerRunning, is_busy, remove_container
from sandbox.drivers.docker_running import engine_faults as engine_faults
from sandbox.drivers.engine_report import engine_words, require_limits
from sandbox.drivers.environment import environment
from sandbox.drivers.image_pull import pull_by_digest
from sandbox.drivers.masked_paths import masked_paths
from sandbox.drivers.mount_point import check_mount_point
from sandbox.drivers.seccomp_profile import seccomp_profile
from sandbox.events import Event, emit
from sandbox.image.image_check import image_from_inspection, invalid
from sandbox.image.start_faults import start_fault
from sandbox.limits import Limits
from sandbox.rundir import GUEST_NAME, RunDir
from sandbox.verdict import FaultCause, JudgeFault

LOCK_LABEL = "org.lambench.judge.lock"
HOST_LABEL = "org.lambench.judge.host"
RUN_DIR_LABEL = "org.lambench.judge.run-dir"
HELPER_LABEL = "org.lambench.judge.helper"  # instead of the lock's label: it is no submission's container
SESSION_LABEL = "org.lambench.judge.session"
INSIDE, OUT = "/lambench", "/out"
NOBODY = "65534:65534"
ENGINE_TIMEOUT_S = 60
REMOVING_AT_ONCE = 8


def connect_engine() -> docker.DockerClient:
    """A connection to the engine that the environment names (DOCKER_HOST), else to the local one.

    Raises:
        JudgeFault: the engine does not answer.
    """
    try:
        client = docker.from_env(timeout=ENGINE_TIMEOUT_S)
        client.ping()
    except (docker.errors.DockerException, requests.RequestException) as error:
        if is_busy(error):
            raise JudgeFault(FaultCause.DOCKER, BUSY) from error
        raise JudgeFault(FaultCause.DOCKER, NO_ENGINE) from error
    return client


class DockerDriver:
    """Runs submissions as containers of the Docker engine."""

    name: DriverName = "docker"

    def __init__(self, run_dir: RunDir, runtime: str | None = None, cold_start: ColdStart = "required") -> None:
        self.run_dir = run_dir
        self._runtime = runtime
        self._client = connect_engine()
        with engine_faults():
            info = self._client.info()
            version = self._client.version()
        require_limits(info)
        self._host = str(info.get("ID", ""))
        self.engine = engine_words(info, version, runtime, cold_start)
        helper = self._labels | {HELPER_LABEL: run_dir.token}
        self._cold_starter = ColdStarter(self._client, cold_start, helper, self.reap)
        # Unknown for an engine on another machine, or if its folder cannot be seen from here.
        self.disks = tuple(Path(place) for place in [str(info.get("DockerRootDir") or "")] if os.path.isdir(place))
        self._forgets_when_restarted = self.engine.startswith("Docker")  # Podman keeps events over a restart, or none

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

    def pull(self, reference: str, login: Login | None = None) -> None:
        """Makes the engine fetch `reference`; see `sandbox.driver.Driver.pull`."""
        pull_by_digest(self._client.api, reference, login)
        emit(Event.IMAGE_PULLED, key=reference)

    @contextmanager
    def session(self, image: Image) -> Iterator[tuple[Path, socket.socket]]:
        """The folder and the socket of one session, which has the host to itself; see `sandbox.driver.Driver`."""
        with self._cold_starter.session(image.id), self.run_dir.session() as place:
            yield place

    def start(self, image: Image, limits: Limits, question: Question, session_dir: Path) -> DockerRunning:
        """Starts `image`; see `sandbox.driver.Driver.start`."""
        options = container_options(image, limits, question, session_dir)
        if self._runtime:
            options["runtime"] = self._runtime
        if self.engine.startswith(podman.NAME):
            options = podman.podman_options(options, self.run_dir.root)
        labels = self._labels | {LOCK_LABEL: self.run_dir.token, SESSION_LABEL: str(session_dir)}
        name = f"lambench-{session_dir.name}"
        try:
            with engine_faults():
                try:
                    container = create_container(self._client.api, image.id, name, labels, options)
                    emit(Event.CONTAINER_CREATED, container=session_dir.name)
                    if question.out_bytes:
                        check_mount_point(self._client.api, container, OUT)
                    running = DockerRunning(self._client.api, container, self._forgets_when_restarted)
                    running.launch()
                except docker.errors.ImageNotFound:
                    raise JudgeFault(
                        FaultCause.DOCKER, f"image {image.id} ({image.reference}) is gone: build or pull it again"
                    ) from None
                except docker.errors.APIError as error:
                    raise start_fault(error) from error
        except BaseException:
            self._remove(name)  # by name: an engine that did not answer in time may still have created it
            raise
        return running

    @property
    def _labels(self) -> dict[str, str]:
        return {RUN_DIR_LABEL: str(self.run_dir.root), HOST_LABEL: self._host}

    def _remove(self, name: str) -> None:
        with suppress(docker.errors.DockerException, requests.RequestException):
            remove_container(self._client.api, name)

    def reap(self) -> int:
        """Removes containers of dead judges, and this judge's own of sessions that have ended; returns how many.

        A container of an ended session exists if the engine did not answer when the session ended. Containers of a
        judge with another run directory stay: whether that judge lives is unknown here. A container that cannot be
        removed is reported as an event, and the next call tries again.
        """
        mine = [f"{HOST_LABEL}={self._host}", f"{RUN_DIR_LABEL}={self.run_dir.root}"]
        with engine_faults():
            # The API's plain list: the client's list would inspect each container, and wait for each.
            listed = self._client.api.containers(all=True, filters={"label": mine})
            orphans = [str(container["Id"]) for container in listed if self._is_orphan(container["Labels"])]
            with ThreadPoolExecutor(REMOVING_AT_ONCE) as threads:
                removed = sum(threads.map(self._remove_orphan, orphans))
        self.run_dir.sweep()
        return removed

    def _remove_orphan(self, container: str) -> bool:
        """Whether `container` was removed. One that cannot be removed must not stop the judge from starting."""
        try:
            return remove_container(self._client.api, container)
        except docker.errors.APIError as error:
            answer = " ".join(str(error.explanation or error).split())
            emit(Event.FAULT, fault=FaultCause.DOCKER, container=container, sentence=f"cannot be removed: {answer}")
            return False

    def _is_orphan(self, labels: Mapping[str, str]) -> bool:
        token = labels.get(LOCK_LABEL) or labels.get(HELPER_LABEL, "")
        if token == self.run_dir.token:
            return SESSION_LABEL in labels and not Path(labels[SESSION_LABEL]).exists()
        return bool(token) and self.run_dir.dead(token)


def container_options(image: Image, limits: Limits, question: Question, session_dir: Path) -> dict[str, Any]:
    """All options of `docker create` except the image: each restriction of the sandbox, in one place."""
    tmpfs = f"rw,exec,nosuid,nodev,mode=1777,size={limits.tmp_bytes}"
    options: dict[str, Any] = {
        "user": NOBODY,
        "read_only": True,
        "network_mode": "none",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges", f"seccomp={seccomp_profile()}"],
        MASKED: masked_paths(gpu=bool(question.gpu)),
        "ipc_mode": "private",
        "cgroupns": "private",
        "init": True,
        "pids_limit": limits.pids,
        "mem_limit": limits.memory_bytes,
        "memswap_limit": limits.memory_bytes,
        "cpuset_cpus": cpuset(limits.cpus),
        "shm_size": limits.shm_bytes,
        # A volume of the image below /tmp would be unlimited disk, so a tmpfs with the same limit replaces it.
        "tmpfs": dict.fromkeys(("/tmp", *image.volumes), tmpfs),
        "ulimits": [
            Ulimit(name="nofile", soft=limits.open_files, hard=limits.open_files),
            # 0 does not stop a core dump that the host pipes to a program. 1 does, and is too small for a file.
            Ulimit(name="core", soft=1, hard=1),
        ],
        "healthcheck": {"test": ["NONE"]},
        "log_config": LogConfig(type="local", config={"max-size": str(limits.log_bytes), "max-file": "2"}),
        "mounts": [Mount(INSIDE, str(session_dir), type="bind", read_only=True)],
        # In HOME the guest makes a folder with links to the image's own HOME: sandbox/guest/start.py.
        "environment": environment(image, limits, question, INSIDE, out=OUT)
        | {"HOME": "/tmp", "LAMBENCH_IMAGE_HOME": image.home, "LAMBENCH_HOME_UNREADABLE": ""},
        "hostname": "lambench",
        "stdin_open": False,
        "tty": False,
        "use_config_proxy": False,
    }
    if question.out_bytes:
        options["tmpfs"][OUT] = f"rw,noexec,nosuid,nodev,mode=1777,size={question.out_bytes}"
        options["environment"]["LAMBENCH_ALONE"] = "1"
    if not image.protocol:
        options["entrypoint"] = [*image.python, f"{INSIDE}/{GUEST_NAME}"]
        options["command"] = []
    if question.gpu:
        options["device_requests"] = [DeviceRequest(device_ids=[question.gpu], capabilities=[["gpu"]])]
    return options


def cpuset(cpus: int) -> str:
    """The first `cpus` processors that this process may use, as Docker writes them."""
    return ",".join(map(str, sorted(os.sched_getaffinity(0))[:cpus]))
