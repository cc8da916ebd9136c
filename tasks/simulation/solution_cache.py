"""Keeps solutions that take minutes on this machine, so that a second measurement with other labels does not.

A solution is found by the sha256 of all that it was computed from. Without a folder nothing is kept: a verification
computes it again.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

Solution = Mapping[str, NDArray[Any]]
_FOLDER: ContextVar[Path | None] = ContextVar("solutions", default=None)


@contextmanager
def solutions_kept_in(folder: Path | None) -> Iterator[None]:
    """Keeps the solutions of the calling thread in `folder` for as long as the context lasts."""
    token = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(token)


def solution(key: str, compute: Callable[[], Solution]) -> Solution:
    """The solution under `key`, a sha256 in hex: as kept, or computed and then kept.

    A folder that cannot be written or a file that is damaged is no error: the solution is computed.
    """
    folder = _FOLDER.get()
    if folder is None:
        return compute()
    path = folder / f"{key}.safetensors"
    with suppress(OSError, SafetensorError):
        return dict(load(path.read_bytes()))
    solved = compute()
    with suppress(OSError):
        _write(path, save({name: np.array(array, order="C") for name, array in solved.items()}))
    return solved


def _write(path: Path, data: bytes) -> None:
    """Writes the file, whole or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
