"""The task kinds that there are, by the name that suites use."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.efficiency import Efficiency
from tasks.energy_differences import EnergyDifferences
from tasks.equation_of_state import EquationOfStateKind
from tasks.kind import Kind
from tasks.labelled_frames import LabelledFrames
from tasks.nve import Nve

_ALL: tuple[Kind, ...] = (LabelledFrames(), EnergyDifferences(), EquationOfStateKind(), Nve(), Efficiency())
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _ALL}
