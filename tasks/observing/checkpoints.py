"""Going on with a long run where a killed judge left it: its state, kept in the watch's checkpoint and found there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.kind import Parameters, Watch

SAVE_EVERY_S = 30.0

Arrays = Mapping[str, NDArray[Any]]


class Logbook:
    """The checkpoint of one run, told from those of other runs by a fingerprint of what the run is asked to do.

    A checkpoint of another task, of other structures or of other parameters is not taken, and is written over. It says
    nothing of the model: whoever provides it gives each image its own.

    Args:
        version: of what is kept: a checkpoint of another one is not taken.
        frames_sha256: of the structures.

    Attributes:
        found: what an earlier run kept; None for a fresh start.
        used_s: seconds that the run had used when that was kept; 0 for a fresh start.
    """

    def __init__(self, watch: Watch, version: str, frames_sha256: str, parameters: Parameters) -> None:
        self._clock, self._place = watch.clock, watch.checkpoint
        said = f"{version} {frames_sha256} {parameters.model_dump_json()}"
        self._fingerprint = np.frombuffer(said.encode(), np.uint8)
        found = None if self._place is None else self._place.load()
        self.found: Arrays | None = None
        self.used_s = 0.0
        if found is not None and np.array_equal(found.get("fingerprint", ()), self._fingerprint):
            self.found, self.used_s = found, float(found["used_s"][0])
        self._begin = self._saved = watch.clock()

    def keep(self, arrays: Arrays) -> None:
        """Saves `arrays`, the whole state of the run, if half a minute has passed since it was last saved."""
        if self._place is None or self._clock() - self._saved < SAVE_EVERY_S:
            return
        used = np.array([self.used_s + self._clock() - self._begin])
        self._place.save({**arrays, "used_s": used, "fingerprint": self._fingerprint})
        self._saved = self._clock()
