"""Checkpoints: a long observation saves its state in a file, and continues from it after the judge was killed.

The file is in the run directory. Its name follows from unit and hardware: only an observation of the same unit on the
same hardware reads it. It is removed once the attempt has its end.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from judge.records.content_keys import hash_of
from judge.records.observation_file import pack, unpack
from sandbox.verdict import FaultCause, JudgeFault
from tasks.structures.frames import hash_arrays


@dataclass(frozen=True)
class CheckpointFile:
    """A `tasks.kind.Checkpoint` in one file."""

    path: Path

    def load(self) -> Mapping[str, NDArray[Any]] | None:
        """The arrays that were saved last; None if there are none, or the file is damaged."""
        try:
            return unpacked_checkpoint(self.path.read_bytes())
        except OSError:
            return None

    def save(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replaces the checkpoint, whole or not at all.

        Raises:
            JudgeFault: DISK; the earlier checkpoint is kept.
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
        """Removes the checkpoint, and temporary files of a judge that was killed while it saved."""
        with suppress(OSError):
            for leftover in [self.path, *self.path.parent.glob(f".{self.path.name}.*")]:
                leftover.unlink(missing_ok=True)


def unpacked_checkpoint(data: bytes) -> Mapping[str, NDArray[Any]] | None:
    """The arrays in the bytes of a checkpoint; None if they are damaged."""
    try:
        arrays, text = unpack(data)
    except ValueError:
        return None
    return arrays if text == {"sha256": hash_arrays(arrays)} else None


def checkpoint_of(run_dir: Path, unit_prefix: str, submission: str, hardware: str) -> CheckpointFile:
    """The checkpoint of a unit.

    Args:
        unit_prefix: of its attempts: submission, task and observation key.
        hardware: class. A trajectory must not begin on one class and end on another.
    """
    name = hash_of({"unit": unit_prefix, "hardware": hardware})
    return CheckpointFile(run_dir / "checkpoints" / f"{submission}-{name}.safetensors")
