"""Starts worker processes on this machine, and starts a lost one again. Claims alone decide which unit is next."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event
from typing import IO

from judge.evaluation.unit_report import Did, UnitReport

MAX_LOST = 3
"""So often a worker that ended by a signal is started again."""
STOP_S = 60.0
COMMAND = (sys.executable, "-m", "judge.cli.main", "work")


@dataclass
class Workers:
    """Worker processes, one for each list of arguments of `judge work`.

    Args:
        say: called with each line that a worker prints for a person.
    """

    arguments: Sequence[Sequence[str]]
    say: Callable[[str], None]
    _running: dict[int, subprocess.Popen[str]] = field(default_factory=dict)
    _stopped: Event = field(default_factory=Event)

    def run(self) -> list[UnitReport]:
        """What the workers report of their units, after all have ended. Ctrl-C ends them in good order first."""
        with ThreadPoolExecutor(len(self.arguments), "worker") as pool:
            futures = [pool.submit(self._keep_up, number) for number in range(len(self.arguments))]
            try:
                return [report for future in futures for report in future.result()]
            except BaseException:
                self._stop()
                raise

    def _keep_up(self, number: int) -> list[UnitReport]:
        """The reports of one worker, which is started again if a signal ended it."""
        reports: list[UnitReport] = []
        for _ in range(1 + MAX_LOST):
            if self._stopped.is_set():
                break
            with tempfile.TemporaryFile("w+") as output:
                status = self._run_once(number, output)
                output.seek(0)
                reports += reports_in(output.read())
            if status >= 0 or self._stopped.is_set():
                break
            self.say(f"! Worker {number + 1} was ended by {signal.Signals(-status).name}")
        return reports

    def _run_once(self, number: int, output: IO[str]) -> int:
        """The exit status of a worker; negative: the signal that ended it."""
        command = [*COMMAND, *self.arguments[number], "--json"]
        with subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, text=True) as process:
            self._running[number] = process
            for line in process.stderr or ():
                self.say(f"[{number + 1}] {line.rstrip()}")
        return process.returncode

    def _stop(self) -> None:
        self._stopped.set()
        for process in list(self._running.values()):
            process.terminate()
        for process in list(self._running.values()):
            with suppress(subprocess.TimeoutExpired):
                process.wait(STOP_S)
            process.kill()


def reports_in(text: str) -> list[UnitReport]:
    """The reports of units in the summary that a worker prints; none if it printed no summary."""
    with suppress(ValueError):
        summary = json.loads(text)
        if isinstance(summary, Mapping):
            return [UnitReport.model_validate(unit) for unit in summary.get("units", ())]
    return []


def joined(units: Sequence[UnitReport], of_workers: Sequence[UnitReport]) -> tuple[UnitReport, ...]:
    """The reports of a run that follows those of workers: of what it found done, the report of who did it.

    That is who observed, if another one measured the same before the result was stored.
    """
    reports = [unit for did in (Did.MEASURED, Did.OBSERVED) for unit in of_workers if unit.did is did]
    done = {(unit.submission, unit.task): unit for unit in reports}
    return tuple(done.get((unit.submission, unit.task), unit) if unit.did is Did.NOTHING else unit for unit in units)


def shares_of_gpus(gpus: Sequence[str], jobs: int | None) -> list[tuple[str, ...]]:
    """The GPUs of each worker: one for each worker unless there are fewer workers; none if models run on the CPU.

    Raises:
        ValueError: there are more workers than GPUs.
    """
    if not gpus:
        return [()] * (jobs or 1)
    n = jobs or 1
    if n > len(gpus):
        raise ValueError(f"{n} workers cannot share {len(gpus)} GPUs: give --jobs {len(gpus)} or fewer")
    return [tuple(gpus[first::n]) for first in range(n)]
