"""Extended XYZ in its plain form: many frames at once, with the same numbers as ASE's reader.

A plain frame has a comment line of `key=value`, `key="some values"` and bare keys, and finite numbers. All else raises
`NotPlain`, and the caller gives it to ASE: escapes, brackets, JSON, constraints (`move_mask`), rows with more columns
than `Properties` states, and whatever is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple, TextIO

import numpy as np
from ase.calculators.calculator import all_properties
from ase.data import atomic_numbers
from ase.io.extxyz import key_val_str_to_dict

from tasks.structures.frames import Bool, Float, Int

_KEY = r"[A-Za-z_][A-Za-z0-9_.:+/-]*+"
_COMMENT = re.compile(rf'\s*+(?:{_KEY}(?:=(?:"[^"\\]++"|[^\s"\'{{}}\[\]\\=]++))?+(?:\s++|\Z))*+')
_PAIR = re.compile(rf'({_KEY})(?:=(?:"([^"\\]++)"|([^\s"]++)))?+(?:\s++|\Z)')
_PROPERTIES = re.compile(r"(?:^|:)([A-Za-z_][A-Za-z0-9_]*):([RISL]):([1-9][0-9]?)(?=:|\Z)")
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NUMBERS = re.compile(rf"\s*{_NUMBER}(?:\s+{_NUMBER})*\s*")
_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")
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
_SCALARS = ("energy", "charge", "multiplicity", "spin")
# Where ASE takes Voigt's components from, in the file's order of the matrix.
_VOIGT = [0, 4, 8, 7, 6, 3]
_WITHOUT_PROPERTIES = "species:S:1:pos:R:3"
_NOT_FIELDS = frozenset({"Lattice", "Properties", "pbc"})
_LARGEST_INT = 2**31
_LARGEST_STATE = 10**6


class NotPlain(ValueError):
    """A text that only ASE's reader understands, or that is wrong."""


class TextFrame(NamedTuple):
    """The lines of one frame."""

    n_atoms: int
    comment: str
    rows: list[str]

    @property
    def text(self) -> str:
        """All of them."""
        return "".join((f"{self.n_atoms}\n", self.comment, *self.rows))


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
        energy, forces, stress: as those of `Labels`.
        values: of the comment lines by key as ASE reads them, for keys that are wanted and that these frames have.
        numeric: by name of a field or column, the number of frames in which it has numbers.
    """

    n_atoms: Int
    numbers: Int
    positions: Float
    cell: Float
    pbc: Bool
    charge: Int
    multiplicity: Int
    energy: Float | None
    forces: Float | None
    stress: Float | None
    values: Mapping[str, list[object]]
    numeric: Mapping[str, int]


def text_frames(file: TextIO) -> Iterator[TextFrame]:
    """The frames of `file`, up to the first blank line where a frame should begin.

    Raises:
        NotPlain: a frame has no number of atoms, or the file ends within it.
    """
    while (header := file.readline()).strip():
        try:
            n_atoms = int(header)
        except ValueError:
            raise NotPlain(header) from None
        comment, rows = file.readline(), list(islice(file, max(n_atoms, 0)))
        if n_atoms < 1 or len(rows) < n_atoms:
            raise NotPlain(header)
        yield TextFrame(n_atoms, comment, rows)


def plain_comment(line: str) -> Comment:
    """Keys and values of a comment line.

    Raises:
        NotPlain: it has another form, or a key twice.
    """
    if _COMMENT.fullmatch(line) is None:
        raise NotPlain(line)
    pairs = _PAIR.findall(line)
    keys = tuple(pair[0] for pair in pairs)
    if len(set(keys)) < len(keys):
        raise NotPlain(line)
    return Comment(keys, tuple(quoted or bare or "T" for _, quoted, bare in pairs))


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
    columns = columns_of(fields["Properties"][0] if "Properties" in fields else _WITHOUT_PROPERTIES)
    if fields.keys() & columns.keys():
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
    lattice, stress = numbers.get("Lattice"), numbers.get("stress")
    pbc = _periodic(fields["pbc"]) if "pbc" in fields else np.full((n, 3), lattice is not None)
    if stress is not None and not pbc.all():
        raise NotPlain("a stress without a volume")
    multiplicity = numbers.get("multiplicity", numbers.get("spin"))
    return PlainFrames(
        n_atoms=np.array([frame.n_atoms for frame in frames], np.int64),
        numbers=atoms["numbers"].astype(np.int64),
        positions=atoms["positions"],
        cell=np.zeros((n, 3, 3)) if lattice is None else lattice.reshape(n, 3, 3),
        pbc=pbc,
        charge=_states(numbers.get("charge"), n),
        multiplicity=_states(multiplicity, n),
        energy=numbers["energy"][:, 0] if "energy" in numbers else None,
        forces=atoms.get("forces"),
        stress=None if stress is None else stress[:, _VOIGT],
        values={key: [_value(key, v) for v in fields[key]] for key in wanted if key in fields and _stays(key)},
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
    scalars = {"numbers": "I", "symbols": "S", "initial_charges": "R"}
    if (
        vectors[0] is None
        or not ({"numbers", "symbols"} & columns.keys())
        or len(set(of_ase)) < len(of_ase)
        or any(each is not None and (each.kind, each.width) != ("R", 3) for each in vectors)
        or any(
            (columns[name].kind, columns[name].width) != (kind, 1) for name, kind in scalars.items() if name in columns
        )
        or any(columns[name].kind not in "RI" for name in columns.keys() & (_PER_ATOM | {"initial_magmoms"}))
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
            known = {symbol: atomic_numbers.get(symbol.capitalize(), 0) for symbol in set(chosen[0])}
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


def _states(numbers: Float | None, n: int) -> Int:
    """(n,) charges or multiplicities from numbers (n, 1); 0 without any.

    Raises:
        NotPlain: one is no whole number.
    """
    if numbers is None:
        return np.zeros(n, np.int64)
    if (numbers != np.round(numbers)).any() or np.abs(numbers).max() > _LARGEST_STATE:
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


def _stays(key: str) -> bool:
    """Whether ASE leaves the field in `info`."""
    return key not in _NOT_FIELDS and key not in all_properties


def _value(key: str, value: str) -> object:
    """The value as ASE reads it, or a text that is written the same."""
    if _is_text(value) or _WHOLE_NUMBER.fullmatch(value):
        return value
    return _value_by_ase(key, value)


@lru_cache(maxsize=4096)
def _value_by_ase(key: str, value: str) -> object:
    return key_val_str_to_dict(f'{key}="{value}"')[key]
