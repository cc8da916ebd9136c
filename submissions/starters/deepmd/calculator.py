"""A DeePMD-kit model as a submission. Written for deepmd-kit 3.2.0 with PyTorch."""

import os
from pathlib import Path

MODEL = Path(__file__).parent / "weights" / "model.pt"

# The head (model branch) for each domain, here as in DPA-3.1-3M; {} for a model of one head.
# `dp --pt show weights/model.pt model-branch` lists them.
HEADS = {"Inorganic Materials": "Omat24", "Molecules": "SPICE2", "Catalysis": "OC20M"}
DEFAULT = "Inorganic Materials"


def make_calculator(device="cpu", domain=None):
    """The calculator for a domain; of one that is not in HEADS, the head of DEFAULT."""
    if device == "cpu":
        os.environ["DEVICE"] = "cpu"  # DeePMD-kit reads it when it is imported, and takes a GPU where there is one
    from deepmd.calculator import DP

    return DP(model=MODEL, head=HEADS.get(domain, HEADS.get(DEFAULT)))
