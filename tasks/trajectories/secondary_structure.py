"""Secondary structure by DSSP in each frame, computed by mdtraj, which is an optional part of the package."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.structures.frames import Bool, Float
from tasks.trajectories.proteins import ProteinTopology, check_topology
from tasks.trajectories.trajectory import Trajectory

ANGSTROM_PER_NM = 10.0


def secondary_structure(trajectory: Trajectory, topology: ProteinTopology) -> NDArray[np.str_]:
    """(f, R) a code for each residue: H, B, E, G, I, T, S or a space, and "NA" where it is no amino acid.

    Raises:
        ModuleNotFoundError: mdtraj is not installed.
        ValueError: the topology is another one's, or positions are not finite.
    """
    check_topology(trajectory, topology)
    mdtraj = _mdtraj()
    positions_nm = trajectory.finite_positions() / ANGSTROM_PER_NM
    converted = mdtraj.Trajectory(positions_nm, _mdtraj_topology(mdtraj, trajectory, topology))
    return np.asarray(mdtraj.compute_dssp(converted, simplified=False), np.str_)


def matching_shares(codes: NDArray[np.str_], reference: NDArray[np.str_]) -> Float:
    """(f,) the share of residues whose code is that of the reference; residues that are "NA" in it do not count.

    Args:
        codes: (f, R).
        reference: (R,).

    Raises:
        ValueError: another number of residues, or no amino acid among them.
    """
    if codes.shape[1:] != reference.shape:
        raise ValueError(
            f"reference: {len(reference)} residues against {codes.shape[1]}: give those of the same protein"
        )
    counted: Bool = reference != "NA"
    if not counted.any():
        raise ValueError("reference: none of the residues is an amino acid: give those of a protein")
    return np.asarray((codes[:, counted] == reference[counted]).mean(axis=1))


def _mdtraj() -> ModuleType:
    """The module mdtraj, imported when it is first needed: most judges do without it."""
    try:
        import mdtraj
    except ModuleNotFoundError:
        install = "pip install 'lambench-judge[proteins]'"
        raise ModuleNotFoundError(f"secondary structure needs mdtraj, which is not installed: {install}") from None
    return mdtraj  # type: ignore[no-any-return]


def _mdtraj_topology(mdtraj: ModuleType, trajectory: Trajectory, topology: ProteinTopology) -> Any:
    """The same topology as mdtraj's `Topology`."""
    converted = mdtraj.Topology()
    chains: dict[int, Any] = {}
    residues = []
    for name, chain in zip(topology.residue_names, topology.chain_of_residue.tolist(), strict=True):
        if chain not in chains:
            chains[chain] = converted.add_chain()
        residues.append(converted.add_residue(name, chains[chain]))
    elements = [mdtraj.element.Element.getByAtomicNumber(int(number)) for number in trajectory.numbers]
    for name, element, residue in zip(topology.atom_names, elements, topology.residue_of_atom.tolist(), strict=True):
        converted.add_atom(name, element, residues[residue])
    return converted
