"""The quickstart datasets: real reference data that ASE carries, and structures from `ase.build`.

- s22: 22 non-covalent complexes, CCSD(T)/CBS interaction energies.
- dbh24: 24 barrier heights, forward and reverse, with charges and multiplicities.
- wien2k-eos: V0, B0 and B0′ of elemental crystals from all-electron PBE, seven volumes within 6 %.
- wien2k-frames: single frames along the same equations of state. The energy of a frame is n E(V) of the reference's
  Birch–Murnaghan curve above its minimum (where an element's zero lies is absorbed by the shift), its stress the
  isotropic dE/dV. There are no force labels: at the sites of a cubic crystal they would say nothing.
- nve-crystals, nve-molecules, nve-slabs and efficiency: structures alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ase import Atoms
from ase.build import add_adsorbate, bulk, fcc100, molecule
from ase.collections import dcdft
from ase.data import dbh24, s22
from ase.units import kcal, mol

from tasks.birch_murnaghan import EquationOfState, energy, pressure
from tasks.card import Card, Curve, CurveReference, Difference, Domain, LabelSet, Table, Term
from tasks.dataset import Dataset, save_dataset
from tasks.frames import Float, Frames
from tasks.predictions import Labels

CC, PBE, BEST = "CCSD(T)/CBS", "PBE", "best estimate"
BARRIERS = {
    "HAT": "heavy-atom transfer",
    "NS": "nucleophilic substitution",
    "UA": "unimolecular and association",
    "HT": "hydrogen transfer",
}
# Cubic elements whose crystal needs no magnetic order but Ni's: fcc (the seven of EMT first), diamond, bcc.
FRAME_ELEMENTS = ("Al", "Cu", "Ag", "Au", "Si")
CURVE_ELEMENTS = (*FRAME_ELEMENTS, "Ni", "Pd", "Pt", "Ge", "Nb")
CRYSTAL = {"Si": "diamond", "Ge": "diamond", "Nb": "bcc"}
# Metal, adsorbate, its height above the surface [Å], and site.
ADSORBATES = (("Cu", "CO", 1.9, "ontop"), ("Ni", "N", 1.1, "hollow"), ("Pt", "O", 1.1, "hollow"))
CURVE_SCALES = np.linspace(0.94, 1.06, 7)  # of the volume, as in the Delta project
FRAME_SCALES = np.linspace(0.94, 1.06, 11)
WIEN2K = "K. Lejaeghere et al., Crit. Rev. Solid State Mater. Sci. 39, 1 (2014), doi:10.1080/10408436.2013.772503"


class Named(NamedTuple):
    """A structure with its name and what it is reported under."""

    id: str
    group: str
    atoms: Atoms


def build_quickstart(data_root: Path) -> list[str]:
    """Writes those quickstart datasets that are not under `data_root` yet; returns the names of all, name@version.

    The same versions of ASE and numpy give the same hashes each time.
    """
    names = []
    for name, build in BUILDERS.items():
        full_name = f"{name}@1"
        if not (data_root / full_name).exists():
            save_dataset(build(), data_root)
        names.append(full_name)
    return names


def build_s22() -> Dataset:
    """S22: dimer − monomer − monomer, at the dimer's geometry."""
    structures: list[Named] = []
    items = []
    for name in s22.s22:
        dimer = s22.create_s22_system(name)
        first, _ = s22.get_number_of_dimer_atoms(name)
        group = _s22_group(str(s22.data[name]["description"]))
        start = len(structures)
        parts = (("dimer", dimer), ("A", dimer[:first]), ("B", dimer[first:]))
        structures += [Named(f"{name}/{part}", group, atoms) for part, atoms in parts]
        terms = tuple(Term(structure=start + k, coefficient=c) for k, c in enumerate((1.0, -1.0, -1.0)))
        reference = {CC: s22.get_interaction_energy_cc(name)}
        items.append(Difference(id=name, group=group, cluster=name, terms=terms, reference=reference))
    for entry in structures:
        entry.atoms.info["spin"] = 1
    card = Card(
        name="s22",
        version="1",
        title="S22: interaction energies of non-covalent complexes",
        domain="Molecules",
        periodic=False,
        citation="P. Jurečka et al., Phys. Chem. Chem. Phys. 8, 1985 (2006), doi:10.1039/B600027D; "
        "T. Takatani et al., J. Chem. Phys. 132, 144104 (2010), doi:10.1063/1.3378024; values as in ase.data.s22",
        licence="LGPL-2.1-or-later (ASE)",
        public_since="2006",
        label_sets={CC: LabelSet(theory="CCSD(T) at the complete basis set limit", dispersion=True)},
        default_label_set=CC,
    )
    return _dataset(card, structures, differences=items)


def _s22_group(description: str) -> str:
    if "h-bond" in description:
        return "hydrogen-bonded"
    return "dispersion-bonded" if "dispersion" in description else "mixed"


def build_dbh24() -> Dataset:
    """DBH24: transition state − reactants (forward) and − products (reverse)."""
    index: dict[str, int] = {}
    structures: list[Named] = []
    for name in dbh24.dbh24:
        entry: Any = dbh24.data[name]
        atoms = Atoms(entry["symbols"], entry["positions"])
        atoms.info["charge"] = round(entry.get("charge", 0.0))
        atoms.info["spin"] = round(sum(entry["magmoms"] or [0.0])) + 1
        index[name] = len(structures)
        structures.append(Named(name.removeprefix("dbh24_"), "transition state" if "tst" in name else "minimum", atoms))
    items = []
    for reaction in dbh24.dbh24_reaction_list:
        state, about = dbh24.get_dbh24_tst(reaction), str(dbh24.dbh24_reaction_list[reaction]["description"])
        ways = (
            ("forward", dbh24.get_dbh24_initial_states(reaction), dbh24.get_dbh24_Vf(state)),
            ("reverse", dbh24.get_dbh24_final_states(reaction), dbh24.get_dbh24_Vb(state)),
        )
        for way, ends, barrier in ways:
            terms = [Term(structure=index[state], coefficient=1.0)]
            terms += [Term(structure=index[end], coefficient=-1.0) for end in ends]
            items.append(
                Difference(
                    id=f"{about} {way}",
                    group=BARRIERS[about.split()[0]],
                    cluster=about,
                    terms=tuple(terms),
                    reference={BEST: barrier * kcal / mol},
                )
            )
    card = Card(
        name="dbh24",
        version="1",
        title="DBH24: diverse barrier heights, forward and reverse",
        domain="Molecules",
        periodic=False,
        citation="J. Zheng, Y. Zhao, D. G. Truhlar, J. Chem. Theory Comput. 5, 808 (2009), doi:10.1021/ct800568m; "
        "geometries: ibid. 3, 569 (2007), doi:10.1021/ct600281g; values as in ase.data.dbh24",
        licence="LGPL-2.1-or-later (ASE)",
        public_since="2007",
        label_sets={BEST: LabelSet(theory="best estimates of the electronic barrier, as published", dispersion=True)},
        default_label_set=BEST,
    )
    return _dataset(card, structures, differences=items)


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
        licence="LGPL-2.1-or-later (ASE)",
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
    return _dataset(card, structures, curves=curves, clusters=[s.atoms.get_chemical_symbols()[0] for s in structures])


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
    return _dataset(card, structures, clusters=clusters, labels=labels)


def build_crystals() -> Dataset:
    """Three crystals for dynamics."""
    ordered = bulk("Ni", cubic=True, a=3.57)
    ordered.symbols[0] = "Al"  # L1₂: the corner is Al, the faces are Ni
    entries = [
        Named("Cu", "fcc", bulk("Cu", cubic=True).repeat(2)),
        Named("Al", "fcc", bulk("Al", cubic=True).repeat(2)),
        Named("Ni3Al", "L12", ordered.repeat(2)),
    ]
    return _unlabelled("nve-crystals", "Three crystals for dynamics", "Inorganic Materials", entries)


def build_molecules() -> Dataset:
    """Three molecules for dynamics, at the geometries of the G2 set."""
    entries = [Named(name, "molecule", molecule(name)) for name in ("H2O", "CH3CH2OH", "C6H6")]
    for entry in entries:
        entry.atoms.set_initial_magnetic_moments(None)
        entry.atoms.info["spin"] = 1
    return _unlabelled("nve-molecules", "Three molecules for dynamics", "Molecules", entries)


def build_slabs() -> Dataset:
    """Three slabs with an adsorbate, for dynamics."""
    entries = []
    for metal, adsorbate, height, site in ADSORBATES:
        slab = fcc100(metal, (3, 3, 2), vacuum=6.0, periodic=True)
        # CO stands on its carbon.
        atoms = Atoms("CO", [(0, 0, 0), (0, 0, 1.15)]) if adsorbate == "CO" else adsorbate
        add_adsorbate(slab, atoms, height, site)
        slab.info.clear()
        slab.center(vacuum=6.0, axis=2)
        entries.append(Named(f"{adsorbate}/{metal}(100)", "slab", slab))
    return _unlabelled("nve-slabs", "Three adsorbate-covered slabs for dynamics", "Catalysis", entries)


def build_efficiency() -> Dataset:
    """Cells that are replicated for timing."""
    entries = [Named(element, "fcc", bulk(element, cubic=True)) for element in ("Al", "Cu", "Ni", "Pt")]
    return _unlabelled("efficiency", "Crystals for timing", "Inorganic Materials", entries)


def _unlabelled(name: str, title: str, domain: Domain, entries: Sequence[Named]) -> Dataset:
    periodic = bool(entries[0].atoms.pbc.all())
    licence = "LGPL-2.1-or-later (ASE)"
    card = Card(name=name, version="1", title=title, domain=domain, periodic=periodic, licence=licence)
    return _dataset(card, entries)


def _dataset(
    card: Card,
    entries: Sequence[Named],
    differences: Sequence[Difference] = (),
    curves: Sequence[Curve] = (),
    clusters: Sequence[str] | None = None,
    labels: dict[str, Labels] | None = None,
) -> Dataset:
    table = Table(
        id=tuple(entry.id for entry in entries),
        group=tuple(entry.group for entry in entries),
        cluster=tuple(clusters) if clusters else tuple(entry.id for entry in entries),
        differences=tuple(differences),
        curves=tuple(curves),
    )
    return Dataset(card, Frames.from_atoms([entry.atoms for entry in entries]), table, labels or {})


BUILDERS: dict[str, Callable[[], Dataset]] = {
    "s22": build_s22,
    "dbh24": build_dbh24,
    "wien2k-eos": build_wien2k_eos,
    "wien2k-frames": build_wien2k_frames,
    "nve-crystals": build_crystals,
    "nve-molecules": build_molecules,
    "nve-slabs": build_slabs,
    "efficiency": build_efficiency,
}
