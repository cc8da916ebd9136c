"""A MACE model as a submission. Written for mace-torch 0.3.16."""

import os
from pathlib import Path

import torch
from mace.calculators import MACECalculator

MODEL = Path(__file__).parent / "weights" / "mace.model"

# The head for each domain, if the model has several, as MACE calls them; {} for a model of one head.
HEADS = {}


def make_calculator(device="cpu", domain=None):
    """The calculator for a domain; of one that is not in HEADS, the model's default head."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))  # of the container; PyTorch counts the host's processors
    head = {"head": HEADS[domain]} if domain in HEADS else {}
    return MACECalculator(model_paths=str(MODEL), device=device, default_dtype="float64", **head)
