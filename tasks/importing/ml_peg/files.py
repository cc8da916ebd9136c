"""Reading the files of ML-PEG's benchmarks: structures, tables, charges, and references that are in its program."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.units import Bohr
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from tasks.datasets.card import DatasetError, dataset_faults
from tasks.importing.importers import read_atoms
from tasks.importing.reading.stated_states import stated_charge, stated_multiplicity
from tasks.structures.text_files import read_text
from tasks.structures.units import ENERGY_UNITS, Unit

REFERENCES = "references.json"
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


class StatedReferences(BaseModel):
    """References that ML-PEG has in its program, not in its archives: a maintainer writes them down.

    Args:
        unit: of the references.
        references: by item.
        charges: of structures that have one, by item.
        multiplicities: 2S+1, by item.
    """

    model_config = ConfigDict(extra="forbid")
    unit: Unit
    references: dict[str, FiniteFloat] = Field(min_length=1)
    charges: dict[str, int] = Field(default_factory=dict)
    multiplicities: dict[str, int] = Field(default_factory=dict)


def stated_references(folder: Path) -> StatedReferences:
    """The file `references.json` of a benchmark.

    Raises:
        DatasetError: it is not there, or has another form.
    """
    path = folder / REFERENCES
    if not path.is_file():
        raise DatasetError(
            f"{path}: is not there: the archive has no references, ML-PEG's program has them: "
            'write them as {"unit": "kcal/mol", "references": {"ITEM": NUMBER}}'
        )
    with dataset_faults(path):
        return StatedReferences.model_validate_json(read_text(path))


def atoms_of(path: Path, format: str | None = None) -> Atoms:
    """The first structure of a file.

    Raises:
        DatasetError: it cannot be read.
    """
    return read_atoms(path, format)[0]


def only(folder: Path, pattern: str) -> Path:
    """The one file of a folder that fits.

    Raises:
        DatasetError: there is none, or there are several.
    """
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise DatasetError(f"{folder}: {pattern}: has {len(found)} files, not one")
    return found[0]


def inside(folder: Path, *names: str) -> Path:
    """The first of the folders `names` that is in `folder`; `folder` itself if none is."""
    return next((folder / name for name in names if (folder / name).is_dir()), folder)


def entered(folder: Path) -> Path:
    """The folder, or the one inside it if it has nothing else: archives unpack to either."""
    found = [path for path in folder.iterdir() if not path.name.startswith((".", "__MACOSX"))]
    return found[0] if len(found) == 1 and found[0].is_dir() else folder


def lines_of(path: Path, skip: int = 0) -> list[str]:
    """The lines of a text that are not empty, after the first `skip`.

    Raises:
        DatasetError: it cannot be read.
    """
    with dataset_faults(path):
        return [line for line in path.read_text(encoding="utf-8", errors="replace").splitlines()[skip:] if line.strip()]


def number_in(text: str, where: object) -> float:
    """The number that a text is.

    Raises:
        DatasetError: it is none; the line begins with `where`.
    """
    try:
        return float(text)
    except ValueError:
        raise DatasetError(f"{where}: {text.strip()!r} is no number") from None


def number_of(path: Path) -> float:
    """The last number in a file.

    Raises:
        DatasetError: there is none.
    """
    found = NUMBER.findall(" ".join(lines_of(path)))
    if not found:
        raise DatasetError(f"{path}: has no number")
    return float(found[-1])


def column_of(path: Path, length: int) -> list[float]:
    """The numbers of a file that has one a line, `length` of them.

    Raises:
        DatasetError: there are more or fewer, or one is no number.
    """
    numbers = [number_in(line, path) for line in lines_of(path)]
    if len(numbers) != length:
        raise DatasetError(f"{path}: has {len(numbers)} numbers for {length} structures")
    return numbers


def charge_of(folder: Path) -> int:
    """The charge in the file `.CHRG` or `CHRG` of a folder; 0 without one."""
    for name in (".CHRG", "CHRG"):
        if (folder / name).is_file():
            return stated_charge(number_of(folder / name), folder / name)
    return 0


def multiplicity_of(folder: Path) -> int | None:
    """2S+1 from the number of unpaired electrons in the file `.UHF` of a folder; None without one."""
    path = folder / ".UHF"
    return stated_multiplicity(number_of(path) + 1, path) if path.is_file() else None


def sheet(path: Path, name: str, header: int) -> list[dict[str, Any]]:
    """The rows below the row `header`, counted from 1, of a sheet of a workbook: values by head, and by `#column`.

    Raises:
        DatasetError: the file cannot be read, there is no such sheet, or openpyxl is not installed.
    """
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise DatasetError(f"{path}: needs openpyxl: install lambench-judge[workbooks]") from None
    with dataset_faults(path):
        try:
            book = load_workbook(path, read_only=True, data_only=True)
        except (KeyError, OSError) as error:  # not a workbook
            raise ValueError(f"is no workbook: {error}") from None
        if name not in book.sheetnames:
            raise ValueError(f"has no sheet {name!r}, but {', '.join(book.sheetnames)}")
        rows = [list(row) for row in book[name].iter_rows(values_only=True)]
    heads = [str(head or "").strip() for head in rows[header - 1]] if len(rows) >= header else []
    tables = []
    for row in rows[header:]:
        if any(value is not None for value in row):
            by_place = {f"#{i}": value for i, value in enumerate(row, 1)}
            tables.append({**dict(zip(heads, row, strict=False)), **by_place})
    return tables


def csv_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table with heads, without the spaces around heads and values.

    Raises:
        DatasetError: it cannot be read.
    """
    with dataset_faults(path):
        text = read_text(path)
    rows = csv.DictReader(text.splitlines())
    return [{str(k).strip(): str(v).strip() for k, v in row.items()} for row in rows]


def cell(row: Mapping[str, Any], head: str, where: object) -> Any:
    """A cell of a row.

    Raises:
        DatasetError: there is no such column, or it is empty; the line begins with `where`.
    """
    value = row.get(head)
    if value is None or value == "":
        raise DatasetError(f"{where}: column {head!r}: is missing or empty")
    return value


def json_of(path: Path) -> Any:
    """The content of a JSON file.

    Raises:
        DatasetError: it cannot be read.
    """
    with dataset_faults(path):
        return json.loads(read_text(path))


def comment_of(path: Path) -> str:
    """The second line of an XYZ file."""
    with dataset_faults(path):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return lines[1] if len(lines) > 1 else ""


def charge_and_multiplicity(path: Path) -> tuple[int, int]:
    """Charge and 2S+1, the two numbers of the second line of an XYZ file.

    Raises:
        DatasetError: there are no two.
    """
    found = re.findall(r"[-+]?\d+", comment_of(path))
    if len(found) < 2:
        raise DatasetError(f"{path}: line 2: must state charge and multiplicity")
    return stated_charge(int(found[0]), path), stated_multiplicity(int(found[1]), path)


def in_bohr(symbols: Sequence[str], positions: Sequence[Sequence[float]]) -> Atoms:
    """A molecule whose positions are in Bohr."""
    return Atoms(list(symbols), np.array(positions, np.float64) * Bohr)


def kcal(value: float, unit: Unit) -> float:
    """`value` of `unit` in kcal/mol."""
    return value * ENERGY_UNITS[unit] / ENERGY_UNITS["kcal/mol"]
