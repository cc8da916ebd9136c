"""The frames of an extended XYZ file as texts: their lines, and the elements that their atoms name."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TextIO

from ase.data import atomic_numbers, chemical_symbols

from tasks.datasets.card import DatasetError
from tasks.importing.reading.comment_lines import CommentField, comment_fields, with_keys
from tasks.importing.reading.frame_fields import CHECKED_BY_ASE, UNREAD, FrameFields

DEFAULT_PROPERTIES = "species:S:1:pos:R:3"
MIN_ROW = 2  # bytes of a line with an atom: no file has more atoms than half its bytes
MAX_SHOWN = 40  # characters
_ATOMIC_NUMBER = re.compile(r"[1-9][0-9]{0,2}")
_LABEL = re.compile(r"([A-Z][a-z]?)[^a-z].*")
_SPECIES, _NUMBERS = ("species", "symbols"), ("Z", "numbers")
_MAX_VECTORS = 3
_MANY_COLUMNS = re.compile(r":[SILRsilr]:(\d{4,18})\b")


class TextFrame(NamedTuple):
    """The lines of one frame.

    Args:
        vectors: lines VEC1 to VEC3 after the atoms, which state a cell.
    """

    n_atoms: int
    comment: str
    rows: list[str]
    vectors: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All of them."""
        return "".join((f"{self.n_atoms}\n", self.comment, *self.rows, *self.vectors))


def text_frames(file: TextIO, path: Path, n_bytes: int | None) -> Iterator[TextFrame]:
    """The frames of `file`.

    Args:
        path: of the file, for errors.
        n_bytes: its size; None if it is compressed.

    Raises:
        DatasetError: a frame has no number of atoms or less than its lines, or text follows a blank line.
    """
    n, header = 0, file.readline()
    while header.strip():
        where = f"{path}: frame {n}"
        n_atoms = _n_atoms(header, where)
        if n_bytes is not None and n_atoms > n_bytes // MIN_ROW:
            raise DatasetError(
                f"{where}: cannot be read: states {n_atoms} atoms, for which the file of {n_bytes} bytes is too short: "
                "correct the number, or fetch the file again"
            )
        comment, rows = file.readline(), list(islice(file, min(n_atoms, sys.maxsize)))
        if len(rows) < n_atoms:
            raise DatasetError(
                f"{where}: cannot be read: states {n_atoms} atoms, and the file ends after {len(rows)} of them: "
                "correct the number, or fetch the file again"
            )
        _check_columns(comment, rows, where)
        vectors = list[str]()
        while (header := file.readline()).lstrip().startswith("VEC") and len(vectors) < _MAX_VECTORS:
            vectors.append(header)
        yield TextFrame(n_atoms, comment, rows, tuple(vectors))
        n += 1
    if header and any(map(str.strip, file)):
        raise DatasetError(
            f"{path}: frame {n}: begins with a blank line: remove the blank lines between frames, or the text after "
            "the last frame"
        )


def _check_columns(comment: str, rows: list[str], where: str) -> None:
    """No property has more columns than its lines have characters: ASE would make a type for each of a million."""
    for columns in _MANY_COLUMNS.findall(comment):
        if int(columns) > max(map(len, rows)):
            raise DatasetError(
                f"{where}: Properties: states {columns} columns of one property, and no line has as many: correct the "
                "comment line"
            )


def _n_atoms(header: str, where: str) -> int:
    try:
        n_atoms = int(header)
    except ValueError:
        shown = header.strip()[:MAX_SHOWN].encode("utf-8", "replace").decode()
        raise DatasetError(
            f"{where}: cannot be read: begins with {shown!r}, not with its number of atoms: is it extended XYZ, and "
            "are all lines of the frame before there?"
        ) from None
    if n_atoms < 1:
        raise DatasetError(f"{where}: cannot be read: states {n_atoms} atoms: leave the frame out")
    return n_atoms


def check_encoding(text: str, where: object) -> None:
    """Checks that a text was read from UTF-8.

    Raises:
        DatasetError: it was not; the line begins with `where`.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        byte = ord(text[error.start]) & 0xFF
        raise DatasetError(f"{where}: is not text in UTF-8 (byte {byte:#04x}): save the file as UTF-8") from None


class FrameForAse(NamedTuple):
    """A frame whose text has no field that is not read under a name to which ASE gives a meaning.

    Args:
        written: the fields of its comment line as texts.
    """

    text: str
    written: dict[str, str]


def frame_for_ase(frame: TextFrame, fields: FrameFields, where: str) -> FrameForAse:
    """The text that ASE reads of a frame.

    Raises:
        DatasetError: a species is no element; the line begins with `where`.
    """
    check_encoding(frame.text, where)
    stated = comment_fields(frame.comment) if not frame.vectors else []
    properties = next((f.value for f in reversed(stated) if f.key == "Properties"), DEFAULT_PROPERTIES)
    columns = _columns(properties)
    n_columns, n_words = sum(int(width) for _, _, width in columns), len(frame.rows[0].split())
    if n_columns > n_words:  # ASE would make each of them first, also 10^11
        raise DatasetError(
            f"{where}: Properties: states {n_columns} columns, and the line of atom 0 has {n_words}: correct it"
        )
    keys = {field.key: _key_for_ase(field.key, fields) for field in stated}
    rows = _with_symbols(frame.rows, columns, where)
    read_as = [_column_for_ase(column, fields) for column in columns]
    comment, changed = frame.comment, read_as != columns
    if changed and not any(field.key == "Properties" for field in stated):
        stated.append(CommentField("Properties", properties, ""))
    if changed or any(key != name for key, name in keys.items()):
        comment = with_keys(stated, keys, {"Properties": ":".join(map(":".join, read_as))} if changed else {})
    text = frame._replace(comment=comment, rows=rows).text
    return FrameForAse(text, {field.key: field.value for field in stated})


def _key_for_ase(key: str, fields: FrameFields) -> str:
    """The file's own name of a field that is read, as ASE checks the form of labels; a field that is not read has one
    that ASE does not know."""
    is_unread = fields.name_for(key).startswith(UNREAD)
    return UNREAD + key if is_unread or (key in CHECKED_BY_ASE and key not in fields.keys.values()) else key


def _columns(properties: str) -> list[tuple[str, str, str]]:
    """Name, kind and width of each column; none if they are not stated as ASE reads them."""
    words = properties.split(":")
    if not all(word.isdecimal() for word in words[2::3]):
        return []
    return list(zip(words[::3], words[1::3], words[2::3], strict=False))


def _column_for_ase(column: tuple[str, str, str], fields: FrameFields) -> tuple[str, str, str]:
    """The column under the name that ASE reads; of labels that are left out, as words."""
    name, kind, width = column
    read_as = _key_for_ase(name, fields)
    left_out = read_as.startswith(UNREAD) and not fields.unread_name(read_as)
    return read_as, "S" if left_out or name in _SPECIES else kind, width


def _with_symbols(rows: list[str], columns: list[tuple[str, str, str]], where: str) -> list[str]:
    """The rows with a symbol for each species: whole numbers are atomic numbers."""
    place = 0
    if any(name in _NUMBERS for name, _, _ in columns):  # which ASE prefers
        return rows
    for name, _, width in columns:
        if name in _SPECIES and width == "1":
            break
        place += int(width)
    else:
        return rows
    symbols: dict[str, str] = {}
    changed = list(rows)
    for atom, row in enumerate(rows):
        words = row.split()
        if place >= len(words):
            return rows  # ASE says what is wrong
        word = words[place]
        if word not in symbols:
            symbols[word] = _symbol(word, f"{where}: species: {word[:MAX_SHOWN]!r} of atom {atom}")
        if symbols[word] != word:
            changed[atom] = " ".join([*words[:place], symbols[word], *words[place + 1 :]]) + "\n"
    return changed


def number_of(species: str) -> int:
    """The atomic number of a species: a symbol in any case, or a whole number; 0 if it is neither."""
    if _ATOMIC_NUMBER.fullmatch(species):
        return int(species) if int(species) < len(chemical_symbols) else 0
    return int(atomic_numbers.get(species.capitalize(), 0))


def _symbol(species: str, where: str) -> str:
    if species.capitalize() in atomic_numbers:
        return species
    number = number_of(species)
    if number:
        return chemical_symbols[number]
    label = _LABEL.fullmatch(species)
    remedy = "write the element's symbol, as H or Cu, or its atomic number"
    if species in ("D", "T"):
        remedy = "write H for an isotope of hydrogen"
    elif label is not None and label[1] in atomic_numbers:
        remedy = f"write {label[1]} alone, if it is meant"
    raise DatasetError(f"{where} is no element: {remedy}")
