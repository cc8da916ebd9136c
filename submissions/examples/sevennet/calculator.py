"""SevenNet-0, as a submission: a pretrained equivariant interatomic potential, its weights inside its wheel.

SevenNet has an ASE calculator of its own, so this is all that a submission needs.
"""

import os

import torch
from sevenn.calculator import SevenNetCalculator


def make_calculator(device: str = "cpu", domain: str | None = None) -> SevenNetCalculator:
    """The pretrained SevenNet-0 on `device`. It has one head, whatever the domain."""
    # os.cpu_count() would count the host's processors, not the ones this container may use.
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    return SevenNetCalculator("7net-0", device=device)
