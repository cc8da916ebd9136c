"""Observations that take long."""

from __future__ import annotations

import pytest
from ase.calculators.emt import EMT

from tasks.kind import Observation
from tests.tasks.kinds.phonon_crystals import METALS, observe


@pytest.fixture(scope="session")
def metals() -> Observation:
    """The answers of EMT about `METALS`."""
    return observe(EMT(), METALS)
