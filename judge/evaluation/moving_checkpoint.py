"""A checkpoint that another host can go on from: a copy of the file on this host lies in the store.

The copy is in the folder of the attempt that made it, under a name that follows from unit and hardware class, as the
file's. Any copy is a true state of the same run, also one of a worker that has lost its claim: the furthest one counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from numpy.typing import NDArray

from judge.evaluation.checkpoint_file import CheckpointFile, unpacked_checkpoint
from submissions.store.interface import Store, StoreError

COPY_EVERY_S = 60.0
MOST_BYTES = 64 * 1024**2
"""A larger checkpoint stays on its host."""
COPY = "checkpoint-"
"""The beginning of the name of a copy."""

Arrays = Mapping[str, NDArray[Any]]


@dataclass
class MovingCheckpoint:
    """A `tasks.kind.Checkpoint` in a file of this host and in the store.

    Args:
        prefix: of the unit's attempts.
        n: number of this attempt.
    """

    file: CheckpointFile
    store: Store
    prefix: str
    n: int
    _copied: float = field(default_factory=time.monotonic)
    _copying: threading.Thread | None = None
    _is_copied: bool = True

    @property
    def _name(self) -> str:
        return f"{COPY}{self.file.path.name}"

    def load(self) -> Arrays | None:
        """The furthest state of the run that this host or the store has; None if neither has one that can be read."""
        states = chain([self.file.load()], map(self._copy, self._keys() if self.n > 1 else ()))  # two at most in memory
        return max((state for state in states if state is not None), key=_used_s, default=None)

    def save(self, arrays: Arrays) -> None:
        """Replaces the file; copies it to the store, beside the run, if that was not done for a minute.

        Raises:
            JudgeFault: DISK; the earlier checkpoint is kept.
        """
        self.file.save(arrays)
        self._is_copied = False
        is_idle = self._copying is None or not self._copying.is_alive()
        if is_idle and time.monotonic() - self._copied >= COPY_EVERY_S:
            self._copied = time.monotonic()
            self._copying = threading.Thread(target=self._store_copy, name=f"checkpoint {self.prefix}", daemon=True)
            self._copying.start()

    def leave(self) -> None:
        """Copies the last state to the store: another host may go on."""
        if self._copying is not None:
            self._copying.join()
        if not self._is_copied:
            self._store_copy()

    def remove(self) -> None:
        """Removes the file and all copies: the run has ended."""
        if self._copying is not None:
            self._copying.join()
        self.file.remove()
        if self._copying is not None or self.n > 1:
            with suppress(StoreError):  # judge gc removes them
                for key in self._keys():
                    self.store.delete(key)

    def _store_copy(self) -> None:
        self._is_copied = True  # before the file is read: a state that is saved meanwhile is not copied
        try:
            if self.file.path.stat().st_size <= MOST_BYTES:
                self.store.put(f"{self.prefix}{self.n}/{self._name}", self.file.path.read_bytes())
        except (OSError, StoreError):  # the file on this host stays, and `leave` tries again
            self._is_copied = False

    def _keys(self) -> list[str]:
        """The keys of the copies; none if the store does not answer: the file on this host will do."""
        with suppress(StoreError):
            return [key for key in self.store.list(self.prefix) if key.endswith(f"/{self._name}")]
        return []

    def _copy(self, key: str) -> Arrays | None:
        with suppress(KeyError, StoreError):
            return unpacked_checkpoint(self.store.get(key))
        return None


def _used_s(arrays: Arrays) -> float:
    """The seconds that the run had used, by which states of one run are compared."""
    return float(arrays["used_s"][0]) if "used_s" in arrays else 0.0
