"""Costs of calls: on a GPU its own memory counts, and whatever an author's PyTorch does ends nothing."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tasks.model.call_costs import CallCosts, release_memory


class Cuda:
    """The four functions of torch.cuda that are used: a peak that a reset takes back."""

    def __init__(self) -> None:
        self.peak, self.emptied = 5.0e9, 0

    def is_available(self) -> bool:
        return True

    def reset_peak_memory_stats(self) -> None:
        self.peak = 2.0e9

    def max_memory_allocated(self) -> float:
        return self.peak

    def empty_cache(self) -> None:
        self.emptied += 1


class BrokenCuda:
    """A CUDA that raises at everything after an error of the device."""

    def is_available(self) -> bool:
        return True

    def __getattr__(self, name: str) -> object:
        raise RuntimeError("CUDA error: device-side assert triggered")


def costs_of_two_calls() -> np.ndarray:
    costs = CallCosts(3)
    costs.split([0, 1])
    costs.begin()
    costs.end([0, 1], 12)
    costs.begin()
    costs.end([2], 5)
    return costs.array


def test_the_peak_is_that_of_the_gpu_during_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = Cuda()
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    array = costs_of_two_calls()
    assert array[:, 1:].tolist() == [[2, 12, 2e9, 1], [2, 12, 2e9, 1], [1, 5, 2e9, 0]]
    assert (array[:, 0] >= 0).all()
    release_memory()
    assert cuda.emptied == 1


@pytest.mark.parametrize("torch", [SimpleNamespace(cuda=BrokenCuda()), SimpleNamespace(), "a text"])
def test_a_broken_torch_ends_nothing(monkeypatch: pytest.MonkeyPatch, torch: object) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch)
    array = costs_of_two_calls()
    assert array[:, [1, 2, 4]].tolist() == [[2, 12, 1], [2, 12, 1], [1, 5, 0]]
    release_memory()


def test_without_a_gpu_the_peak_is_that_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False)))
    held = np.ones(4_000_000)  # 32 MB that the process surely has
    assert (costs_of_two_calls()[:, 3] > held.nbytes).all()
