"""`judge`, with signals sent to itself: `python killed_at.py [--at STEP N SIGNAL]… -- evaluate --all`.

At the N-th event STEP the process gets SIGNAL (KILL, STOP) before it goes on: whoever listens to the events is called
at once. Long runs keep their checkpoints as often as they can, not each half minute.
"""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from collections import Counter

import tasks.observing.checkpoints
from judge.cli.main import main
from sandbox.events import LOGGER, Event


class Sender(logging.Handler):
    """Sends the planned signals to this process."""

    def __init__(self, signals: dict[tuple[Event, int], signal.Signals]) -> None:
        super().__init__()
        self._signals = signals
        self._count: Counter[Event] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        event: Event = record.lambench_event  # type: ignore[attr-defined]
        self._count[event] += 1
        wanted = self._signals.get((event, self._count[event]))
        if wanted is not None:
            signal.pthread_kill(threading.get_ident(), wanted)  # this thread takes no further step


def run() -> None:
    """The options before `--`, and the arguments for `judge` after it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--at", nargs=3, action="append", default=[], metavar=("STEP", "N", "SIGNAL"))
    split = sys.argv.index("--")
    wanted = parser.parse_args(sys.argv[1:split]).at
    signals = {(Event(step), int(n)): signal.Signals[f"SIG{name}"] for step, n, name in wanted}
    logger = logging.getLogger(LOGGER)
    logger.setLevel(logging.INFO)
    logger.addHandler(Sender(signals))
    tasks.observing.checkpoints.SAVE_EVERY_S = 0.0
    sys.argv = ["judge", *sys.argv[split + 1 :]]
    main()


if __name__ == "__main__":
    run()
