"""One `judge work` as a process below a Dask worker. This code runs in the Dask worker: strings in, strings out.

The process ends with its Dask worker: it gets SIGTERM when that closes, and from the kernel when that dies.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO

from distributed import Worker, get_worker
from distributed.core import Status

from sandbox.events import plain
from submissions.records import Record

POLL_S = 0.2
STOP_S = 60.0
MAX_LINE = 500
MAX_LINES_S = 50
"""So many lines of a process are passed on in a second; further ones are counted."""
MAX_SUMMARY = 64 * 1024**2
MACHINE_FAULT = 3
NO_WORK = 2
"""Exit status of wrong usage: it would be the same each time."""
_RUNNING = (Status.running, Status.paused)

_lock = threading.Lock()
_processes: defaultdict[str, set[subprocess.Popen[str]]] = defaultdict(set)
_stopped: set[str] = set()


class WorkOrder(Record):
    """One call of `judge work`.

    Args:
        run: the name of the run that it is a part of.
        number: which worker of the run this is.
        folder: with `judge.toml`.
        store: the setting of the same name, so that all workers share one store.
        arguments: of `judge work`.
        until: when the budget is used up [s since 1970]; None for no budget.
    """

    run: str
    number: int
    folder: str
    store: str
    arguments: tuple[str, ...]
    until: float | None = None


class WorkOutcome(Record):
    """How a `judge work` ended.

    Args:
        status: its exit status; negative: the signal that ended it.
        summary: the JSON that it printed.
        last_line: that it wrote for a person.
    """

    host: str
    status: int
    summary: str = ""
    last_line: str = ""

    @property
    def lost(self) -> bool:
        """Whether it ended before its work was done: by a signal, or since the store did not answer."""
        return self.status < 0 or self.status > MACHINE_FAULT or (self.status == MACHINE_FAULT and not self.summary)


def topic_of(run: str) -> str:
    """The topic under which the lines of a run are logged."""
    return f"judge-work-{run}"


def work(order_json: str) -> str:
    """Runs a `WorkOrder` until it ends; the JSON of its `WorkOutcome`."""
    order, worker = WorkOrder.model_validate_json(order_json), get_worker()

    def say(line: str) -> None:
        worker.log_event(topic_of(order.run), {"number": str(order.number), "line": line})

    return _outcome(order, worker, say).model_dump_json()


def stop(run: str) -> str:
    """Ends the processes of a run on this Dask worker in good order; returns how many there were, without waiting."""
    with _lock:
        _stopped.add(run)
        processes = tuple(_processes[run])
    for process in processes:
        process.terminate()
    return str(len(processes))


def _outcome(order: WorkOrder, worker: Worker, say: Callable[[str], None]) -> WorkOutcome:
    host, arguments = platform.node(), list(order.arguments)
    if not Path(order.folder).is_dir():
        line = f"there is no folder {order.folder} on {host}: set folder in [cluster] of judge.toml"
        return WorkOutcome(host=host, status=NO_WORK, last_line=line)
    if order.until is not None:
        arguments += ["--budget", f"{max(order.until - time.time(), 1e-3) / 3600:.9f}"]
    say(f"begins on {host}")
    command = [sys.executable, "-m", "judge.cluster.tied_work", str(os.getpid()), *arguments, "--json"]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command,
            cwd=order.folder,
            env={**os.environ, "LAMBENCH_STORE": order.store},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        with _lock:
            _processes[order.run].add(process)
            stopped = order.run in _stopped
        if stopped:
            process.terminate()
        try:
            last_line = _followed(process, worker, say)
        finally:
            with _lock:
                _processes[order.run].discard(process)
        output.seek(0)
        summary = output.read(MAX_SUMMARY)
    return WorkOutcome(host=host, status=process.returncode, summary=summary, last_line=last_line)


def _followed(process: subprocess.Popen[str], worker: Worker, say: Callable[[str], None]) -> str:
    """The last line of a process, once it has ended. It is told to end when its Dask worker closes."""
    last: list[str] = []
    reader = threading.Thread(target=_pass_on, args=(process.stderr, say, last), daemon=True)
    reader.start()
    while process.poll() is None:
        time.sleep(POLL_S)
        if worker.status not in _RUNNING:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(STOP_S)
            process.kill()
            process.wait()
    reader.join(STOP_S)
    return "".join(last)


def _pass_on(lines: IO[str] | None, say: Callable[[str], None], last: list[str]) -> None:
    """Passes on the lines of a process, at most so many in a second. `last` holds the last one."""
    second, count, left_out = 0, 0, 0
    for line in _short(lines or ()):
        last[:] = [line]
        now = int(time.monotonic())
        if now != second:
            if left_out:
                say(f"({left_out} lines are not shown)")
            second, count, left_out = now, 0, 0
        count += 1
        if count <= MAX_LINES_S:
            say(line)
        else:
            left_out += 1


def _short(lines: Iterable[str]) -> Iterable[str]:
    return (short for line in lines if (short := plain(line.rstrip(), MAX_LINE)))


def read_summary(text: str) -> dict[str, object] | None:
    """The summary that a worker printed; None if it printed none."""
    with suppress(ValueError):
        summary = json.loads(text)
        if isinstance(summary, dict):
            return summary
    return None
