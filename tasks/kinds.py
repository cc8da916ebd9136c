"""The task kinds that there are, by the name that suites use."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.compression import Compression
from tasks.efficiency import Efficiency
from tasks.elasticity import Elasticity
from tasks.energy_differences import EnergyDifferences
from tasks.energy_profiles import EnergyProfiles
from tasks.equation_of_state import EquationOfStateKind
from tasks.kind import Kind
from tasks.labelled_frames import LabelledFrames
from tasks.nve import Nve
from tasks.phonons import Phonons
from tasks.physicality import Physicality

_ALL: tuple[Kind, ...] = (
    LabelledFrames(),
    EnergyDifferences(),
    EnergyProfiles(),
    EquationOfStateKind(),
    Elasticity(),
    Phonons(),
    Compression(),
    Nve(),
    Efficiency(),
    Physicality(),
)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _ALL}
