"""Quantities of proteins: distance from a reference structure, backbone, and secondary structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, FiniteFloat, model_validator

from tasks.datasets.analysis import Analysis, Atoms, Point
from tasks.datasets.card_parts import CardPart, Index, later


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
    """The mean RMSD [Å] over frames, or the lowest."""

    measure: Literal["rmsd", "lowest_rmsd"]

    @property
    def of_best_frame(self) -> bool:
        return self.measure == "lowest_rmsd"


class TmScoreAnalysis(ReferencePositions):
    """The mean TM-score over frames, or the highest, of Cα atoms, which correspond by their index.

    Args:
        reference_length: residues of the whole reference chain; None: those that are given.
    """

    measure: Literal["tm_score", "highest_tm_score"]
    reference_length: Annotated[int, Field(ge=3)] | None = None

    @property
    def of_best_frame(self) -> bool:
        return self.measure == "highest_tm_score"

    @model_validator(mode="after")
    def _is_chain(self) -> Self:
        if len(self.atoms) < 3:
            raise ValueError(f"atoms: {len(self.atoms)} residues, at least 3 are needed")
        if self.reference_length is not None and self.reference_length < len(self.atoms):
            raise ValueError("reference_length: is less than the number of atoms: state the whole chain")
        return self


DihedralAtoms = tuple[Index, Index, Index, Index]


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
    """A quantity of the backbone of a protein, whose residues are in the order of their chains.

    Args:
        counted: the residues that it is a mean over; None: all.
    """

    counted: Annotated[tuple[Index, ...], Field(min_length=1)] | None = later(None)
    residues: tuple[BackboneResidue, ...] = Field(min_length=3)

    @property
    def atoms_used(self) -> Sequence[int]:
        return [atom for residue in self.residues for atom in (residue.n, residue.ca, residue.c, residue.o)]

    @model_validator(mode="after")
    def _is_backbone(self) -> Self:
        atoms = self.atoms_used
        if len(set(atoms)) < len(atoms):
            raise ValueError("residues: an atom is named twice")
        if self.counted is not None and max(self.counted) >= len(self.residues):
            raise ValueError(f"counted: there is no residue {max(self.counted)}, but 0 to {len(self.residues) - 1}")
        return self


class DihedralOutliersAnalysis(BackboneAnalysis):
    """The share [%] of residues, over all frames, whose (φ, ψ) are more than 10° from every reference point.

    `reference` states the points, (φ, ψ) [°], of each of GLY, PRO, ILE_VAL and GENERAL that occurs.
    """

    measure: Literal["dihedral_outliers"]
    reference: dict[str, dict[str, tuple[tuple[FiniteFloat, FiniteFloat], ...]]]


class SidechainOutliersAnalysis(Analysis):
    """The share [%] of residues, over all frames, whose χ are more than 10° from every reference point.

    Args:
        residues: of one name; of each the four atoms of χ1, χ2 and so on.

    `reference` states the points, an angle [°] for each χ.
    """

    measure: Literal["sidechain_outliers"]
    residues: tuple[tuple[DihedralAtoms, ...], ...] = Field(min_length=1)
    reference: dict[str, Annotated[tuple[tuple[FiniteFloat, ...], ...], Field(min_length=1)]]

    @property
    def atoms_used(self) -> Sequence[int]:
        return [atom for residue in self.residues for chi in residue for atom in chi]

    @model_validator(mode="after")
    def _has_one_angle_each(self) -> Self:
        sizes = {len(residue) for residue in self.residues} | {len(p) for each in self.reference.values() for p in each}
        if len(sizes) > 1 or 0 in sizes:
            raise ValueError("residues, reference: have other numbers of angles: state residues of one name")
        return self


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
