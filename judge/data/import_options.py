"""The options of `judge data import`, with their help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_origin, get_type_hints

import typer

from tasks.datasets.card import DatasetError, Domain
from tasks.importing.mlipaudit.content import RunMode
from tasks.kind import ImportFormat

FILES = frozenset({"extxyz", "traj", "db", "structures", "diatomics", "matcalc"})
FILES |= {"eos", "vacancies", "vacancy-migration", "volume-scans"}
# Å. Two independent runs of ethanol at 500 K by GFN2-xTB, 2,000 frames each, come as near to each other as 0.046 Å.
WITHIN = 0.02
SEED_BITS = 63  # of made trajectories: TOML and JSON hold them, and they are too many to try


def is_folder(form: str | ImportFormat) -> bool:
    """Whether the path of a format is a folder."""
    return form.folder if isinstance(form, ImportFormat) else form not in FILES


@dataclass(frozen=True)
class ImportOptions:
    """The options; empty or None if an option was not given. `also…` are by label set."""

    name: str
    version: str
    domain: Domain | None
    label_set: str
    theory: str
    dispersion: bool
    d3: str
    title: str
    citation: str
    licence: str
    public_since: str
    units: str
    fparam: str
    multiplicity: int | None
    without: str
    keys: str
    cluster: str | None
    temperature: float | None
    mesh: float | None
    also: Mapping[str, str]
    also_theory: Mapping[str, str]
    also_dispersion: tuple[str, ...]
    also_d3: Mapping[str, str]
    also_units: Mapping[str, str]
    also_keys: Mapping[str, str]
    only: tuple[str, ...]
    frames: int | None


def options_of(given: Mapping[str, Any]) -> ImportOptions:
    """The options of a command by the names of its parameters.

    Raises:
        DatasetError: an option by label set has another form, or a label set is given twice.
    """
    values = {field.name: given[field.name] for field in fields(ImportOptions)}
    for name, kind in get_type_hints(ImportOptions).items():
        if get_origin(kind) is tuple:
            values[name] = tuple(values[name] or ())
        elif get_origin(kind) is Mapping:
            values[name] = by_label_set(f"--{name.replace('_', '-')}", values[name])
    return ImportOptions(**values)


_FORMATS = (
    "labelled frames: extxyz, traj, db (as ASE reads them), deepmd (npy, plain or mixed type); "
    "trajectories of molecules: rmd17 (its npz files); "
    "relaxed geometries and energies: relaxed-structures; "
    "energy differences: reactions, din; energy profiles: scans; reaction paths: reaction-paths; "
    "pairs of atoms: diatomics (the file of Matbench Discovery); "
    "elasticity and compression: crystals; phonons: phonopy; "
    "thermal conductivity: thermal-conductivity (the files of κ_SRME); "
    "structures alone (dynamics, timing): structures; the formats of installed kinds; "
    "equations of state: eos (energies over volumes, extxyz or csv), acwf; "
    "scans of the volume without references: volume-scans; "
    "elasticity, phonons, formation energies and forces: matcalc; "
    "vacancies of metals: vacancies, vacancy-migration; "
    "mlipaudit, ml-peg: every benchmark of MLIPAudit or ML-PEG, as their archives unpack, with cards of their own"
)
LAYOUTS = ("mlipaudit", "ml-peg")  # which make several data sets, each with a card of its own
_UNITS = (
    "of extxyz, traj, db and eos, which do not state them: ase (eV, Å, eV/Å, eV/Å³ positive in tension), or a list "
    "like energy=hartree,length=bohr,forces=hartree/bohr,stress=-kbar (minus: positive in compression)"
)
_KEYS = (
    "extxyz, traj, db: the file's own names of energy, forces, stress, charge, multiplicity, name or group, like "
    "energy=REF_energy,forces=REF_forces"
)
_CLUSTER = (
    "correlated frames are those of one composition, of one group (deepmd: of one system), "
    "of one value of a field that extxyz, traj or db has in info, like info:trajectory; "
    "or none are but copies of one structure (default)"
)
_ALSO_THEORY = "--theory of another level; tables of references need only this, as their files hold all levels"

_NEEDED = " (needed by all formats but mlipaudit and ml-peg)"

FormatArgument = Annotated[str, typer.Argument(metavar="FORMAT", help=_FORMATS)]
PathArgument = Annotated[
    Path,
    typer.Argument(help=f"a file ({', '.join(sorted(FILES))}) or a folder (others)"),
]

Name = Annotated[str, typer.Option(help=f"lower-case letters, digits and dashes{_NEEDED}")]
Version = Annotated[str, typer.Option(help=f"increase it with every change{_NEEDED}")]
DomainOption = Annotated[
    Domain | None, typer.Option(case_sensitive=False, help=f"the domain of the structures, in any case{_NEEDED}")
]
LabelSetName = Annotated[
    str, typer.Option(help="the name by which submissions declare this level of theory; none for structures")
]
Theory = Annotated[str, typer.Option(help="the level of theory in words (default: the label set's name)")]
Dispersion = Annotated[bool, typer.Option("--dispersion", help="the labels contain dispersion")]
DFTD3 = Annotated[str, typer.Option(help="the DFT-D3 in the labels: functional and damping, pbe-bj or pbe-zero")]
Title = Annotated[str, typer.Option(help="for readers (default: the name)")]
Citation = Annotated[str, typer.Option(help="the paper, with its DOI")]
Licence = Annotated[str, typer.Option(help="of the data")]
PublicSince = Annotated[str, typer.Option(help="date (2014, 2014-05 or 2014-05-01); none if the data are not public")]

Units = Annotated[str, typer.Option(help=_UNITS)]
Fparam = Annotated[str, typer.Option(help="deepmd: the columns of fparam.npy, like charge,multiplicity,other")]
Multiplicity = Annotated[int | None, typer.Option(min=1, help="2S+1 of every molecule that does not state it")]
Without = Annotated[str, typer.Option(help="labels to leave out: energy, forces, stress, separated by commas")]
Keys = Annotated[str, typer.Option(metavar="NAME=FIELD,...", help=_KEYS)]
Cluster = Annotated[str | None, typer.Option(metavar="composition|group|info:FIELD|none", help=_CLUSTER)]

Temperature = Annotated[float | None, typer.Option(min=1, help="phonopy: K of the sums (default 300)")]
Mesh = Annotated[float | None, typer.Option(min=1, help="phonopy: length of the mesh of wave vectors, Å (default 100)")]

_MODE = "mlipaudit: which systems; data sets of subsets have the mode in their names; 2025: those of the paper"
Mode = Annotated[RunMode | None, typer.Option(help=f"{_MODE} (default: standard)")]
Only = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="mlipaudit, ml-peg: this benchmark; rmd17: this molecule; repeatable"),
]
FramesOfEach = Annotated[int | None, typer.Option(min=10, help="rmd17: of each molecule, at even distances in time")]

_SAME = "labels at another level, of the same structures in the same order (eos: of the same crystals); repeatable"
Also = Annotated[list[str] | None, typer.Option(metavar="LABELSET=PATH", help=_SAME)]
AlsoTheory = Annotated[list[str] | None, typer.Option(metavar="LABELSET=WORDS", help=_ALSO_THEORY)]
AlsoDispersion = Annotated[list[str] | None, typer.Option(metavar="LABELSET", help="--dispersion of another level")]
AlsoD3 = Annotated[list[str] | None, typer.Option(metavar="LABELSET=D3", help="--d3 of another level")]
AlsoUnits = Annotated[
    list[str] | None, typer.Option(metavar="LABELSET=UNITS", help="--units of another level (default: the same)")
]
AlsoKeys = Annotated[
    list[str] | None, typer.Option(metavar="LABELSET=KEYS", help="--keys of another level (default: the same)")
]
TrustRanges = Annotated[bool, typer.Option("--trust-ranges", help="write it although some numbers look impossible")]


def by_label_set(option: str, entries: list[str] | None) -> dict[str, str]:
    """The `LABELSET=VALUE` entries of `option`, by label set.

    Raises:
        DatasetError: an entry has another form, or a label set is given twice.
    """
    values: dict[str, str] = {}
    for entry in entries or []:
        name, _, value = entry.partition("=")
        if not name or not value or name in values:
            raise DatasetError(f"{option}: {entry!r} must be LABELSET=…, each label set once")
        values[name] = value
    return values
