"""Systems that are simulated, and what is measured of their trajectories (items of the kind *dynamics*).

An analysis names the quantity (`measure`), its atoms by their index in the structure, its settings, and its reference
by label set. Those of pairs and of proteins are in modules of their own. Energy drift, drift ratio, temperature and
hydrogen drift have no reference of a label set: their references are 0, 0, the temperature of the run, and 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tasks.datasets.analysis import Analysis, Atoms, DistributionLabel, NotNegative
from tasks.datasets.card_parts import Index, Positive, TableItem, later
from tasks.datasets.pair_analyses import (
    FirstPeakAnalysis,
    RadialDistributionAnalysis,
    RadialDistributionRmseAnalysis,
)
from tasks.datasets.protein_analyses import (
    DihedralOutliersAnalysis,
    RmsdAnalysis,
    SecondaryStructureAnalysis,
    SidechainOutliersAnalysis,
    TmScoreAnalysis,
)


class DensityAnalysis(Analysis):
    """The mass density [g/cm³].

    Args:
        skip_share: of the stored frames at the beginning that are left out, beside those of the equilibration.
        mass_per_atom: mean mass [u], as published values have it; None: of the elements.
    """

    measure: Literal["density"]
    skip_share: float = later(0.0, ge=0, lt=1)
    mass_per_atom: Positive | None = later(None)
    reference: dict[str, Positive]


class BondLengthAnalysis(Analysis):
    """The mean length [Å] of the bonds `pairs`.

    Args:
        each_frame: the error is the mean of |length − reference| over bonds and frames, which thermal motion makes
            larger than zero, as published benchmarks have it; else |mean length − reference|.
    """

    measure: Literal["bond_length"]
    pairs: tuple[tuple[Index, Index], ...] = Field(min_length=1)
    each_frame: bool = False
    reference: dict[str, Positive]

    @property
    def atoms_used(self) -> Sequence[int]:
        return [atom for pair in self.pairs for atom in pair]


class AngleAnalysis(Analysis):
    """The mean angle [°] at the middle atoms of `triples`; `each_frame` as of bond lengths."""

    measure: Literal["angle"]
    triples: tuple[tuple[Index, Index, Index], ...] = Field(min_length=1)
    each_frame: bool = False
    reference: dict[str, Positive]

    @property
    def atoms_used(self) -> Sequence[int]:
        return [atom for triple in self.triples for atom in triple]


class PlanarityAnalysis(Analysis):
    """The mean distance [Å] of the atoms of a ring from their best plane, root mean square over the atoms."""

    measure: Literal["planarity"]
    ring: tuple[Index, ...] = Field(min_length=4)
    reference: dict[str, NotNegative]

    @property
    def atoms_used(self) -> Sequence[int]:
        return self.ring


class DiffusionAnalysis(Analysis):
    """The diffusion coefficient [1e-9 m²/s] from the mean squared displacement between two lags [ps]."""

    measure: Literal["diffusion"]
    atoms: Atoms
    from_ps: NotNegative
    to_ps: Positive
    n_blocks: Annotated[int, Field(ge=2)] = 2
    reference: dict[str, Positive]

    @property
    def atoms_used(self) -> Sequence[int]:
        return self.atoms


class AngularDistributionAnalysis(Analysis):
    """The distribution of the angles [°] at `centres` between each two `partners` within `distance` [Å].

    A centre may be among the partners; it is not its own neighbour.
    """

    measure: Literal["angular_distribution"]
    centres: Atoms
    partners: Atoms
    distance: Positive
    n_bins: Annotated[int, Field(ge=2)] = 90
    reference: dict[str, DistributionLabel]

    @property
    def atoms_used(self) -> Sequence[int]:
        return (*self.centres, *self.partners)


class VibrationalSpectrumAnalysis(Analysis):
    """The vibrational density of states over wavenumbers [cm⁻¹], of the stored frames between two times [ps].

    Args:
        atoms: None for all.
        bin_width: [cm⁻¹] the densities of the run are means over bins from 0 to the end of the reference.
    """

    measure: Literal["vibrational_spectrum"]
    atoms: Atoms | None = None
    from_ps: NotNegative
    to_ps: Positive
    bin_width: Positive = 20.0
    reference: dict[str, DistributionLabel]

    @property
    def atoms_used(self) -> Sequence[int]:
        return self.atoms or ()

    @model_validator(mode="after")
    def _has_length(self) -> Self:
        if self.to_ps <= self.from_ps:
            raise ValueError("to_ps: must be greater than from_ps")
        return self


class TemperatureAnalysis(Analysis):
    """The mean kinetic temperature [K], against that of the heat bath."""

    measure: Literal["temperature"]


class EnergyDriftAnalysis(Analysis):
    """The slope of the total energy [eV/atom/ps], at constant energy."""

    measure: Literal["energy_drift"]


class DriftRatioAnalysis(Analysis):
    """|Slope of the total energy| × duration, over the fluctuation of the kinetic energy, at constant energy."""

    measure: Literal["drift_ratio"]


class GyrationAnalysis(Analysis):
    """The mean radius of gyration [Å], weighted by masses."""

    measure: Literal["radius_of_gyration"]
    atoms: Atoms
    reference: dict[str, Positive]

    @property
    def atoms_used(self) -> Sequence[int]:
        return self.atoms


class HydrogenDriftAnalysis(Analysis):
    """The share of the run after a hydrogen has left its molecule for good.

    Args:
        bonds: heavy atom and hydrogen of each bond at the start.
    """

    measure: Literal["hydrogen_drift"]
    bonds: tuple[tuple[Index, Index], ...] = Field(min_length=1)

    @property
    def atoms_used(self) -> Sequence[int]:
        return [atom for bond in self.bonds for atom in bond]


AnyAnalysis = Annotated[
    RadialDistributionAnalysis
    | RadialDistributionRmseAnalysis
    | FirstPeakAnalysis
    | DensityAnalysis
    | BondLengthAnalysis
    | AngleAnalysis
    | PlanarityAnalysis
    | DiffusionAnalysis
    | TemperatureAnalysis
    | EnergyDriftAnalysis
    | DriftRatioAnalysis
    | RmsdAnalysis
    | TmScoreAnalysis
    | GyrationAnalysis
    | HydrogenDriftAnalysis
    | AngularDistributionAnalysis
    | VibrationalSpectrumAnalysis
    | DihedralOutliersAnalysis
    | SidechainOutliersAnalysis
    | SecondaryStructureAnalysis,
    Field(discriminator="measure"),
]


class SimulatedSystem(TableItem):
    """A structure that is simulated, and what is measured of it.

    Args:
        escape_distance: [Å] an atom without another one as near has left; None: it follows from the structure.
    """

    structure: Index
    analyses: tuple[AnyAnalysis, ...] = ()
    escape_distance: Positive | None = None

    @model_validator(mode="after")
    def _has_names(self) -> Self:
        names = [analysis.name or analysis.measure for analysis in self.analyses]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"analyses: two are called {twice!r}: give each its own name")
        return self
