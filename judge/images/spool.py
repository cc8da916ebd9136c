"""The temporary file of a layer between its arrival and the mirror: nameless, so that a crash leaves nothing behind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from judge.images.disk_space import require_room
from sandbox.image.layer_check import ImageBudget
from sandbox.image.layer_rewriting import RewrittenLayer, rewrite_layer
from sandbox.verdict import FaultCause, JudgeFault


@contextmanager
def rewritten_layer(
    chunks: Iterable[bytes], budget: ImageBudget, n_bytes: int, min_free_bytes: int
) -> Iterator[tuple[RewrittenLayer, BinaryIO]]:
    """A checked layer, and the file with the judge's own gzip of it.

    Args:
        n_bytes: the expected size of the file.
        min_free_bytes: so much must stay free on its disk.

    Raises:
        SubmissionFault: the layer is refused, see `check_layer`.
        JudgeFault: DISK.
    """
    folder = _folder()
    require_room(folder, min_free_bytes, n_bytes)
    with _nameless_file(folder) as file:

        def write(piece: bytes) -> None:
            try:
                file.write(piece)
            except OSError as error:
                raise _disk_fault(folder, error) from error

        layer = rewrite_layer(chunks, budget, write)
        file.seek(0)
        yield layer, file


def _folder() -> Path:
    """The folder for large temporary files; /tmp may be in memory."""
    return Path(os.environ.get("TMPDIR") or "/var/tmp")


def _nameless_file(folder: Path) -> BinaryIO:
    try:
        return tempfile.TemporaryFile(dir=folder)
    except OSError as error:
        raise _disk_fault(folder, error) from error


def _disk_fault(folder: Path, error: OSError) -> JudgeFault:
    return JudgeFault(FaultCause.DISK, f"cannot write to {folder} ({error.strerror}): free some space, or set TMPDIR")
