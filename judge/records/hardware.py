"""The hardware class of this machine: timings are compared only within one class."""

from __future__ import annotations

import platform
from pathlib import Path


def cpu_name() -> str:
    """The processor's name from the kernel, else the architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        field, _, value = line.partition(":")
        if field.strip() in ("model name", "Model") and value.strip():
            return " ".join(value.split())
    return platform.machine()


def hardware_class(cpus: int, gpu_name: str | None) -> str:
    """The hardware class: the GPU's model, or the number of processors and their model."""
    return f"GPU {gpu_name}" if gpu_name else f"{cpus} × {cpu_name()}"
