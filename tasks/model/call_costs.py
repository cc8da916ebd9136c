"""What a call of a calculator cost: its seconds, its size and its memory, noted for each of its structures.

This file is packed beside the guest: the standard library, numpy and ASE only, Python 3.9.
"""

from __future__ import annotations

import sys
import time
from typing import Any, Sequence

import numpy as np

COLUMNS = ("seconds", "structures", "atoms", "peak_memory_bytes", "split_for_memory")


class CallCosts:
    """The costs of the calls for one question.

    Args:
        n: structures.

    Attributes:
        array: (n, 5), by structure: seconds of its call, structures in the call, atoms in the call, the peak memory
            [bytes] of the GPU during the call, or of the process since its start if there is no GPU, and 1 if a larger
            call that it was in ran out of memory. NaN before the call.
    """

    def __init__(self, n: int) -> None:
        self.array = np.full((n, len(COLUMNS)), np.nan)
        self.array[:, 4] = 0.0
        self._begun = 0.0

    def begin(self) -> None:
        """A call begins."""
        reset_peak_memory()
        self._begun = time.perf_counter()

    def end(self, group: Sequence[int], n_atoms: int) -> None:
        """The call for the structures `group`, of `n_atoms` atoms in all, has ended."""
        seconds = time.perf_counter() - self._begun
        self.array[group, :4] = (seconds, len(group), n_atoms, peak_memory())

    def split(self, group: Sequence[int]) -> None:
        """The call for the structures `group` ran out of memory and is made again in smaller ones."""
        self.array[group, 4] = 1.0


def reset_peak_memory() -> None:
    """Begins a new peak of PyTorch's memory on the GPU; a no-op elsewhere."""
    try:
        cuda = _cuda()
        if cuda is not None:
            cuda.reset_peak_memory_stats()
    except Exception:  # the author's torch may be anything
        return


def peak_memory() -> float:
    """The most memory in use [bytes]: of PyTorch on the GPU since the reset, or of this process; NaN if unknown."""
    try:
        cuda = _cuda()
        if cuda is not None:
            return float(cuda.max_memory_allocated())
        import resource

        return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    except Exception:  # as above
        return float("nan")


def _cuda() -> Any:
    """PyTorch's CUDA module, if it is loaded and in use; else None."""
    torch = sys.modules.get("torch")
    try:
        return torch.cuda if torch is not None and torch.cuda.is_available() else None
    except Exception:  # as above
        return None


def release_memory() -> None:
    """Returns cached GPU memory to the driver where torch is loaded; a no-op elsewhere."""
    try:
        cuda = _cuda()
        if cuda is not None:
            cuda.empty_cache()
    except Exception:  # a broken CUDA context: the next call says so
        return
