"""The example models, which are part of the package."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

EXAMPLES = Path(str(resources.files("submissions"))) / "examples"
BASE = "calculator"
"""The base of all examples: Python, numpy and ase."""

# In the order in which they are judged: the first page shows the first two, which are built and judged in seconds.
MODELS = ("emt", "lennard_jones", "xtb", "sevennet", "chgnet")
AT_FIRST = 2
REFERENCES = ("GFN2-xTB",)
"""Names of models that are no learned potentials: they are shown for comparison, without a rank."""


def requirements_of(name: str) -> Path:
    """The packages of an example."""
    return EXAMPLES / name / "requirements.txt"


def card_of_example(name: str) -> Path:
    """The model card of an example."""
    return EXAMPLES / name / "lambench.toml"
