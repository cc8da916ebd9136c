"""Cold starts: one container at a time on a host, and none of its image's files in memory when it starts.

Whether a page of a file is in memory is a bit that one container can set and a later one can read, if their images have
a layer in common. So all files of an image are dropped from the page cache before each start, and the kernel is asked
whether any page is left. Then the kernel forgets all names and inodes that no program uses. No state has to be
remembered: it does not matter who ran before.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import docker
import docker.errors

from sandbox.driver import ColdStart
from sandbox.drivers import page_cache
from sandbox.drivers.docker_running import engine_faults
from sandbox.drivers.page_cache import DROP_CACHES, Remaining
from sandbox.drivers.page_cache_container import PageCacheContainer
from sandbox.events import Event, emit
from sandbox.rundir import default_run_dir, make_run_dir
from sandbox.verdict import FaultCause, JudgeFault

IN_USE_S = 60.0
POLL_S = 0.2
TELL_AFTER_S = 1.0
# The engine's init process is one file of the host in all containers. It runs in each, so it cannot be dropped.
INIT_FOLDERS = ("/usr/bin", "/usr/local/bin", "/usr/libexec/docker", "/usr/local/libexec/docker", "/usr/libexec/podman")
INIT_NAMES = ("docker-init", "catatonit")


class ColdStarter:
    """Makes sessions of containers wait for each other, and drops their files from memory.

    Args:
        labels: of a container that it may start.
        reap: removes containers of dead judges, which may still use the files.
    """

    def __init__(
        self, client: docker.DockerClient, mode: ColdStart, labels: Mapping[str, str], reap: Callable[[], object]
    ) -> None:
        self._client = client
        self._mode = mode
        self._lock = default_run_dir() / "session.lock"  # of all judges of this user, wherever their sockets lie
        self._reap = reap
        self._entered = False
        self._container = PageCacheContainer(client, labels)

    @contextmanager
    def session(self, image: str) -> Iterator[None]:
        """The time of one session of the image with this ID. Within it, this process may start others beside it.

        Raises:
            JudgeFault: pages of the image's files remain in memory, or it is unknown whether any do.
        """
        if self._entered or self._mode == "off":
            yield
            return
        with _held(self._lock):
            self._entered = True
            try:
                self._drop(image)
                yield
            finally:
                self._entered = False

    def _drop(self, image: str) -> None:
        if self._mode == "required":
            drop_until_none_is_left(self._dropper(image), self._reap)
        else:
            with suppress(JudgeFault, OSError):
                if _can_drop_here(folders := self._layers(image)):
                    _drop_here(folders)

    def _dropper(self, image: str) -> Callable[[], Remaining]:
        folders = self._layers(image)
        return lambda: _drop_here(folders) if _can_drop_here(folders) else self._container.drop(folders)

    def _layers(self, image: str) -> tuple[str, ...]:
        with engine_faults():
            try:
                inspection = self._client.api.inspect_image(image)
            except docker.errors.ImageNotFound:
                raise JudgeFault(FaultCause.DOCKER, f"image {image} is gone: build or pull it again") from None
        return layer_folders(inspection)


def layer_folders(inspection: Mapping[str, Any]) -> tuple[str, ...]:
    """The folders of the engine's host in which the layers of an image lie.

    Raises:
        JudgeFault: the engine does not name them.
    """
    driver = inspection.get("GraphDriver") or {}
    data = driver.get("Data") or {}
    folders = [*str(data.get("LowerDir") or "").split(":"), str(data.get("UpperDir") or "")]
    named = tuple(folder for folder in folders if folder)
    if not named:
        raise JudgeFault(
            FaultCause.DOCKER,
            f"the engine's storage ({driver.get('Name') or 'containerd'}) does not name the folders of image files, so "
            'they cannot be dropped from memory: use overlay2, or set cold_start = "off" (docs/threat-model.md)',
        )
    return named


def drop_until_none_is_left(
    drop_all: Callable[[], Remaining], reap: Callable[[], object], patience_s: float = IN_USE_S
) -> None:
    """Drops until no page remains; another program that has mapped a page may be about to end.

    Args:
        reap: called whenever pages remain.

    Raises:
        JudgeFault: after `patience_s` pages remain, or the files cannot be read.
    """
    deadline = time.monotonic() + patience_s
    try:
        while (remaining := drop_all()).pages:
            if time.monotonic() > deadline:
                raise JudgeFault(
                    FaultCause.DOCKER,
                    f"{remaining.pages} pages of image files stay in memory, since another program on this host uses "
                    f"{remaining.file}: end other containers with the same layers",
                )
            reap()
            time.sleep(POLL_S)
    except OSError as error:
        raise JudgeFault(
            FaultCause.DOCKER, f"image files cannot be dropped from memory ({error}): check the engine's folders"
        ) from error


def _can_drop_here(folders: tuple[str, ...]) -> bool:
    """Whether this process sees the engine's folders, may read all files in them, and may have the kernel forget."""
    return os.geteuid() == 0 and all(map(os.path.isdir, folders)) and os.access(DROP_CACHES, os.W_OK)


def _drop_here(folders: tuple[str, ...]) -> Remaining:
    """In a process of its own, which may fork.

    Raises:
        OSError: a folder or a file cannot be read.
    """
    inits = filter(None, (shutil.which(name, path=":".join(INIT_FOLDERS)) for name in INIT_NAMES))
    program = [sys.executable, "-I", "-S", page_cache.__file__, *page_cache.arguments(inits, DROP_CACHES, folders)]
    ended = subprocess.run(program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return page_cache.answer_of(ended.stdout)


@contextmanager
def _held(lock: Path) -> Iterator[None]:
    """The time in which no other process of this host holds the lock; its end, even by a kill, frees it.

    Raises:
        JudgeFault: the file cannot be opened, or its folder belongs to another user.
    """
    try:
        make_run_dir(lock.parent)
        handle = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise JudgeFault(
            FaultCause.DISK, f"cannot open {lock} ({error.strerror}): give this user the folder"
        ) from error
    try:
        _wait_for(handle)
        yield
    finally:
        os.close(handle)


def _wait_for(handle: int) -> None:
    begin, told = time.monotonic(), False
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not told and time.monotonic() - begin > TELL_AFTER_S:
                emit(Event.SESSION_WAITS, sentence="another session runs on this host")
                told = True
            time.sleep(POLL_S / 4)
