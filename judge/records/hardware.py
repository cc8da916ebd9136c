"""What the numbers were measured on: timings are compared only within one hardware class."""

from __future__ import annotations

import platform
from pathlib import Path


def cpu_name() -> str:
    """The processor's name as the kernel gives it, else the architecture."""
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
    """The class in which timings compare: the GPU's model, or the processor's and how many of them."""
    return f"GPU {gpu_name}" if gpu_name else f"{cpus} × {cpu_name()}"
