"""The quickstart datasets of crystals: all-electron equations of state that ASE carries, and measured entropies.

- wien2k-eos: V0, B0 and B0′ of elemental crystals from all-electron PBE, seven volumes within 6 %.
- wien2k-frames: single frames along the same equations of state. The energy of a frame is n E(V) of the reference's
  Birch–Murnaghan curve above its minimum (where an element's zero lies is absorbed by the shift), its stress the
  isotropic dE/dV. There are no force labels: at the sites of a cubic crystal they would say nothing.
- wien2k-compression: the volume at 5 GPa on the same curves, from the crystal at zero pressure.
- wien2k-elasticity: the bulk modulus, which of a cubic crystal is B0, by way of strains and stresses. The shear modulus
  is observed and has no reference.
- entropies: standard entropies of elements at 298.15 K, to which the electrons of a metal add about a per cent.
"""

from __future__ import annotations

import numpy as np
from ase import Atoms
from ase.build import bulk
from ase.collections import dcdft
from ase.units import GPa
from scipy.optimize import brentq

from tasks.datasets.card import Card, Crystal, Curve, CurveReference, LabelSet
from tasks.datasets.dataset import Dataset
from tasks.quickstart.dataset import ASE_LICENCE, Entries, Named, dataset_of
from tasks.simulation.birch_murnaghan import EquationOfState, energy, pressure
from tasks.structures.frames import Float
from tasks.structures.predictions import Labels

PBE, MEASURED = "PBE", "experiment"
# Cubic elements whose crystal needs no magnetic order but Ni's: fcc (the seven of EMT first), diamond, bcc.
FRAME_ELEMENTS = ("Al", "Cu", "Ag", "Au", "Si")
CURVE_ELEMENTS = (*FRAME_ELEMENTS, "Ni", "Pd", "Pt", "Ge", "Nb")
CRYSTAL = {"Si": "diamond", "Ge": "diamond", "Nb": "bcc"}
CURVE_SCALES = np.linspace(0.94, 1.06, 7)  # of the volume, as in the Delta project
FRAME_SCALES = np.linspace(0.94, 1.06, 11)
PRESSURE_GPA = 5.0
# J/(mol K) of atoms at 298.15 K and 1 bar.
ENTROPIES = {"Al": 28.30, "Cu": 33.15, "Ag": 42.55, "Si": 18.81}
SUPERCELL = {"Al": 3, "Cu": 3, "Ag": 3, "Si": 2}
WIEN2K = "K. Lejaeghere et al., Crit. Rev. Solid State Mater. Sci. 39, 1 (2014), doi:10.1080/10408436.2013.772503"
CODATA = "J. D. Cox, D. D. Wagman, V. A. Medvedev, CODATA Key Values for Thermodynamics, Hemisphere, New York 1989"


def wien2k(element: str) -> EquationOfState:
    """The all-electron equation of state of an element: v0 [Å³/atom], B0 [GPa], B0′."""
    data = dcdft.data[element]
    return EquationOfState(data["wien2k_volume"], data["wien2k_B"], data["wien2k_Bp"])


def crystal(element: str, volume_per_atom: float) -> Atoms:
    """The conventional cubic cell of an element at `volume_per_atom` [Å³]."""
    structure = CRYSTAL.get(element, "fcc")
    atoms = bulk(element, structure, a=1.0, cubic=True)
    atoms.set_cell(np.eye(3) * np.cbrt(volume_per_atom * len(atoms)), scale_atoms=True)
    return atoms


def _wien2k_card(name: str, title: str) -> Card:
    return Card(
        name=name,
        version="1",
        title=title,
        domain="Inorganic Materials",
        periodic=True,
        citation=f"{WIEN2K}; values as in ase.collections.dcdft",
        licence=ASE_LICENCE,
        public_since="2014",
        cluster_column="cluster",
        label_sets={PBE: LabelSet(theory="PBE, all electrons (WIEN2k)", dispersion=False)},
        default_label_set=PBE,
    )


def build_wien2k_eos() -> Dataset:
    """One curve an element, seven volumes within 6 % of the reference's."""
    structures: list[Named] = []
    curves = []
    for element in CURVE_ELEMENTS:
        eos, group = wien2k(element), CRYSTAL.get(element, "fcc")
        start = len(structures)
        structures += [Named(f"{element} {s:.3f}", group, crystal(element, s * eos.v0)) for s in CURVE_SCALES]
        reference = CurveReference(v0_per_atom=eos.v0, b0_gpa=eos.b0_gpa, b0_prime=eos.b0_prime)
        points = tuple(range(start, len(structures)))
        curves.append(Curve(id=element, group=group, cluster=element, structures=points, reference={PBE: reference}))
    card = _wien2k_card("wien2k-eos", "Equations of state of elemental crystals")
    return dataset_of(
        card, structures, Entries(curves=curves), clusters=[s.atoms.get_chemical_symbols()[0] for s in structures]
    )


def build_wien2k_frames() -> Dataset:
    """Frames of cubic elements at eleven volumes, with energy and isotropic stress of the reference's curve."""
    structures: list[Named] = []
    energies: list[Float] = []
    stresses: list[Float] = []
    for element in FRAME_ELEMENTS:
        eos = wien2k(element)
        volumes = FRAME_SCALES * eos.v0
        cells = [crystal(element, float(v)) for v in volumes]
        structures += [
            Named(f"{element} {s:.3f}", CRYSTAL.get(element, "fcc"), c)
            for s, c in zip(FRAME_SCALES, cells, strict=True)
        ]
        energies.append(len(cells[0]) * energy(volumes, eos))
        tension = np.zeros((len(volumes), 6))
        tension[:, :3] = -pressure(volumes, eos)[:, None]
        stresses.append(tension)
    card = _wien2k_card("wien2k-frames", "Cubic elements under compression and tension: energy and stress")
    labels = {PBE: Labels(energy=np.concatenate(energies), stress=np.concatenate(stresses))}
    clusters = [s.atoms.get_chemical_symbols()[0] for s in structures]
    return dataset_of(card, structures, clusters=clusters, labels=labels)


def primitive(element: str) -> Atoms:
    """The primitive cell of an element at the reference's volume."""
    structure = CRYSTAL.get(element, "fcc")
    atoms = bulk(element, structure, a=1.0)
    atoms.set_cell(atoms.cell * np.cbrt(wien2k(element).v0 * len(atoms) / atoms.get_volume()), scale_atoms=True)
    return atoms


def _crystals(elements: tuple[str, ...]) -> list[Named]:
    return [Named(element, CRYSTAL.get(element, "fcc"), primitive(element)) for element in elements]


def _one_each(structures: list[Named], label_set: str, references: list[dict[str, float]]) -> list[Crystal]:
    return [
        Crystal(id=s.id, group=s.group, cluster=s.id, structure=i, reference={label_set: reference})
        for i, (s, reference) in enumerate(zip(structures, references, strict=True))
    ]


def build_wien2k_compression() -> Dataset:
    """One crystal an element, pressed from zero pressure to `PRESSURE_GPA`."""
    structures, references = _crystals(FRAME_ELEMENTS), []
    for element in FRAME_ELEMENTS:
        eos = wien2k(element)

        def excess(volume: float, eos: EquationOfState = eos) -> float:
            return float(pressure(np.array([volume]), eos)[0]) - PRESSURE_GPA * GPa

        references.append({"volume_per_atom": float(brentq(excess, 0.8 * eos.v0, eos.v0, xtol=1e-12))})
    card = _wien2k_card("wien2k-compression", f"Elemental crystals at {PRESSURE_GPA:g} GPa")
    items = Entries(crystals=_one_each(structures, PBE, references))
    return dataset_of(card, structures, items, conditions={"pressure_gpa": np.full(len(structures), PRESSURE_GPA)})


def build_wien2k_elasticity() -> Dataset:
    """One crystal an element, with its bulk modulus."""
    structures = _crystals(FRAME_ELEMENTS)
    card = _wien2k_card("wien2k-elasticity", "Bulk moduli of elemental crystals by strains and stresses")
    references = [{"k_vrh_gpa": wien2k(element).b0_gpa} for element in FRAME_ELEMENTS]
    return dataset_of(card, structures, Entries(crystals=_one_each(structures, PBE, references)))


def build_entropies() -> Dataset:
    """One crystal an element, with the entropy of its primitive cell."""
    structures = _crystals(tuple(ENTROPIES))
    references = [{"entropy_j_per_mol_k": ENTROPIES[s.id] * len(s.atoms)} for s in structures]
    card = Card(
        name="entropies",
        version="1",
        title="Standard entropies of elements",
        domain="Inorganic Materials",
        periodic=True,
        citation=f"{CODATA}; structures: {WIEN2K}",
        licence=ASE_LICENCE,
        public_since="1989",
        label_sets={MEASURED: LabelSet(theory="calorimetry at 298.15 K", dispersion=True)},
        default_label_set=MEASURED,
    )
    supercells = np.array([np.eye(3, dtype=np.int64) * SUPERCELL[s.id] for s in structures])
    items = Entries(crystals=_one_each(structures, MEASURED, references))
    return dataset_of(card, structures, items, conditions={"supercell": supercells})
