"""Starters: the files of a new submission, for well-known calculators."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from importlib.resources.abc import Traversable
from string import Template

from submissions.card.file import card_text, parse_card

FOLDER = "starters"
WEIGHTS = "weights"


class StarterName(StrEnum):
    """The calculator that a starter is for; TRAINER: a model that the judge trains."""

    ASE = "ase"
    MACE = "mace"
    CHGNET = "chgnet"
    DEEPMD = "deepmd"
    SEVENNET = "sevennet"
    ORB = "orb"
    MATTERSIM = "mattersim"
    FAIRCHEM = "fairchem"
    TBLITE = "tblite"
    TRAINER = "trainer"


@dataclass(frozen=True)
class Starter:
    """The files of a new submission's folder.

    Args:
        files: content by path.
        weights: names of the files with weights, which the author puts into `weights/`.
    """

    files: dict[str, str]
    weights: tuple[str, ...] = ()


_WEIGHTS = {
    StarterName.MACE: ("mace.model",),
    StarterName.DEEPMD: ("model.pt",),
    StarterName.SEVENNET: ("checkpoint.pth",),
    StarterName.ORB: ("orb-v3-conservative-inf-omat-20250404.ckpt", "orb-v3-conservative-omol-20250820.ckpt"),
    StarterName.MATTERSIM: ("mattersim-v1.0.0-5M.pth",),
    StarterName.FAIRCHEM: ("uma.pt",),
}
_LIBGOMP = """\
# tblite takes OpenMP from the system, and a slim Python image has none.
RUN ldconfig -p | grep -q 'libgomp\\.so\\.1' \\
 || (apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*)
"""
_FURTHER_STEPS = {StarterName.TBLITE: _LIBGOMP}
_FURTHER_MODULES = {StarterName.TRAINER: ("train.py", "pair_potential.py")}
_LABELS = {StarterName.TRAINER: '\nLABEL org.lambench.trainer="train:train"'}


def starter(name: StarterName, model: str) -> Starter:
    """The starter of that name, with a model card for `model`.

    Raises:
        CardError: the model's name is not allowed.
    """
    common = resources.files("submissions") / FOLDER
    folder = common / name.value
    weights = _WEIGHTS.get(name, ())
    modules = ("calculator.py", *_FURTHER_MODULES.get(name, ()))
    dockerfile = Template(_text(common / "Dockerfile")).substitute(
        further_steps=_FURTHER_STEPS.get(name, ""),
        copy_weights=f"COPY {WEIGHTS}/ {WEIGHTS}/\n" if weights else "",
        modules=" ".join(modules),
        further_labels=_LABELS.get(name, ""),
    )
    card = parse_card(_text(folder / "lambench.toml"), f"{name}: lambench.toml", name=model)
    files = {
        "lambench.toml": card_text(card),
        **{module: _text(folder / module) for module in modules},
        "requirements.txt": _text(folder / "requirements.txt"),
        "Dockerfile": dockerfile,
        ".dockerignore": _text(common / "dockerignore"),
    }
    if weights:
        files[f"{WEIGHTS}/.gitkeep"] = ""  # keeps the folder in a git clone: without it the build would fail
    return Starter(files, weights)


def _text(file: Traversable) -> str:
    return file.read_text(encoding="utf-8")
