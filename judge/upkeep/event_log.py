"""The event log: a file with one line of JSON per event and a bounded size."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from sandbox.events import LOGGER, JsonLines

MAX_BYTES = 16 * 1024 * 1024
BACKUPS = 4


class _EventFile(RotatingFileHandler):
    """The file, made at the first event. If it cannot be written, one warning is printed, and the judge goes on."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=MAX_BYTES, backupCount=BACKUPS, encoding="utf-8", delay=True)
        self._announced = False

    def _open(self) -> TextIOWrapper:
        Path(self.baseFilename).parent.mkdir(parents=True, exist_ok=True)
        return super()._open()

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
