"""An Orb model as a submission. Written for orb-models 0.5.5; later versions make the calculator otherwise.

OrbMol, the model for molecules, reads `atoms.info["charge"]` and `atoms.info["spin"]`, which the judge states of every
structure. The models for materials take both or neither.
"""

import os
from pathlib import Path

import torch
from orb_models.forcefield import pretrained
from orb_models.forcefield.calculator import ORBCalculator

WEIGHTS = Path(__file__).parent / "weights"

# The model for each domain, and its weights.
MODELS = {
    "Inorganic Materials": (
        pretrained.orb_v3_conservative_inf_omat,
        WEIGHTS / "orb-v3-conservative-inf-omat-20250404.ckpt",
    ),
    "Molecules": (pretrained.orb_v3_conservative_omol, WEIGHTS / "orb-v3-conservative-omol-20250820.ckpt"),
}
DEFAULT = "Inorganic Materials"


def make_calculator(device="cpu", domain=None):
    """The calculator for a domain; of one that is not in MODELS, the model of DEFAULT."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))  # of the container; PyTorch counts the host's processors
    load, weights = MODELS.get(domain, MODELS[DEFAULT])
    # Compiled, it would need a C++ compiler in the image.
    model = load(weights_path=str(weights), device=device, precision="float32-highest", compile=False)
    return ORBCalculator(model, device=device)
