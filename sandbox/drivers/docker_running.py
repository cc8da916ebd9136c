"""One container of the Docker engine: start, end, removal, and the evidence of how it ended."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import docker
import docker.errors
import requests

from sandbox.drivers.cgroup import Cgroup, MemoryCounters, MemoryWatch
from sandbox.evidence import Exit, Intervention
from sandbox.image.start_faults import full_disk, is_full_disk
from sandbox.verdict import FaultCause, JudgeFault

LOG_LINES = 60
LOG_BYTES = 16_384
CONFLICT = 409
SERVER_ERROR = 500
NO_ENGINE = "no Docker engine answers: start it, or set DOCKER_HOST"
BUSY = "the Docker engine is busy and does not answer in time: wait until it has less to do; if that lasts, see its log"
REMOVING_TRIES = 4
REMOVING_AGAIN_S = 0.3
POLL_S = 0.02
# An engine may record the event of a container's end a moment after it reports the end.
RECORD_S = 2.0
# The events that an engine records when a client acts on a container. Nothing inside the container can cause them.
_BY_A_CLIENT = frozenset({"kill", "stop", "restart", "pause", "update", "destroy"})


@contextmanager
def engine_faults() -> Iterator[None]:
    """Turns what the engine or the connection to it raises into a `JudgeFault`."""
    try:
        yield
    except docker.errors.DockerException as error:  # first: an engine's error answer is a RequestException, too
        if is_busy(error):
            raise JudgeFault(FaultCause.DOCKER, BUSY) from error
        answer = error.explanation if isinstance(error, docker.errors.APIError) and error.explanation else error
        if is_full_disk(" ".join(str(answer).split())):
            raise full_disk(_one_line(answer)) from error
        raise JudgeFault(
            FaultCause.DOCKER,
            f"the Docker engine refused a request ({_one_line(answer)}): check `judge doctor`",
        ) from error
    except requests.RequestException as error:
        if is_busy(error):
            raise JudgeFault(FaultCause.DOCKER, BUSY) from error
        raise JudgeFault(
            FaultCause.DOCKER, f"the Docker engine does not answer ({_one_line(error)}): start it"
        ) from error


def is_busy(error: BaseException | None) -> bool:
    """Whether `error`, or one that led to it, shows that an engine is there and does not answer in time."""
    while error is not None:
        if isinstance(error, requests.ConnectTimeout):  # no machine is there
            return False
        # A socket whose queue of connections is full refuses the next one at once.
        if isinstance(error, (requests.ReadTimeout, TimeoutError, BlockingIOError)):
            return True
        error = error.__cause__ or error.__context__
    return False


def _one_line(text: object) -> str:
    return " ".join(str(text).split())[:200]


def remove_container(api: docker.APIClient, container: str) -> bool:
    """Kills the container if it runs, and removes it with its files; False if somebody else has removed it.

    Podman sometimes fails while the container is just ending, so the request is repeated.

    Args:
        container: its ID or name.
    """
    for tries_left in reversed(range(REMOVING_TRIES)):
        try:
            api.remove_container(container, force=True, v=True)
        except docker.errors.NotFound:
            return False
        except docker.errors.APIError as error:
            if error.status_code == CONFLICT:  # it is being removed already
                return False
            if not tries_left or error.status_code < SERVER_ERROR:
                raise
            time.sleep(REMOVING_AGAIN_S)
        else:
            break
    return True


def intervention_of(actions: Collection[str], *, ended: bool, forgets: bool) -> Intervention:
    """Who acted on a container, by the engine's events.

    Args:
        actions: the events between its start and the moment at which this judge ended it.
        ended: whether it had already ended at that moment.
        forgets: whether a restart of the engine deletes its events, and stops containers.
    """
    if not _BY_A_CLIENT.isdisjoint(actions):
        # After it was killed, an engine ends the containers that it finds running when it starts again.
        return Intervention.ENGINE if forgets and "start" not in actions else Intervention.CLIENT
    return Intervention.ENGINE if ended and forgets and "die" not in actions else Intervention.NONE


class DockerRunning:
    """One created container.

    Args:
        forgets: as for `intervention_of`.
    """

    def __init__(self, api: docker.APIClient, container: str, forgets: bool) -> None:
        self._api = api
        self._id = container
        self._forgets = forgets
        self._watch: MemoryWatch | None = None
        self._since = ""

    def launch(self) -> None:
        """Starts the container, and begins to watch its memory counters."""
        self._since = _timestamp()
        self._api.start(self._id)
        with engine_faults():
            parent = Cgroup.of_process(int(self._state().get("Pid") or 0))
        cgroup = parent.of_container(self._id) if parent else None
        self._watch = MemoryWatch(cgroup) if cgroup else None

    def _state(self) -> Mapping[str, Any]:
        state: Mapping[str, Any] = self._api.inspect_container(self._id)["State"]
        return state

    def alive(self) -> bool:
        """Whether the container still runs."""
        with engine_faults():
            try:
                return bool(self._state()["Running"])
            except docker.errors.NotFound:
                return False

    def stop(self, grace_s: float) -> Exit:
        """Ends and removes the container; see `sandbox.driver.Running.stop`."""
        try:
            with engine_faults():
                try:
                    return self._stop(grace_s)
                except docker.errors.NotFound:
                    return Exit(intervention=Intervention.CLIENT)
        finally:
            if self._watch:
                self._watch.close()
            self.remove()

    def _stop(self, grace_s: float) -> Exit:
        until = time.monotonic() + grace_s
        while True:
            self._memory()  # after its end the peak cannot be read
            state = self._state()
            if not state["Running"] or time.monotonic() >= until:
                break
            time.sleep(POLL_S)
        ended, counters = not state["Running"], self._memory()
        log = self._api.logs(self._id, tail=LOG_LINES)[-LOG_BYTES:].decode("utf-8", "replace")
        return Exit(
            code=int(state["ExitCode"]) if ended else None,
            oom_kills=counters.oom_kills,
            at_limit=counters.at_limit,
            oom_by_engine=bool(state.get("OOMKilled")),
            intervention=self._intervention(ended),
            memory_bytes=counters.peak_bytes,
            log=log,
        )

    def _memory(self) -> MemoryCounters:
        return self._watch.look() if self._watch else MemoryCounters()

    def _intervention(self, ended: bool) -> Intervention:
        until = time.monotonic() + RECORD_S
        while True:
            intervention = intervention_of(self._actions(), ended=ended, forgets=self._forgets)
            if intervention is not Intervention.ENGINE or time.monotonic() >= until:
                return intervention
            time.sleep(POLL_S)

    def _actions(self) -> set[str]:
        events = self._api.events(since=self._since, until=_timestamp(), filters={"container": self._id}, decode=True)
        return {str(event.get("Action") or event.get("status") or "") for event in events}

    def remove(self) -> None:
        """Kills the container if it runs, and removes it with its files."""
        with engine_faults():
            remove_container(self._api, self._id)


def _timestamp() -> str:
    """Now, in the engine's format, with fractions: whole seconds would hide events of the last second."""
    return f"{time.time():.9f}"
