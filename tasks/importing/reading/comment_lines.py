"""The comment line of a frame of extended XYZ, taken apart as ASE does, before ASE makes numbers of texts.

ASE reads `name=01` as 1, `1E10` as 10000000000.0 and `T` as true. Names are texts, so they are taken from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

_CLOSING = {"'": "'", '"': '"', "{": "}", "[": "]"}


class CommentField(NamedTuple):
    """A key of a comment line with its value.

    Args:
        value: as it is written, without quotes or brackets around it; `T` of a key without a value.
        source: the part of the line, quotes and brackets included.
        has_value: whether the line states a value.
    """

    key: str
    value: str
    source: str
    has_value: bool = True


def comment_fields(line: str) -> list[CommentField]:
    """The fields of a comment line, in its order.

    Quotes (`"` and `'`), braces and brackets hold a value together, and a backslash takes the next character as it is.
    """
    line = line.strip()
    fields: list[_OpenField] = []
    closing, escaped = "", False
    for place, char in enumerate(line):
        if not closing and not escaped and char.isspace():
            if fields and fields[-1].parts[-1]:
                fields.append(_OpenField(place))
            continue
        if not fields:
            fields.append(_OpenField(place))
        if escaped:
            fields[-1].parts[-1].append(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif closing:
            if char == closing:
                closing = ""
            else:
                fields[-1].parts[-1].append(char)
        elif char in _CLOSING:
            closing = _CLOSING[char]
        elif char == "=":
            if fields[-1].parts == [[]] and len(fields) > 1:  # a blank before the sign
                fields.pop()
            fields[-1].parts.append([])
        else:
            fields[-1].parts[-1].append(char)
    if not fields:
        return []
    ends = [*(field.begin for field in fields[1:]), len(line)]
    return [
        field.closed(line[field.begin : end]) for field, end in zip(fields, ends, strict=True) if field.parts != [[]]
    ]


class _OpenField:
    """A field whose end was not reached: its characters before the first `=`, and after each."""

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.parts: list[list[str]] = [[]]

    def closed(self, source: str) -> CommentField:
        key, *values = ("".join(part) for part in self.parts)
        return CommentField(key, "=".join(values) if values else "T", source.strip(), bool(values))


def with_keys(fields: Sequence[CommentField], keys: Mapping[str, str], values: Mapping[str, str]) -> str:
    """The comment line with other keys, and other values.

    Args:
        keys: by key as it is written, the new one.
        values: by key as it is written, the new value, which needs no quotes.
    """
    words = []
    for field in fields:
        key = keys.get(field.key, field.key)
        if field.key in values:
            words.append(f"{key}={values[field.key]}")
        elif key == field.key or not field.has_value:
            words.append(field.source if key == field.key else key)
        else:
            words.append(f"{key}={field.source.partition('=')[2].strip()}")
    return " ".join(words) + "\n"
