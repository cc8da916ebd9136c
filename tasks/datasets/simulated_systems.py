"""Systems that are simulated, and what is measured of their trajectories (items of the kind *dynamics*).

An analysis names the quantity (`measure`), its atoms by their index in the structure, its settings, and its reference
by label set. Energy drift, temperature and hydrogen drift have no reference of a label set: their references are 0,
the temperature of the run, and 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import Field, FiniteFloat, model_validator

from tasks.datasets.card_parts import CardPart, Index, Positive, TableItem

Atoms = Annotated[tuple[Index, ...], Field(min_length=1)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Point = tuple[FiniteFloat, FiniteFloat, FiniteFloat]


class Analysis(CardPart):
    """A quantity of a trajectory.

    Args:
        name: of the item beside that of its system; empty: the measure.
    """

    name: str = ""

    @property
    def atoms_used(self) -> Sequence[int]:
        """The atoms that it names."""
        return ()

    @property
    def references(self) -> dict[str, Any] | None:
        """By label set; None where the reference is no label."""
        return getattr(self, "reference", None)


class PairAnalysis(Analysis):
    """A quantity of g(r).

    Args:
        first, second: two sets of atoms without a common one; None: the pairs within `first`.
        bin_width: [Å].
    """

    first: Atoms
    second: Atoms | None = None
    bin_width: Positive = 0.05

    @property
    def atoms_used(self) -> Sequence[int]:
        return (*self.first, *(self.second or ()))


class CurveLabel(CardPart):
    """A curve: y at increasing x."""

    x: tuple[FiniteFloat, ...] = Field(min_length=2)
    y: tuple[FiniteFloat, ...]

    @model_validator(mode="after")
    def _is_curve(self) -> Self:
        if len(self.y) != len(self.x):
            raise ValueError(f"y has {len(self.y)} entries for {len(self.x)} of x")
        if any(b <= a for a, b in pairwise(self.x)):
            raise ValueError("x must increase from each point to the next")
        return self


class DistributionLabel(CurveLabel):
    """A distribution on any scale: it is compared with area 1."""

    @model_validator(mode="after")
    def _is_distribution(self) -> Self:
        if min(self.y) < 0 or max(self.y) == 0:
            raise ValueError("y must not be negative, and not zero everywhere")
        return self


class RadialDistributionAnalysis(PairAnalysis):
    """g(r) up to `r_max` [Å], against a curve, between whose points lines are drawn."""

    measure: Literal["rdf"]
    r_max: Positive
    reference: dict[str, CurveLabel]


class FirstPeakAnalysis(PairAnalysis):
    """The r [Å] of the highest g(r) in `above` < r ≤ `up_to` [Å]."""

    measure: Literal["first_peak"]
    above: NotNegative = 0.0
    up_to: Positive
    reference: dict[str, Positive]

    @property
    def r_max(self) -> float:
        return self.up_to

    @model_validator(mode="after")
    def _increases(self) -> Self:
        if self.up_to <= self.above:
            raise ValueError("up_to: must be greater than above")
        return self


class DensityAnalysis(Analysis):
    """The mass density [g/cm³]."""

    measure: Literal["density"]
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


class ReferencePositions(Analysis):
    """A comparison of `atoms` with reference positions [Å], one for each of them, after superposition."""

    atoms: Atoms
    reference: dict[str, tuple[Point, ...]]

    @property
    def atoms_used(self) -> Sequence[int]:
        return self.atoms

    @model_validator(mode="after")
    def _one_each(self) -> Self:
        for name, points in self.reference.items():
            if len(points) != len(self.atoms):
                raise ValueError(f"reference.{name} has {len(points)} positions for {len(self.atoms)} atoms")
        return self


class RmsdAnalysis(ReferencePositions):
    """The mean RMSD [Å]."""

    measure: Literal["rmsd"]


class TmScoreAnalysis(ReferencePositions):
    """The mean TM-score of Cα atoms, which correspond by their index.

    Args:
        reference_length: residues of the whole reference chain; None: those that are given.
    """

    measure: Literal["tm_score"]
    reference_length: Annotated[int, Field(ge=3)] | None = None

    @model_validator(mode="after")
    def _is_chain(self) -> Self:
        if len(self.atoms) < 3:
            raise ValueError(f"atoms: {len(self.atoms)} residues, at least 3 are needed")
        if self.reference_length is not None and self.reference_length < len(self.atoms):
            raise ValueError("reference_length: is less than the number of atoms: state the whole chain")
        return self


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


class BackboneResidue(CardPart):
    """The atoms of a residue's backbone.

    Args:
        name: three letters, such as GLY.
        chain: consecutive residues of one chain are bonded.
    """

    name: Annotated[str, Field(min_length=1)]
    chain: Index = 0
    n: Index
    ca: Index
    c: Index
    o: Index


class BackboneAnalysis(Analysis):
    """A quantity of the backbone of a protein, whose residues are in the order of their chains."""

    residues: tuple[BackboneResidue, ...] = Field(min_length=3)

    @property
    def atoms_used(self) -> Sequence[int]:
        return [atom for residue in self.residues for atom in (residue.n, residue.ca, residue.c, residue.o)]

    @model_validator(mode="after")
    def _is_backbone(self) -> Self:
        atoms = self.atoms_used
        if len(set(atoms)) < len(atoms):
            raise ValueError("residues: an atom is named twice")
        return self


class DihedralOutliersAnalysis(BackboneAnalysis):
    """The share [%] of residues, over all frames, whose (φ, ψ) are more than 10° from every reference point.

    `reference` states the points, (φ, ψ) [°], of each of GLY, PRO, ILE_VAL and GENERAL that occurs.
    """

    measure: Literal["dihedral_outliers"]
    reference: dict[str, dict[str, tuple[tuple[FiniteFloat, FiniteFloat], ...]]]


class SecondaryStructureAnalysis(BackboneAnalysis):
    """The share [%] of residues, over all frames, with the class that DSSP gives them in the reference structure.

    `reference` is a text of one letter a residue: H, B, E, G, I, T, S, or - for none of them.
    """

    measure: Literal["secondary_structure"]
    reference: dict[str, Annotated[str, Field(pattern=r"^[HBEGITS-]+$")]]

    @model_validator(mode="after")
    def _has_class_of_each(self) -> Self:
        for name, classes in self.reference.items():
            if len(classes) != len(self.residues):
                raise ValueError(f"reference.{name} has {len(classes)} letters for {len(self.residues)} residues")
        return self


AnyAnalysis = Annotated[
    RadialDistributionAnalysis
    | FirstPeakAnalysis
    | DensityAnalysis
    | BondLengthAnalysis
    | AngleAnalysis
    | PlanarityAnalysis
    | DiffusionAnalysis
    | TemperatureAnalysis
    | EnergyDriftAnalysis
    | RmsdAnalysis
    | TmScoreAnalysis
    | GyrationAnalysis
    | HydrogenDriftAnalysis
    | AngularDistributionAnalysis
    | VibrationalSpectrumAnalysis
    | DihedralOutliersAnalysis
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
