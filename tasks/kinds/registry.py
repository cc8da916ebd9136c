"""The task kinds that there are, by the name that suites use."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.kind import Kind
from tasks.kinds.compression import Compression
from tasks.kinds.elasticity import Elasticity
from tasks.kinds.energy_differences import EnergyDifferences
from tasks.kinds.energy_profiles import EnergyProfiles
from tasks.kinds.equation_of_state import EquationOfStateKind
from tasks.kinds.labelled_frames import LabelledFrames
from tasks.kinds.nve import Nve
from tasks.kinds.phonons import Phonons
from tasks.physicality.kind import Physicality
from tasks.timing.efficiency import Efficiency

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
