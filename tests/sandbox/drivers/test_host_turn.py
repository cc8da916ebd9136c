"""Turns on a host: a timing runs alone, and those that come later wait for it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from sandbox.drivers.host_turn import host_turn


class Turns:
    """Units in threads, each with files of its own, as in processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.inside: set[str] = set()
        self.seen: dict[str, set[str]] = {}
        self.ends: dict[str, threading.Event] = {}
        self._threads: list[threading.Thread] = []

    def begin(self, name: str, *, alone: bool) -> None:
        self.ends[name] = threading.Event()
        thread = threading.Thread(target=self._take, args=(name, alone), daemon=True)
        thread.start()
        self._threads.append(thread)

    def _take(self, name: str, alone: bool) -> None:
        with host_turn(self.folder, alone=alone):
            self.seen[name] = set(self.inside)
            self.inside.add(name)
            assert self.ends[name].wait(30)
            self.inside.discard(name)

    def wait(self, name: str) -> None:
        until = time.monotonic() + 30
        while name not in self.seen:
            assert time.monotonic() < until
            time.sleep(0.005)

    def end(self, *names: str) -> None:
        for name in names:
            self.ends[name].set()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(30)


def test_units_run_side_by_side_and_a_timing_alone(tmp_path: Path) -> None:
    turns = Turns(tmp_path / "turns")
    for name in ("a", "b"):
        turns.begin(name, alone=False)
        turns.wait(name)
    assert turns.inside == {"a", "b"}
    turns.begin("timing", alone=True)
    time.sleep(0.1)
    turns.begin("later", alone=False)
    time.sleep(0.1)
    assert turns.seen.keys() == {"a", "b"}  # the later unit does not go ahead of the timing
    turns.end("a", "b")
    turns.wait("timing")
    time.sleep(0.1)
    assert turns.inside == {"timing"}
    turns.end("timing")
    turns.wait("later")
    turns.end("later")
    turns.join()
    assert turns.seen["timing"] == set() == turns.seen["later"]
