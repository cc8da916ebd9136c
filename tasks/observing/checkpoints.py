"""Resuming a long run after the judge was killed: its state is kept in the watch's checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.kind import Parameters, Watch

SAVE_EVERY_S = 30.0

Arrays = Mapping[str, NDArray[Any]]


class RunCheckpoint:
    """The checkpoint of one run, with a fingerprint of the run's task.

    A checkpoint of another task, of other structures or of other parameters is not used, and is overwritten. The
    fingerprint does not contain the model: the caller gives each image a checkpoint of its own.

    Args:
        version: of the stored arrays: a checkpoint of another version is not used.
        frames_sha256: of the structures.

    Attributes:
        stored: the arrays that an earlier run saved; None for a fresh start.
        used_s: seconds that the run had used when they were saved; 0 for a fresh start.
    """

    def __init__(self, watch: Watch, version: str, frames_sha256: str, parameters: Parameters) -> None:
        self._clock, self._checkpoint = watch.clock, watch.checkpoint
        task = f"{version} {frames_sha256} {parameters.model_dump_json()}"
        self._fingerprint = np.frombuffer(task.encode(), np.uint8)
        loaded = None if self._checkpoint is None else self._checkpoint.load()
        self.stored: Arrays | None = None
        self.used_s = 0.0
        if loaded is not None and np.array_equal(loaded.get("fingerprint", ()), self._fingerprint):
            self.stored, self.used_s = loaded, float(loaded["used_s"][0])
            watch.resumed()
        self._begin = self._saved = watch.clock()

    def keep(self, arrays: Arrays) -> None:
        """Saves `arrays`, the whole state of the run, if half a minute has passed since it was last saved."""
        self.keep_lazily(lambda: arrays)

    def keep_lazily(self, make: Callable[[], Arrays]) -> None:
        """The same, of arrays that are only made if they are saved."""
        if self._checkpoint is None or self._clock() - self._saved < SAVE_EVERY_S:
            return
        used = np.array([self.used_s + self._clock() - self._begin])
        self._checkpoint.save({**make(), "used_s": used, "fingerprint": self._fingerprint})
        self._saved = self._clock()
