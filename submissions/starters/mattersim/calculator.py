"""A MatterSim model as a submission. Written for mattersim 1.2.3."""

import os
from pathlib import Path

import torch
from mattersim.forcefield import MatterSimCalculator

MODEL = Path(__file__).parent / "weights" / "mattersim-v1.0.0-5M.pth"


def make_calculator(device="cpu", domain=None):
    """The calculator. It has one head, whatever the domain."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))  # of the container; PyTorch counts the host's processors
    return MatterSimCalculator(load_path=str(MODEL), device=device)
