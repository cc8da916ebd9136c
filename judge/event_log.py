"""Where events are written: one line of JSON each, in a file that grows no further than it may."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path

from sandbox.events import LOGGER, JsonLines
from sandbox.verdict import FaultCause, JudgeFault

MAX_BYTES = 16 * 1024 * 1024
BACKUPS = 4


class _Handler(RotatingFileHandler):
    """A log that cannot be written any more (the disk is full) is no reason to stop judging."""

    def handleError(self, record: logging.LogRecord) -> None:
        pass


@contextmanager
def events_to(path: Path) -> Iterator[None]:
    """Meanwhile, every event is written to the file `path`.

    Raises:
        JudgeFault: DISK: it cannot be opened.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = _Handler(path, maxBytes=MAX_BYTES, backupCount=BACKUPS, encoding="utf-8")
    except OSError as error:
        raise JudgeFault(FaultCause.DISK, f"cannot write the log {path} ({error.strerror}): set log") from error
    handler.setFormatter(JsonLines())
    logger = logging.getLogger(LOGGER)
    before, logger.propagate = (logger.level, logger.propagate), False
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.level, logger.propagate = before
        with suppress(OSError):
            handler.close()
