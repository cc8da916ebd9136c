"""The pretrained CHGNet as a submission. Written for chgnet 0.4.2, whose wheel holds the weights.

For a model of your own, put it into weights/ and load it with `CHGNet.from_file`.
"""

import os

import torch
from chgnet.model.dynamics import CHGNetCalculator


def make_calculator(device="cpu", domain=None):
    """The calculator. It has one head, whatever the domain, and knows only structures that are periodic."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))  # of the container; PyTorch counts the host's processors
    return CHGNetCalculator(use_device=device, on_isolated_atoms="ignore")
