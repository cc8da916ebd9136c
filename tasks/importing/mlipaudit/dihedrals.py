"""The dihedrals of proteins by residue name, with the reference points of MLIPAudit's `sampling`.

χ are those of the standard residues, of which `tasks.trajectories.dihedral_outliers` states how many count. Residues in
another state of protonation, such as HIE, count as the standard one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import FiniteFloat

from tasks.datasets.card import DatasetError
from tasks.datasets.protein_analyses import BackboneResidue, DihedralOutliersAnalysis, SidechainOutliersAnalysis
from tasks.datasets.simulated_systems import AnyAnalysis
from tasks.importing.mlipaudit.layout import BenchmarkFiles, read_json
from tasks.importing.pdb_files import PdbStructure, Residue
from tasks.trajectories.dihedral_outliers import N_CHI, backbone_set
from tasks.trajectories.proteins import DIHEDRALS

BACKBONE, SIDE_CHAINS = "backbone_reference_data.json", "sidechain_reference_data.json"
REFERENCES = (BACKBONE, SIDE_CHAINS)
STANDARD_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("HID", "HIE", "HIP", "HSD", "HSE", "HSP"), "HIS"),
    **dict.fromkeys(("CYX", "CYM"), "CYS"),
    "ASH": "ASP",
    "GLH": "GLU",
    "LYN": "LYS",
}
# By cap, where the residue is that it is bonded to. NH2 is too small to stand for a residue.
CAPS: Mapping[str, int] = {"ACE": 1, "NME": -1, "NMA": -1}
TURN = 6.3  # radians
BACKBONE_FIELDS = {"n": "N", "ca": "CA", "c": "C", "o": "O"}
Angles = dict[str, dict[str, tuple[FiniteFloat, ...]]]


class DihedralReferences(NamedTuple):
    """Reference points [°]: of backbones by set (φ, ψ), of side chains by residue name."""

    backbone: Mapping[str, Sequence[tuple[float, float]]]
    side_chains: Mapping[str, Sequence[tuple[float, ...]]]


class ChainResidue(NamedTuple):
    """A residue with its backbone.

    Args:
        is_cap: whether it lends its atoms to the dihedrals of its neighbour, and has none of its own.
    """

    residue: Residue
    backbone: BackboneResidue
    is_cap: bool = False


def read_references(files: BenchmarkFiles) -> DihedralReferences:
    """The reference points of both files.

    Raises:
        DatasetError: angles of a set are missing, or of different number; one line.
    """
    backbone, side_chains = (files.path(name) for name in REFERENCES)
    sets = {
        name: _points(angles, ("phi", "psi"), f"{backbone}: {name}")
        for name, angles in read_json(backbone, Angles).items()
    }
    chis = {
        name: _points(angles, [f"chi{i}" for i in range(1, N_CHI[name] + 1)], f"{side_chains}: {name}")
        for name, angles in read_json(side_chains, Angles).items()
        if name in N_CHI
    }
    return DihedralReferences({name: [(phi, psi) for phi, psi in points] for name, points in sets.items()}, chis)


def _points(angles: Mapping[str, tuple[float, ...]], names: Sequence[str], where: str) -> list[tuple[float, ...]]:
    """Points with the angles of these names."""
    for name in names:
        if not angles.get(name):
            raise DatasetError(f"{where}: {name}: has no angles: restore the published file")
        if len(angles[name]) != len(angles[names[0]]):
            raise DatasetError(
                f"{where}: {name}: has {len(angles[name])} angles, {names[0]} {len(angles[names[0]])}: state as many"
            )
    if max(abs(angle) for name in names for angle in angles[name]) < TURN:
        raise DatasetError(f"{where}: {names[0]}: no angle is above {TURN}: radians taken for degrees? Convert them")
    return list(zip(*(angles[name] for name in names), strict=True))


def dihedral_analyses(
    pdb: PdbStructure, path: Path, references: DihedralReferences, label_set: str
) -> list[AnyAnalysis]:
    """One analysis of backbones and one of side chains for each residue name.

    Raises:
        DatasetError: reference points or atoms of a residue are missing; one line.
    """
    chain = chain_residues(pdb)
    by_name: dict[str, list[int]] = {}
    for number in _between_others(chain):
        by_name.setdefault(chain[number].backbone.name, []).append(number)
    analyses: list[AnyAnalysis] = []
    for name, numbers in sorted(by_name.items()):
        points = backbone_set(name)
        _check_known(points, references.backbone, BACKBONE, f"{path}: {chain[numbers[0]].residue.place}")
        analyses.append(
            DihedralOutliersAnalysis(
                measure="dihedral_outliers",
                name=f"backbone {name}",
                residues=tuple(each.backbone for each in chain),
                counted=tuple(numbers),
                reference={label_set: {points: tuple(references.backbone[points])}},
            )
        )
    for name, numbers in sorted(by_name.items()):
        if name in N_CHI:
            residues = [chain[number].residue for number in numbers]
            _check_known(name, references.side_chains, SIDE_CHAINS, f"{path}: {residues[0].place}")
            chis = tuple(_chi_atoms(residue, N_CHI[name], path) for residue in residues)
            analyses.append(
                SidechainOutliersAnalysis(
                    measure="sidechain_outliers",
                    name=f"side chain {name}",
                    residues=chis,
                    reference={label_set: tuple(references.side_chains[name])},
                )
            )
    return analyses


def chain_residues(pdb: PdbStructure) -> list[ChainResidue]:
    """The residues with a backbone, under the names of standard residues, and caps of chains."""
    by_nitrogen = {residue.n: residue for residue in pdb.backbone()}
    residues = []
    for k, residue in enumerate(pdb.residues):
        backbone = by_nitrogen.get(residue.atoms.get("N", -1))
        if backbone is not None:
            name = STANDARD_NAMES.get(backbone.name, backbone.name)
            residues.append(ChainResidue(residue, backbone.model_copy(update={"name": name})))
        elif residue.name in CAPS and 0 <= k + CAPS[residue.name] < len(pdb.residues):
            beside = by_nitrogen.get(pdb.residues[k + CAPS[residue.name]].atoms.get("N", -1))
            if beside is not None and len(residue.atoms) >= len(BACKBONE_FIELDS):
                residues.append(ChainResidue(residue, _cap(residue, beside.chain), is_cap=True))
    return residues


def _cap(residue: Residue, chain: int) -> BackboneResidue:
    """A cap in the place of a residue: of its atoms, C is in φ of the next residue, or N in ψ of the one before."""
    named = {field: residue.atoms[name] for field, name in BACKBONE_FIELDS.items() if name in residue.atoms}
    others = iter(atom for atom in residue.atoms.values() if atom not in named.values())
    return BackboneResidue(
        name=residue.name,
        chain=chain,
        **{field: named[field] if field in named else next(others) for field in BACKBONE_FIELDS},
    )


def _between_others(chain: Sequence[ChainResidue]) -> list[int]:
    """The numbers of the residues with both φ and ψ."""
    chains = [each.backbone.chain for each in chain]
    return [i for i in range(1, len(chain) - 1) if chains[i - 1] == chains[i] == chains[i + 1] and not chain[i].is_cap]


def _check_known(name: str, references: Mapping[str, object], file: str, where: str) -> None:
    if name not in references:
        raise DatasetError(f"{where}: {file} has no points of {name}: restore the published file")


def _chi_atoms(residue: Residue, n_chi: int, path: Path) -> tuple[tuple[int, int, int, int], ...]:
    """The atoms of the first χ of a residue."""
    quadruples = []
    for chi in (f"chi{i}" for i in range(1, n_chi + 1)):
        names = next((n.split() for n in DIHEDRALS[chi] if residue.atoms.keys() >= set(n.split())), None)
        if names is None:
            raise DatasetError(f"{path}: {residue.place}: has no four atoms of {chi}: name its atoms as in a PDB file")
        first, second, third, fourth = (residue.atoms[name] for name in names)
        quadruples.append((first, second, third, fourth))
    return tuple(quadruples)
