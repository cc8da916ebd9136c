"""Extended XYZ in its plain form: many frames at once, with the same numbers as ASE's reader.

A plain frame has a comment line of `key=value`, `key="some values"` and bare keys, and finite numbers. All else raises
`NotPlain`, and the caller gives it to ASE: escapes, brackets, JSON, constraints (`move_mask`), rows with more columns
than `Properties` states, and whatever is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
from ase.calculators.calculator import all_properties

from tasks.importing.reading.frame_fields import FrameFields
from tasks.importing.reading.stated_states import MAX_CHARGE, MAX_MULTIPLICITY
from tasks.importing.reading.stress_matrices import asymmetry, voigt_stress
from tasks.importing.reading.text_frames import DEFAULT_PROPERTIES, TextFrame, number_of
from tasks.structures.frames import MOMENTS, Bool, Float, Int

_KEY = r"[A-Za-z_][A-Za-z0-9_.:+/-]*+"
_COMMENT = re.compile(rf'\s*+(?:{_KEY}(?:=(?:"[^"\\]++"|[^\s"\'{{}}\[\]\\=]++))?+(?:\s++|\Z))*+')
_PAIR = re.compile(rf'({_KEY})(?:=(?:"([^"\\]++)"|([^\s"]++)))?+(?:\s++|\Z)')
_PROPERTIES = re.compile(r"(?:^|:)([A-Za-z_][A-Za-z0-9_]*):([RISL]):([1-9][0-9]?)(?=:|\Z)")
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NUMBERS = re.compile(rf"\s*{_NUMBER}(?:\s+{_NUMBER})*\s*")
_WORDS = re.compile(r"[^\s,]+")
_TRUTH = {
    "T": True,
    "F": False,
    "true": True,
    "false": False,
    "True": True,
    "False": False,
    "TRUE": True,
    "FALSE": False,
}
# Names of columns in ASE's arrays.
_ASE_NAMES = {"pos": "positions", "Z": "numbers", "charge": "charges", "species": "symbols"}
# Columns that ASE gives to a calculator.
_PER_ATOM = frozenset({"forces", "energies", "stresses", "charges", "magmoms"})
# Fields of nine numbers, and of one.
_MATRICES = ("Lattice", "virial", "stress")
_SCALARS = ("energy", "free_energy", "charge", "multiplicity", "spin")
_BOTH = {"spin", "multiplicity"}
_NOT_FIELDS = frozenset({"Lattice", "Properties", "pbc"})
_LARGEST_INT = 2**31


class NotPlain(ValueError):
    """A text that only ASE's reader understands, or that is wrong."""


class Comment(NamedTuple):
    """A comment line: its keys, and their values as they are written; a key without a value has `T`."""

    keys: tuple[str, ...]
    values: tuple[str, ...]


class XyzColumn(NamedTuple):
    """The place of an array in the rows of atoms.

    Args:
        kind: R, I, S or L, as extended XYZ has it.
    """

    kind: str
    first: int
    width: int


class PlainFrames(NamedTuple):
    """f frames of N atoms, in the units of their file.

    Args:
        n_atoms, numbers, positions, cell, pbc, charge, multiplicity: as those of `Frames`.
        initial_magmoms: as those of `Frames`; None without such a column.
        energy, forces, stress: as those of `Labels`.
        stress_asymmetry: (f,) of the stress that is stated; 0 without one.
        free_energy: (f,) as that of a calculator.
        sum_of_energies: (f,) of the atoms' own energies.
        has_stresses: whether the atoms have stresses.
        n_other_spins: frames in which `spin` is not `multiplicity`.
        fields: the names of all fields and columns.
        values: of the comment lines by key as they are written, for keys that are wanted and that these frames have.
        numeric: by name of a field or column, the number of frames in which it has numbers.
    """

    n_atoms: Int
    numbers: Int
    positions: Float
    cell: Float
    pbc: Bool
    charge: Int
    multiplicity: Int
    initial_magmoms: Float | None
    energy: Float | None
    forces: Float | None
    stress: Float | None
    stress_asymmetry: Float
    free_energy: Float | None
    sum_of_energies: Float | None
    has_stresses: bool
    n_other_spins: int
    fields: frozenset[str]
    values: Mapping[str, Sequence[str]]
    numeric: Mapping[str, int]


def plain_comment(line: str) -> Comment:
    """Keys and values of a comment line.

    Raises:
        NotPlain: it has another form, or a key twice, or is no UTF-8.
    """
    if _COMMENT.fullmatch(line) is None or not (line.isascii() or _is_utf8(line)):
        raise NotPlain(line)
    pairs = _PAIR.findall(line)
    keys = tuple(pair[0] for pair in pairs)
    if len(set(keys)) < len(keys):
        raise NotPlain(line)
    return Comment(keys, tuple(quoted or bare or "T" for _, quoted, bare in pairs))


def _is_utf8(line: str) -> bool:
    try:
        line.encode()
    except UnicodeEncodeError:
        return False
    return True


def renamed(comment: Comment, fields: FrameFields) -> Comment:
    """The comment line with its keys and columns under the names under which they are read."""
    if not fields.changes_names:
        return comment
    values = dict(zip(*comment, strict=True))
    if "Properties" in values:
        values["Properties"] = _renamed_columns(values["Properties"], fields)
    keys = tuple(map(fields.name_for, comment.keys))
    if len(set(keys)) < len(keys):
        raise NotPlain("two fields of one name")
    return Comment(keys, tuple(values.values()))


def _renamed_columns(properties: str, fields: FrameFields) -> str:
    words = properties.split(":")
    return ":".join([fields.name_for(word) if i % 3 == 0 else word for i, word in enumerate(words)])


def form_of(comment: Comment) -> tuple[str, ...]:
    """What frames have in common that `plain_frames` reads together: keys and columns."""
    return (*comment.keys, dict(zip(*comment, strict=True)).get("Properties", ""))


def plain_frames(frames: Sequence[TextFrame], comments: Sequence[Comment], wanted: Collection[str]) -> PlainFrames:
    """The numbers of frames of one form.

    Args:
        wanted: keys whose values are needed.

    Raises:
        NotPlain: one of them is not plain.
    """
    fields = dict(zip(comments[0].keys, zip(*(comment.values for comment in comments), strict=True), strict=True))
    columns = columns_of(fields["Properties"][0] if "Properties" in fields else DEFAULT_PROPERTIES)
    if fields.keys() & (columns.keys() | {MOMENTS}):
        raise NotPlain("a field and a column have one name")
    atoms = _read_columns([row for frame in frames for row in frame.rows], columns)
    n = len(frames)
    numbers = {key: _table(fields[key], 9) for key in _MATRICES if key in fields}
    numbers |= {key: _table(fields[key], 1) for key in _SCALARS if key in fields}
    numeric = dict.fromkeys((name for name, column in columns.items() if column.kind in "RI"), n)
    for key in fields.keys() - _NOT_FIELDS:
        numeric[key] = n if key in numbers else _count_numeric(key, fields[key])
        if key in all_properties and numeric[key] < n:
            raise NotPlain(f"{key} without a number")
    lattice, stress, energies = numbers.get("Lattice"), numbers.get("stress"), atoms.get("energies")
    pbc = _periodic(fields["pbc"]) if "pbc" in fields else np.full((n, 3), lattice is not None)
    if stress is not None and not pbc.all():
        raise NotPlain("a stress without a volume")
    multiplicity = numbers.get("multiplicity", numbers.get("spin"))
    n_atoms = np.array([frame.n_atoms for frame in frames], np.int64)
    first_atoms = np.cumsum(n_atoms) - n_atoms
    return PlainFrames(
        n_atoms=n_atoms,
        numbers=atoms["numbers"].astype(np.int64),
        positions=atoms["positions"],
        cell=np.zeros((n, 3, 3)) if lattice is None else lattice.reshape(n, 3, 3),
        pbc=pbc,
        charge=_states(numbers.get("charge"), n, -MAX_CHARGE, MAX_CHARGE),
        multiplicity=_states(multiplicity, n, 0, MAX_MULTIPLICITY),
        initial_magmoms=atoms[MOMENTS][:, 0] if MOMENTS in atoms else None,
        energy=numbers["energy"][:, 0] if "energy" in numbers else None,
        forces=atoms.get("forces"),
        stress=None if stress is None else voigt_stress(stress),
        stress_asymmetry=np.zeros(n) if stress is None else asymmetry(stress),
        free_energy=numbers["free_energy"][:, 0] if "free_energy" in numbers else None,
        sum_of_energies=None if energies is None else np.add.reduceat(energies.sum(axis=1), first_atoms),
        has_stresses="stresses" in atoms,
        n_other_spins=int((numbers["spin"] != numbers["multiplicity"]).sum()) if numbers.keys() >= _BOTH else 0,
        fields=frozenset(fields) | columns.keys(),
        values={key: fields[key] for key in wanted if key in fields},
        numeric={name: count for name, count in numeric.items() if count},
    )


@lru_cache(maxsize=256)
def columns_of(properties: str) -> Mapping[str, XyzColumn]:
    """The columns of a `Properties` string, by ASE's name.

    Raises:
        NotPlain: it has another form, a name twice, or a column that ASE gives another meaning.
    """
    stated = _PROPERTIES.findall(properties)
    if ":".join(":".join(each) for each in stated) != properties:
        raise NotPlain(properties)
    columns: dict[str, XyzColumn] = {}
    first = 0
    for name, kind, width in stated:
        ase_name = _ASE_NAMES.get(name, name)
        if ase_name in columns or ase_name == "move_mask" or (ase_name in all_properties and ase_name not in _PER_ATOM):
            raise NotPlain(properties)
        columns[ase_name] = XyzColumn(kind, first, int(width))
        first += int(width)
    of_ase = [f"{name}{i}" if int(width) > 1 else name for name, _, width in stated for i in range(int(width))]
    vectors = [columns.get(name) for name in ("positions", "forces")]
    scalars = {"numbers": "I", "symbols": "S", "initial_charges": "R", MOMENTS: "R"}
    if (
        vectors[0] is None
        or not ({"numbers", "symbols"} & columns.keys())
        or len(set(of_ase)) < len(of_ase)
        or any(each is not None and (each.kind, each.width) != ("R", 3) for each in vectors)
        or any(
            (columns[name].kind, columns[name].width) != (kind, 1) for name, kind in scalars.items() if name in columns
        )
        or any(columns[name].kind not in "RI" for name in columns.keys() & _PER_ATOM)
    ):
        raise NotPlain(properties)
    return columns


def _read_columns(rows: Sequence[str], columns: Mapping[str, XyzColumn]) -> dict[str, Float]:
    """`numbers` (N,), `positions` (N, 3), and `forces` (N, 3) if they are there; all other numbers are checked."""
    cells = list(map(str.split, rows))
    n_columns = sum(column.width for column in columns.values())
    if set(map(len, cells)) != {n_columns}:
        raise NotPlain("rows of another number of columns")
    by_column = list(zip(*cells, strict=True))
    arrays: dict[str, Float] = {}
    for name, (kind, first, width) in columns.items():
        chosen = by_column[first : first + width]
        if kind in "RI":
            arrays[name] = np.stack([_floats(column) if kind == "R" else _ints(column) for column in chosen], axis=-1)
        elif name == "symbols":
            known = {symbol: number_of(symbol) for symbol in set(chosen[0])}
            arrays[name] = np.array([[known[symbol]] for symbol in chosen[0]], np.float64)
    arrays["numbers"] = arrays["numbers" if "numbers" in arrays else "symbols"][:, 0]
    return arrays


def _floats(texts: Sequence[str]) -> Float:
    """(k,) numbers as Python reads them.

    Raises:
        NotPlain: one is not a finite number.
    """
    try:
        numbers = np.array(list(map(float, texts)), np.float64)
    except ValueError as error:
        raise NotPlain(str(error)) from None
    if not np.isfinite(numbers).all():
        raise NotPlain("a number that is not finite")
    return numbers


def _ints(texts: Sequence[str]) -> Float:
    """(k,) whole numbers of at most 32 bits.

    Raises:
        NotPlain: one is none.
    """
    try:
        numbers = np.array(list(map(int, texts)), np.float64)
    except (ValueError, OverflowError) as error:
        raise NotPlain(str(error)) from None
    if not (np.abs(numbers) < _LARGEST_INT).all():
        raise NotPlain("a whole number that is too large")
    return numbers


def _table(values: Sequence[str], width: int) -> Float:
    """(f, width) the numbers of a field.

    Raises:
        NotPlain: a frame has another number of them, or one is not finite, or has a form that few programs write.
    """
    cells = list(map(str.split, values))
    joined = "".join(values)
    # Python and numpy read underscores, and digits of other scripts.
    if set(map(len, cells)) != {width} or "_" in joined or not joined.isascii():
        raise NotPlain("a field of another number of values")
    return _floats(list(chain.from_iterable(cells))).reshape(-1, width)


def _states(numbers: Float | None, n: int, low: int, high: int) -> Int:
    """(n,) charges or multiplicities from numbers (n, 1); 0 without any.

    Raises:
        NotPlain: one is no whole number from `low` to `high`.
    """
    if numbers is None:
        return np.zeros(n, np.int64)
    if (numbers != np.round(numbers)).any() or numbers.min() < low or numbers.max() > high:
        raise NotPlain("a state that is no whole number")
    return numbers[:, 0].astype(np.int64)


def _periodic(values: Sequence[str]) -> Bool:
    """(f, 3) the periodic directions.

    Raises:
        NotPlain: they are not stated as three truth values.
    """
    known: dict[str, list[bool]] = {}
    for value in set(values):
        words = value.split()
        if len(words) != 3 or not all(word in _TRUTH for word in words):
            raise NotPlain(value)
        known[value] = [_TRUTH[word] for word in words]
    return np.array([known[value] for value in values], np.bool_)


def _count_numeric(key: str, values: Sequence[str]) -> int:
    """In how many of the values ASE reads numbers.

    Raises:
        NotPlain: it is not sure of one.
    """
    texts = [value for value in values if key.lower() == "uid" or _NUMBERS.fullmatch(value) is None]
    if not all(_is_text(value) or value in _TRUTH for value in texts):
        raise NotPlain(key)
    return len(values) - len(texts)


def _is_text(value: str) -> bool:
    """Whether ASE surely takes the value as it is, since its first word is neither a number nor a truth value."""
    match = _WORDS.search(value)
    if match is None or match[0] in _TRUTH or not match[0].isascii() or match[0].startswith("_"):
        return False
    try:
        float(match[0])
    except ValueError:
        return True
    return False
