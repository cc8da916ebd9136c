"""A FAIRChem model, such as UMA, as a submission. Written for fairchem-core 2.24.0.

UMA reads `atoms.info["charge"]` and `atoms.info["spin"]`, which the judge states of every structure. Crystals whose
spin is not stated have 0, as UMA expects of them.
"""

import os
from pathlib import Path

import torch
from fairchem.core import FAIRChemCalculator
from fairchem.core.units.mlip_unit import load_predict_unit

MODEL = Path(__file__).parent / "weights" / "uma.pt"

# The task for each domain, as UMA calls them.
TASKS = {"Inorganic Materials": "omat", "Molecules": "omol", "Catalysis": "oc20"}
DEFAULT = "Inorganic Materials"


def make_calculator(device="cpu", domain=None):
    """The calculator for a domain; of one that is not in TASKS, the task of DEFAULT."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))  # of the container; PyTorch counts the host's processors
    # "batch" is for structures of any composition, one after the other; the faster settings merge the model for one
    # composition, and compile it.
    unit = load_predict_unit(MODEL, inference_settings="batch", device=device)
    return FAIRChemCalculator(unit, task_name=TASKS.get(domain, TASKS[DEFAULT]))
