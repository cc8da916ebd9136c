"""The quickstart datasets of crystals: all-electron equations of state that ASE carries, and measured entropies.

- wien2k-eos: V0, B0 and B0′ of elemental crystals from all-electron PBE, seven volumes within 6 %.
- wien2k-frames: single frames along the same equations of state. The energy of a frame is n E(V) of the reference's
  Birch–Murnaghan curve above its minimum (where an element's zero lies is absorbed by the shift), its stress the
  isotropic dE/dV. There are no force labels: at the sites of a cubic crystal they would say nothing. The frames of an
  element are on one side of its minimum, at volumes chosen so that their middle says nothing of it.
- wien2k-compression: the volume at 5 GPa on the same curves, from the crystal at zero pressure.
- wien2k-elasticity: the bulk modulus, which of a cubic crystal is B0, by way of strains and stresses. The shear modulus
  is observed and has no reference.
- conductivity: the measured thermal conductivity of silicon at 300 K, which phonons carry.
- entropies: standard entropies of elements at 298.15 K, to which the electrons of a metal add about a per cent.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from ase import Atoms
from ase.build import bulk
from ase.collections import dcdft
from ase.units import GPa
from scipy.optimize import brentq

from tasks.datasets.card import Card, Conductivity, ConductivityReference, Crystal, Curve, CurveReference
from tasks.datasets.dataset import Dataset
from tasks.quickstart.dataset import VERSIONS, Named, dataset_of, stated_card
from tasks.simulation.birch_murnaghan import EquationOfState, energy, pressure
from tasks.structures.frames import Float
from tasks.structures.predictions import Labels

PBE, MEASURED = "PBE", "experiment"
# Cubic elements whose crystal needs no magnetic order but Ni's: fcc (the seven of EMT first), diamond, bcc.
FRAME_ELEMENTS = ("Al", "Cu", "Ag", "Au", "Si")
CURVE_ELEMENTS = (*FRAME_ELEMENTS, "Ni", "Pd", "Pt", "Ge", "Nb")
CRYSTAL = {"Si": "diamond", "Ge": "diamond", "Nb": "bcc"}
CURVE_SCALES = np.linspace(0.94, 1.06, 7)  # of the volume, as in the Delta project
# Of the frames of an element, chosen and not drawn: the distances of the nearest and of the farthest from the minimum,
# as shares of its volume, and the power with which they grow.
N_FRAMES = 11
FRAME_DRAWS = {
    "Al": (0.047, 0.126, 2.1),
    "Cu": (-0.055, -0.139, 2.4),
    "Ag": (-0.041, -0.117, 1.9),
    "Au": (0.058, 0.143, 2.2),
    "Si": (-0.050, -0.122, 2.3),
}
PRESSURE_GPA = 5.0
# J/(mol K) of atoms at 298.15 K and 1 bar.
ENTROPIES = {"Al": 28.30, "Cu": 33.15, "Ag": 42.55, "Si": 18.81}
SILICON_KAPPA, SILICON_MESH = 148.0, 9  # W/m/K
FACE_CENTRED = np.array([[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
SUPERCELL = {"Al": 3, "Cu": 3, "Ag": 3, "Si": 2}


def wien2k(element: str) -> EquationOfState:
    """The all-electron equation of state of an element: v0 [Å³/atom], B0 [GPa], B0′."""
    data = dcdft.data[element]
    return EquationOfState(data["wien2k_volume"], data["wien2k_B"], data["wien2k_Bp"])


def lattice(element: str) -> str:
    """The crystal structure of an element, as ASE names it."""
    return CRYSTAL.get(element, "fcc")


def crystal(element: str, volume_per_atom: float, cubic: bool = True) -> Atoms:
    """The conventional cubic cell of an element at `volume_per_atom` [Å³], or its primitive cell."""
    atoms = bulk(element, lattice(element), a=1.0, cubic=cubic)
    atoms.set_cell(atoms.cell * np.cbrt(volume_per_atom * len(atoms) / atoms.get_volume()), scale_atoms=True)
    return atoms


def _wien2k_card(name: str, title: str) -> Card:
    version = VERSIONS.get(name, "1")
    return stated_card("wien2k").model_copy(update={"name": name, "version": version, "title": title})


def build_wien2k_eos() -> Dataset:
    """One curve an element, seven volumes within 6 % of the reference's."""
    structures: list[Named] = []
    curves = []
    for element in CURVE_ELEMENTS:
        eos, group = wien2k(element), lattice(element)
        start = len(structures)
        structures += [Named(f"{element} {s:.3f}", group, crystal(element, s * eos.v0), element) for s in CURVE_SCALES]
        reference = CurveReference(v0_per_atom=eos.v0, b0_gpa=eos.b0_gpa, b0_prime=eos.b0_prime)
        points = tuple(range(start, len(structures)))
        curves.append(Curve(id=element, group=group, cluster=element, structures=points, reference={PBE: reference}))
    return dataset_of(_wien2k_card("wien2k-eos", "Equations of state of elemental crystals"), structures, curves=curves)


def frame_shares(element: str) -> Float:
    """(11,) the volumes of the frames of an element, as shares of that of its minimum."""
    nearest, farthest, growth = FRAME_DRAWS[element]
    return np.asarray(1 + nearest + (farthest - nearest) * np.linspace(0.0, 1.0, N_FRAMES) ** growth)


def build_wien2k_frames() -> Dataset:
    """Frames of cubic elements at eleven volumes, with energy and isotropic stress of the reference's curve."""
    structures: list[Named] = []
    energies: list[Float] = []
    stresses: list[Float] = []
    for element in FRAME_ELEMENTS:
        eos, shares = wien2k(element), frame_shares(element)
        volumes = shares * eos.v0
        for share, volume in zip(shares, volumes, strict=True):
            cell = crystal(element, float(volume))
            structures.append(Named(f"{element} {share:.4f}", lattice(element), cell, element))
        energies.append(len(structures[-1].atoms) * energy(volumes, eos))
        tension = np.zeros((len(volumes), 6))
        tension[:, :3] = -pressure(volumes, eos)[:, None]
        stresses.append(tension)
    card = _wien2k_card("wien2k-frames", "Cubic elements under compression and tension: energy and stress")
    labels = {PBE: Labels(energy=np.concatenate(energies), stress=np.concatenate(stresses))}
    return dataset_of(card, structures, labels=labels)


def _primitive_cells(elements: Iterable[str]) -> list[Named]:
    """The primitive cells at the reference's volumes."""
    return [Named(element, lattice(element), crystal(element, wien2k(element).v0, cubic=False)) for element in elements]


def _one_each(structures: list[Named], label_set: str, references: list[dict[str, float]]) -> list[Crystal]:
    return [
        Crystal(id=s.id, group=s.group, cluster=s.id, structure=i, reference={label_set: reference})
        for i, (s, reference) in enumerate(zip(structures, references, strict=True))
    ]


def build_wien2k_compression() -> Dataset:
    """One crystal an element, pressed from zero pressure to `PRESSURE_GPA`."""
    structures, references = _primitive_cells(FRAME_ELEMENTS), []
    for element in FRAME_ELEMENTS:
        eos = wien2k(element)

        def excess(volume: float, eos: EquationOfState = eos) -> float:
            return float(pressure(np.array([volume]), eos)[0]) - PRESSURE_GPA * GPa

        references.append({"volume_per_atom": float(brentq(excess, 0.8 * eos.v0, eos.v0, xtol=1e-12))})
    card = _wien2k_card("wien2k-compression", f"Elemental crystals at {PRESSURE_GPA:g} GPa")
    conditions = {"pressure_gpa": np.full(len(structures), PRESSURE_GPA)}
    return dataset_of(card, structures, crystals=_one_each(structures, PBE, references), conditions=conditions)


def build_wien2k_elasticity() -> Dataset:
    """One crystal an element, with its bulk modulus."""
    structures = _primitive_cells(FRAME_ELEMENTS)
    card = _wien2k_card("wien2k-elasticity", "Bulk moduli of elemental crystals by strains and stresses")
    references = [{"k_vrh_gpa": wien2k(element).b0_gpa} for element in FRAME_ELEMENTS]
    return dataset_of(card, structures, crystals=_one_each(structures, PBE, references))


def build_entropies() -> Dataset:
    """One crystal an element, with the entropy of its primitive cell."""
    structures = _primitive_cells(ENTROPIES)
    references = [{"entropy_j_per_mol_k": ENTROPIES[s.id] * len(s.atoms)} for s in structures]
    supercells = np.array([np.eye(3, dtype=np.int64) * SUPERCELL[s.id] for s in structures])
    crystals = _one_each(structures, MEASURED, references)
    return dataset_of(stated_card("entropies"), structures, crystals=crystals, conditions={"supercell": supercells})


def build_conductivity() -> Dataset:
    """Silicon, in small supercells and on a coarse mesh."""
    item = Conductivity(id="Si", structure=0, reference={MEASURED: ConductivityReference(kappa=SILICON_KAPPA)})
    double = 2 * np.eye(3, dtype=np.int64)[None]
    conditions = {
        "supercell": double,
        "third_order_supercell": double,
        "primitive": FACE_CENTRED[None],
        "q_mesh": np.full((1, 3), SILICON_MESH),
    }
    silicon = [Named("Si", "diamond", crystal("Si", wien2k("Si").v0))]
    return dataset_of(stated_card("conductivity"), silicon, conditions=conditions, conductivities=[item])
