"""What the errors of each kind of task are divided by: what scores 1."""

from __future__ import annotations

from typing import NamedTuple


class Baseline(NamedTuple):
    """What it is called in a table, and what it is, in a sentence or two."""

    name: str
    about: str


UNNAMED = Baseline("Trivial model", "The trivial model that every error of this task is divided by.")
_BY_KIND = {
    "labelled_frames": Baseline("Composition only", "A trivial model that knows the composition alone."),
    "energy_differences": Baseline("Answers zero", "A trivial model that answers zero to everything."),
    "energy_profiles": Baseline("Flat profile", "A trivial model whose profiles are zero everywhere."),
    "equation_of_state": Baseline(
        "PBE against experiment",
        "How far PBE lies from experiment, which every error is divided by: no trivial model has an equation of state.",
    ),
    "elasticity": Baseline("No stiffness", "A trivial model whose moduli are zero."),
    "phonons": Baseline("Answers zero", "A trivial model that answers zero everywhere."),
    "compression": Baseline("Volume of the start", "A trivial model in which nothing gives way to pressure."),
}


def baseline_of(kind: str) -> Baseline:
    """The baseline of a kind of task."""
    return _BY_KIND.get(kind, UNNAMED)
