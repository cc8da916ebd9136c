"""The event log: a file with one line of JSON per event and a bounded size."""

from __future__ import annotations

import fcntl
import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from sandbox.events import LOGGER, JsonLines

MAX_BYTES = 16 * 1024 * 1024
BACKUPS = 4
TRIES, POLL_S = 1000, 0.005


class _EventFile(RotatingFileHandler):
    """The file, made at the first event. If it cannot be written, one warning is printed, and the judge goes on.

    Several processes write to it. One that rotates it renames the file that others had open. So each event opens the
    file that has the name now, and its lock keeps others from writing and renaming meanwhile.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=MAX_BYTES, backupCount=BACKUPS, encoding="utf-8", delay=True)
        self._announced = False

    def _open(self) -> TextIOWrapper:
        Path(self.baseFilename).parent.mkdir(parents=True, exist_ok=True)
        return super()._open()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            with self._locked() as file:
                self.close()  # what this process had open may have another name by now
                super().emit(record)
                with suppress(OSError):
                    fcntl.flock(file, fcntl.LOCK_UN)  # a forked child may have the file open, too
        except OSError:
            self.handleError(record)

    def _locked(self) -> TextIOWrapper:
        """The file that has the name now, locked; not locked if others hold it for seconds: a log stops no judge."""
        for _ in range(TRIES):
            file = self._open()
            if self._is_locked(file):
                return file
            file.close()
            time.sleep(POLL_S)
        return self._open()

    def _is_locked(self, file: TextIOWrapper) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
        try:
            return os.path.samestat(os.fstat(file.fileno()), os.stat(self.baseFilename))
        except FileNotFoundError:  # another process has just renamed it
            return False

    def handleError(self, record: logging.LogRecord) -> None:
        if not self._announced:
            self._announced = True
            why = getattr(sys.exc_info()[1], "strerror", None) or "see its folder"
            print(f"judge: the log {self.baseFilename} cannot be written ({why}): set log", file=sys.stderr)


@contextmanager
def events_to(path: Path) -> Iterator[None]:
    """A context in which every event is written to the file `path`."""
    handler = _EventFile(path)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger(LOGGER)
    level, propagate = logger.level, logger.propagate
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.level, logger.propagate = level, propagate
        handler.close()
