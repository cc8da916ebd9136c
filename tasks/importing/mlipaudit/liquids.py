"""Boxes of liquids with measured g(r) and densities: water, tetrachloromethane, methanol and acetonitrile.

In the mode 2025 liquids have no densities: their volume is constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from ase import Atoms
from ase.symbols import Symbols

from tasks.datasets.analysis import CurveLabel
from tasks.datasets.card import DatasetError, dataset_faults
from tasks.datasets.pair_analyses import FirstPeakAnalysis, RadialDistributionRmseAnalysis
from tasks.datasets.simulated_systems import AnyAnalysis, DensityAnalysis, SimulatedSystem
from tasks.importing.mlipaudit.content import BenchmarkContent, PublishedStructure, label_set_of
from tasks.importing.mlipaudit.layout import BenchmarkFiles
from tasks.importing.pdb_files import read_pdb
from tasks.simulation.molecules import check_molecules, molecules_of, whole_molecules
from tasks.structures.frames import Frames, Int

EXPERIMENT = "experimental_reference.npz"
# By force field, the file with its g(r), which MLIPAudit's app draws; the archives need not have it.
FORCE_FIELDS: Mapping[str, str] = {"TIP3P": "tip3p_500ps.npz", "TIP4P": "tip4p_500ps.npz"}
BIN_WIDTH = 0.01  # Å
# The share of the frames at the beginning that densities leave out.
SKIPPED = 0.2
COMPARED = (2.5, 10.0)  # Å
FARTHEST_PEAK = 20.0  # Å
# Where a measured g(r) between the oxygen atoms of water is highest: at 2.80 Å.
NEAREST_OXYGEN = (2.4, 3.2)


class Liquid(NamedTuple):
    """A liquid, with the measured values that MLIPAudit 0.1.8 states.

    Args:
        file: name of its files, before `_eq.pdb` and `_molecule_indices.npy`.
        formula: of a molecule, in Hill's order.
        element: of the pairs of its g(r).
        molar_mass: [u].
        density: [g/cm³].
        peak: [Å] where g(r) is highest, between `above` and `up_to`.
    """

    id: str
    file: str
    formula: str
    element: str
    molar_mass: float
    density: float
    peak: float
    above: float = 0.0
    up_to: float = FARTHEST_PEAK

    @property
    def pdb(self) -> str:
        """The name of its PDB file."""
        return f"{self.file}_eq.pdb"


WATER = Liquid("water", "water_box_n500", "H2O", "O", 18.01528, 0.997773, 2.80)
SOLVENTS = (
    Liquid("CCl4", "CCl4", "CCl4", "C", 153.823, 1.594, 5.9),
    Liquid("methanol", "methanol", "CH4O", "O", 32.042, 0.792, 2.8),
    Liquid("acetonitrile", "acetonitrile", "C2H3N", "N", 41.053, 0.787, 4.0, 3.5, 4.5),
)


def water_radial_distribution(files: BenchmarkFiles) -> BenchmarkContent:
    """Water, with the measured g(r) of its oxygen atoms, and those of force fields where their files are."""
    paths = files.paths(WATER.pdb, EXPERIMENT)
    others = {name: files.find(file) for name, file in FORCE_FIELDS.items()}
    also = {name: curve_of(path) for name, path in others.items() if path is not None}
    return _boxes("water_radial_distribution", files, [WATER], measured_curve(paths[EXPERIMENT]), also)


def solvent_radial_distribution(files: BenchmarkFiles) -> BenchmarkContent:
    """Three solvents, with the first peaks of their g(r); tetrachloromethane alone in the modes fast and dev."""
    liquids = SOLVENTS[:1] if files.mode in ("fast", "dev") else SOLVENTS
    files.paths(*(liquid.pdb for liquid in liquids))
    return _boxes("solvent_radial_distribution", files, liquids)


def measured_curve(path: Path) -> CurveLabel:
    """The measured g(r) of the oxygen atoms of water.

    Raises:
        DatasetError: there is no such curve, or r is not in Å; one line.
    """
    return curve_of(path, whole=True)


def curve_of(path: Path, whole: bool = False) -> CurveLabel:
    """A g(r) of the oxygen atoms of water, up to where it is compared, or whole.

    Raises:
        DatasetError: there is no such curve, or r is not in Å; one line.
    """
    with dataset_faults(path), np.load(path, allow_pickle=False) as arrays:
        for name in ("r_OO", "g_OO"):
            if name not in arrays:
                raise DatasetError(f"{path}: {name}: is missing: restore the published file")
        r, g = (np.asarray(arrays[name], np.float64) for name in ("r_OO", "g_OO"))
    if not whole:
        r, g = r[r <= COMPARED[1]], g[r <= COMPARED[1]]
    with dataset_faults(f"{path}: r_OO, g_OO"):
        curve = CurveLabel(x=tuple(r.tolist()), y=tuple(g.tolist()))
    peak, (low, high) = float(r[np.argmax(g)]), NEAREST_OXYGEN
    if not low < peak < high:
        raise DatasetError(
            f"{path}: r_OO: g(r) is highest at {peak:.3g}, not between {low:g} and {high:g} Å: nm taken for Å? "
            "Convert it"
        )
    return curve


def read_box(path: Path) -> Atoms:
    """The structure of a PDB file, which has a cell.

    Raises:
        DatasetError: one line that names the file.
    """
    atoms = read_pdb(path).atoms
    if not atoms.pbc.all():
        raise DatasetError(f"{path}: CRYST1: is missing, which states the box of a liquid: restore the published file")
    return atoms


def _boxes(
    card: str,
    files: BenchmarkFiles,
    liquids: Sequence[Liquid],
    curve: CurveLabel | None = None,
    also: Mapping[str, CurveLabel] = MappingProxyType({}),
) -> BenchmarkContent:
    structures, systems, molecules, n_molecules = [], [], list[Int](), 0
    for index, liquid in enumerate(liquids):
        atoms = read_box(files.path(liquid.pdb))
        atoms.info = {"charge": 0, "spin": 1}
        frames = Frames.from_atoms([atoms])
        numbers = _molecules(files, liquid, frames)
        atoms.positions = whole_molecules(frames, numbers).positions
        structures.append(PublishedStructure(liquid.id, atoms))
        analyses = _analyses(label_set_of(card), liquid, atoms, curve, also)
        if files.mode != "2025":
            analyses += (_density(label_set_of(card), liquid),)
        systems.append(SimulatedSystem(id=liquid.id, cluster=liquid.id, structure=index, analyses=analyses))
        molecules.append(numbers + n_molecules)
        n_molecules += int(numbers.max()) + 1
    return BenchmarkContent(card, structures, {"systems": systems}, {"molecule": np.concatenate(molecules)})


def _molecules(files: BenchmarkFiles, liquid: Liquid, frames: Frames) -> Int:
    """(N,) the number of each atom's molecule, as the file states it, or by bonds without one.

    Raises:
        DatasetError: they are no molecules of the liquid; one line that names the file.
    """
    path = files.find(f"{liquid.file}_molecule_indices.npy")
    if path is None:
        path = files.path(liquid.pdb)
        with dataset_faults(path):
            numbers = molecules_of(frames)
    else:
        with dataset_faults(path):
            stated = np.load(path, allow_pickle=False)
            if stated.shape != frames.numbers.shape or stated.dtype.kind not in "iu":
                raise DatasetError(
                    f"{path}: has shape {stated.shape} of {stated.dtype}, {liquid.pdb} has {len(frames.numbers)} "
                    "atoms: state one whole number of each atom"
                )
            check_molecules(frames, stated)
            numbers = np.unique(stated, return_inverse=True)[1].reshape(-1).astype(np.int64)
    order = np.argsort(numbers, kind="stable")
    for atoms in np.split(order, np.cumsum(np.bincount(numbers))[:-1]):
        formula = str(Symbols(frames.numbers[atoms]).get_chemical_formula())
        if formula != liquid.formula:
            raise DatasetError(
                f"{path}: the molecule of atom {atoms[0]} is {formula}, not {liquid.formula}: correct the file, "
                "or the order of its atoms"
            )
    return numbers


def _analyses(
    label_set: str, liquid: Liquid, atoms: Atoms, curve: CurveLabel | None, also: Mapping[str, CurveLabel]
) -> tuple[AnyAnalysis, ...]:
    pairs = {
        "first": tuple(np.flatnonzero(atoms.symbols == liquid.element).tolist()),
        "bin_width": BIN_WIDTH,
        "centred": True,
    }
    # Beyond half of the box there are fewer neighbours than in the bulk, and no peak.
    half = float(np.floor(atoms.cell.lengths().min() / 2 / BIN_WIDTH)) * BIN_WIDTH
    peak = FirstPeakAnalysis(
        measure="first_peak",
        above=liquid.above,
        up_to=min(liquid.up_to, half),
        reference={label_set: liquid.peak},
        **pairs,
    )
    if curve is None:
        return (peak,)
    low, high = COMPARED
    rdf = RadialDistributionRmseAnalysis(
        measure="rdf_rmse", name="rdf", above=low, up_to=high, reference={label_set: curve}, also=dict(also), **pairs
    )
    return rdf, peak


def _density(label_set: str, liquid: Liquid) -> DensityAnalysis:
    return DensityAnalysis(
        measure="density",
        skip_share=SKIPPED,
        mass_per_atom=liquid.molar_mass / len(Symbols.fromsymbols(liquid.formula)),
        reference={label_set: liquid.density},
    )
