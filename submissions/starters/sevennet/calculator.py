"""A SevenNet model as a submission. Written for sevenn 0.13.0."""

import os
from pathlib import Path

import torch
from sevenn.calculator import SevenNetCalculator

MODEL = Path(__file__).parent / "weights" / "checkpoint.pth"

# The modal (fidelity) for each domain, here as in 7net-omni; {} for a model of one.
MODALS = {"Inorganic Materials": "omat24", "Molecules": "spice", "Catalysis": "oc20"}
DEFAULT = "Inorganic Materials"


def make_calculator(device="cpu", domain=None):
    """The calculator for a domain; of one that is not in MODALS, the modal of DEFAULT."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))  # of the container; PyTorch counts the host's processors
    return SevenNetCalculator(model=MODEL, device=device, modal=MODALS.get(domain, MODALS.get(DEFAULT)))
