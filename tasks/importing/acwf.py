"""Equations of state of crystals by several codes, as the ACWF verification publishes them.

A folder has the results of codes as JSON, and the crystals as `*.xsf` or as one `*.extxyz` with names. The results are
files of one code each, whose names end in `-v<number>-<code>.json`, one or several for a code:

    {"BM_fit_data": {"Ac-X/BCC": {"min_volume": 45.94, "bulk_modulus_ev_ang3": 0.1539, "bulk_deriv": 3.404}},
     "num_atoms_in_sim_cell": {"Ac-X/BCC": 1}}

or one file with all of them, code → crystal → the same numbers and `num_atoms`. Volumes [Å³] and bulk moduli [eV/Å³]
are of the whole cell. Names of crystals are compared by their letters and digits: `Ac-X-BCC.xsf` is `Ac-X/BCC`.

The reference is the mean of the two all-electron codes, FLEUR and WIEN2k, which stand equal. Each crystal has
seven volumes, 0.94 to 1.06 of its stated one. Its group is the prototype, its cluster the rest of the name.

Source: E. Bosoni et al., Nat. Rev. Phys. 6, 45 (2024), doi:10.1038/s42254-023-00655-3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from ase import Atoms
from ase.units import GPa
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, PositiveInt, TypeAdapter

from tasks.datasets.card import Card, Curve, CurveReference, DatasetError, Positive, Table, dataset_faults
from tasks.datasets.dataset import Dataset
from tasks.importing.importers import read_atoms
from tasks.importing.labelled_import import with_periodicity
from tasks.observing.curve_observation import with_curve_numbers
from tasks.structures.frames import Frames
from tasks.structures.text_files import read_text

ALL_ELECTRON = ("fleur", "wien2k")
SCALES = np.linspace(0.94, 1.06, 7)


class Fit(BaseModel):
    """An equation of state of a cell, fitted to the energies of a code."""

    model_config = ConfigDict(extra="ignore")
    min_volume: Positive
    bulk_modulus_ev_ang3: Positive
    bulk_deriv: FiniteFloat
    num_atoms: PositiveInt | None = None


class CodeFile(BaseModel):
    """The results of one code; crystals that it has none of are null."""

    model_config = ConfigDict(extra="ignore")
    BM_fit_data: dict[str, Fit | None] = Field(min_length=1)
    num_atoms_in_sim_cell: dict[str, PositiveInt]


Codes = Mapping[str, Mapping[str, CurveReference]]
"""By code and crystal."""
_COMBINED = TypeAdapter(Annotated[dict[str, dict[str, Fit]], Field(min_length=1)])


def import_acwf(folder: Path, card: Card) -> Dataset:
    """The equations of state in `folder`, at the card's default label set.

    Raises:
        DatasetError: one line that names file, crystal and field.
    """
    if card.default_label_set is None:
        raise DatasetError(f"{folder}: the card names no label set for the references")
    codes = read_codes(folder)
    equal = [code for code in codes if any(name in code.casefold() for name in ALL_ELECTRON)]
    if len(equal) < 2:
        known = ", ".join(codes)
        raise DatasetError(f"{folder}: has no two of the all-electron codes, FLEUR and WIEN2k, but {known}")
    crystals = read_crystals(folder)
    names = [name for name in codes[equal[0]] if all(name in codes[code] for code in equal)]
    frames: list[Atoms] = []
    curves: list[Curve] = []
    for name in names:
        if spelling(name) not in crystals:
            raise DatasetError(f"{folder}: there is no structure of {name}: add its XSF file")
        atoms = crystals[spelling(name)]
        equals = {code: codes[code][name] for code in equal}
        structures = tuple(range(len(frames), len(frames) + len(SCALES)))
        cluster, _, prototype = name.partition("/")
        curves.append(
            Curve(
                id=name,
                group=prototype,
                cluster=cluster,
                structures=structures,
                reference={card.default_label_set: mean_of(list(equals.values()))},
                equals={card.default_label_set: equals},
            )
        )
        frames += [scaled(atoms, float(scale)) for scale in SCALES]
    ids = tuple(f"{curve.id} {scale:.2f}" for curve in curves for scale in SCALES)
    groups = tuple(curve.group for curve in curves for _ in SCALES)
    clusters = tuple(curve.cluster for curve in curves for _ in SCALES)
    asked = Frames.from_atoms(frames)
    table = Table(id=ids, group=groups, cluster=clusters, curves=tuple(curves))
    return with_curve_numbers(Dataset(with_periodicity(card, asked), asked, table, {}))


def read_codes(folder: Path) -> Codes:
    """The results of every code in the JSON files of `folder`.

    Raises:
        DatasetError: there is none, or one cannot be read.
    """
    codes: dict[str, dict[str, CurveReference]] = {}
    for path in sorted(folder.glob("*.json")):
        with dataset_faults(path):
            stated = json.loads(read_text(path))
            if isinstance(stated, dict) and "BM_fit_data" in stated:
                of_code = CodeFile.model_validate(stated)
                fits = {name: fit for name, fit in of_code.BM_fit_data.items() if fit is not None}
                atoms = of_code.num_atoms_in_sim_cell
                if missing := sorted(fits.keys() - atoms.keys()):
                    raise DatasetError(f"{path}: num_atoms_in_sim_cell: {missing[0]}: is missing")
                results = {_code_of(path): {name: _reference(fit, atoms[name]) for name, fit in fits.items()}}
            else:
                results = _combined(stated, path)
        for code, references in results.items():
            if twice := sorted(codes.get(code, {}).keys() & references.keys()):
                raise DatasetError(f"{path}: {code}: {twice[0]}: is in another file, too: keep one of them")
            codes.setdefault(code, {}).update(references)
    if not codes:
        raise DatasetError(f"{folder}: has no JSON file with the results of codes")
    return codes


def _code_of(path: Path) -> str:
    """The code of a file, such as `wien2k-dk_0.06` of `results-oxides-verification-PBE-v1-wien2k-dk_0.06.json`."""
    after_version = re.search(r"-v\d+-(.+)", path.stem)
    return after_version[1] if after_version else path.stem.rpartition("-")[2]


def _combined(stated: Any, path: Path) -> dict[str, dict[str, CurveReference]]:
    """The results of all codes in one file."""
    results: dict[str, dict[str, CurveReference]] = {}
    for code, fits in _COMBINED.validate_python(stated).items():
        results[code] = {}
        for name, fit in fits.items():
            if fit.num_atoms is None:
                raise DatasetError(f"{path}: {code}: {name}: num_atoms: is missing")
            results[code][name] = _reference(fit, fit.num_atoms)
    return results


def _reference(fit: Fit, n_atoms: int) -> CurveReference:
    return CurveReference(
        v0_per_atom=fit.min_volume / n_atoms, b0_gpa=fit.bulk_modulus_ev_ang3 / GPa, b0_prime=fit.bulk_deriv
    )


def mean_of(references: list[CurveReference]) -> CurveReference:
    """The mean of each parameter."""
    rows = np.array([[r.v0_per_atom, r.b0_gpa, r.b0_prime] for r in references]).mean(axis=0)
    return CurveReference(v0_per_atom=rows[0], b0_gpa=rows[1], b0_prime=rows[2])


def read_crystals(folder: Path) -> dict[str, Atoms]:
    """By `spelling` of its name, each crystal of the `*.xsf` and `*.extxyz` files in `folder`.

    Raises:
        DatasetError: there is none, one cannot be read or is not periodic, or two have one name.
    """
    named = [(path, path.stem, read_atoms(path, "xsf")[0]) for path in sorted(folder.glob("*.xsf"))]
    for path in sorted(folder.glob("*.extxyz")):
        named += [(path, str(atoms.info.get("name", "")), atoms) for atoms in read_atoms(path)]
    if not named:
        raise DatasetError(f"{folder}: has no structures: *.xsf or *.extxyz")
    crystals: dict[str, Atoms] = {}
    for path, name, atoms in named:
        if not spelling(name) or spelling(name) in crystals:
            raise DatasetError(f"{path}: {name!r}: is no name, or that of another structure")
        if not atoms.pbc.all():
            raise DatasetError(f"{path}: {name}: is not periodic in all directions")
        crystals[spelling(name)] = Atoms(atoms.numbers, atoms.positions, cell=atoms.cell, pbc=True)
    return crystals


def spelling(name: str) -> str:
    """The letters and digits of a name, in lower case."""
    return "".join(c for c in name.casefold() if c.isalnum())


def scaled(atoms: Atoms, share: float) -> Atoms:
    """The structure with `share` of its volume."""
    copy: Atoms = atoms.copy()
    copy.set_cell(copy.cell * np.cbrt(share), scale_atoms=True)
    return copy
