"""Checkpoints: where a long observation keeps what it needs to go on after the judge was killed on this host.

They lie in the run directory, under a name of unit and hardware, and are gone once the attempt has its end. What a dead
judge left is read by the next one that observes the same unit on the same hardware, and by nobody else.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from judge.records.content_keys import hash_of
from judge.records.observation_file import pack, unpack
from sandbox.verdict import FaultCause, JudgeFault
from tasks.structures.frames import hash_arrays


class CheckpointFile:
    """A `tasks.kind.Checkpoint` in one file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> Mapping[str, NDArray[Any]] | None:
        """What was saved last; None if nothing was, or what is there is damaged."""
        try:
            arrays, text = unpack(self.path.read_bytes())
        except (OSError, ValueError):
            return None
        return arrays if text == {"sha256": hash_arrays(arrays)} else None

    def save(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Takes the place of what was saved before, whole or not at all.

        Raises:
            JudgeFault: DISK; what was saved before is still there.
        """
        data = pack(arrays, {"sha256": hash_arrays(arrays)})
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, self.path)
            except OSError:
                temporary.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise JudgeFault(
                FaultCause.DISK, f"cannot write {self.path} ({error.strerror}): free some space, or set run_dir"
            ) from error

    def remove(self) -> None:
        """Forgets what was saved, and what a judge that was killed while saving left beside it."""
        with suppress(OSError):
            for leftover in [self.path, *self.path.parent.glob(f".{self.path.name}.*")]:
                leftover.unlink(missing_ok=True)


def checkpoint_of(run_dir: Path, unit_prefix: str, submission: str, hardware: str) -> CheckpointFile:
    """The checkpoint of a unit.

    Args:
        unit_prefix: where its attempts lie: submission, task and observation key.
        hardware: class: no trajectory begins on one and ends on another.
    """
    name = hash_of({"unit": unit_prefix, "hardware": hardware})
    return CheckpointFile(run_dir / "checkpoints" / f"{submission}-{name}.safetensors")
