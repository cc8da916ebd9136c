"""The entries of MLIPAudit's JSON files, with their checks; other fields, such as `smiles`, are ignored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from ase import Atoms
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from tasks.datasets.card import DatasetError
from tasks.importing.mlipaudit.checks import checked_atoms

Coordinates = tuple[tuple[FiniteFloat, FiniteFloat, FiniteFloat], ...]


class PublishedEntry(BaseModel):
    """An entry of a file."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class PublishedMolecule(PublishedEntry):
    """A molecule. `charge` is 0 where it is left out."""

    atom_symbols: tuple[str, ...]
    coordinates: Coordinates
    charge: FiniteFloat = 0.0

    def atoms(self, where: str) -> Atoms:
        """The structure.

        Raises:
            DatasetError: the line begins with `where`.
        """
        return checked_atoms(self.atom_symbols, self.coordinates, self.charge, where)


class PublishedRing(PublishedMolecule):
    """A molecule with a ring."""

    pattern_atoms: tuple[int, ...]


class PublishedBond(PublishedMolecule):
    """A molecule with a bond, and its length [Å]."""

    pattern_atom_indices: tuple[int, int]
    reference_bond_distance: Annotated[FiniteFloat, Field(gt=0)]


class PublishedConformers(PublishedEntry):
    """Conformers of a molecule with their energies [kcal/mol], total or relative."""

    molecule_name: Annotated[str, Field(min_length=1)]
    dft_energy_profile: tuple[FiniteFloat, ...]
    atom_symbols: tuple[str, ...]
    conformer_coordinates: tuple[Coordinates, ...]
    charge: FiniteFloat = 0.0


class PublishedTorsion(PublishedEntry):
    """Conformers along a torsion: angles [°] and energies [kcal/mol]."""

    torsion_atom_indices: tuple[int, int, int, int]
    dft_energy_profile: tuple[tuple[FiniteFloat, FiniteFloat], ...]
    atom_symbols: tuple[str, ...]
    conformer_coordinates: tuple[Coordinates, ...]
    charge: FiniteFloat = 0.0


class PublishedComplex(PublishedEntry):
    """A complex of two molecules at several distances, with its interaction energies [kcal/mol]."""

    dataset_name: str
    total_charge: FiniteFloat = 0.0
    charge_a: FiniteFloat | None = None
    charge_b: FiniteFloat | None = None
    selection_indices_a: tuple[int, ...] = ()
    selection_indices_b: tuple[int, ...] = ()
    atom_symbols: tuple[str, ...]
    distance_profile: tuple[FiniteFloat, ...]
    interaction_energy_profile: tuple[FiniteFloat, ...]
    coords: tuple[Coordinates, ...]


class PublishedTautomers(PublishedEntry):
    """Two tautomers with their energies [eV]."""

    energies: tuple[FiniteFloat, FiniteFloat]
    atom_symbols: tuple[tuple[str, ...], tuple[str, ...]]
    coordinates: tuple[Coordinates, Coordinates]
    charge: FiniteFloat = 0.0


class PublishedState(PublishedEntry):
    """A structure of a reaction with its energy [kcal/mol]."""

    energy: FiniteFloat
    atom_symbols: tuple[str, ...]
    coordinates: Coordinates


class PublishedReaction(PublishedEntry):
    """Reactant, product and transition state of a reaction."""

    reactants: PublishedState
    products: PublishedState
    transition_state: PublishedState
    charge: FiniteFloat = 0.0


def conformers(
    symbols: Sequence[str], coordinates: Sequence[Coordinates], energies: int, charge: float, where: str
) -> list[Atoms]:
    """The conformers, of which there are as many as `energies`.

    Raises:
        DatasetError: the line begins with `where`.
    """
    if len(coordinates) != energies:
        raise DatasetError(
            f"{where}: the profile has {energies} energies for {len(coordinates)} conformers: state one of each"
        )
    return [checked_atoms(symbols, each, charge, f"{where}: conformer {i}") for i, each in enumerate(coordinates)]
