"""The pages of the last build: a page that would be made from equal inputs is not drawn again."""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from functools import cache
from hashlib import sha256
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel

from judge.ranking.leaderboard import TaskLine
from scoring import Node, Term
from tasks.metrics.measurement import Items


class Made(NamedTuple):
    """What a page was made from: the sha256 of its inputs; the paths of the files that are made with it; and the sha256
    of the inputs of those parts that are drawn apart.
    """

    inputs: str
    beside: tuple[str, ...] = ()
    apart: str = ""


class Drawn(NamedTuple):
    """A page with the files that are made with it, by path; and what it was made from, as `Made` has it."""

    files: Mapping[str, bytes]
    inputs: str
    apart: str = ""


@dataclass(frozen=True)
class EarlierPages:
    """The pages of the last build.

    Args:
        made: by path, what the pages were made from.
        read: a file as the last build wrote it; None if it is gone or was changed since.
        drawn: by path, what the pages of this build were made from, as `contents` adds them.
    """

    made: Mapping[str, Made] = field(default_factory=dict)
    read: Callable[[str], bytes | None] = lambda path: None
    drawn: dict[str, Made] = field(default_factory=dict)

    def page(self, path: str, inputs: object, draw: Callable[[], Mapping[str, bytes]]) -> Drawn:
        """The page at `path` and the files beside it: a function of `inputs`, the code, the templates and the suite."""
        digest = digest_of(inputs)
        files = self.same(path, digest)
        return Drawn(draw() if files is None else files, digest)

    def same(self, path: str, digest: str) -> Mapping[str, bytes] | None:
        """The page of the last build and the files beside it, if it was made from inputs of this sha256; else None."""
        made = self.made.get(path)
        if made is None or made.inputs != digest:
            return None
        read = {name: self.read(name) for name in (path, *made.beside)}
        files = {name: content for name, content in read.items() if content is not None}
        return files if len(files) == len(read) else None


def contents(earlier: EarlierPages | None, pages: Mapping[str, Drawn]) -> dict[str, bytes]:
    """All files by path; what the pages were made from is added to `earlier.drawn`."""
    if earlier is not None:
        for path, page in pages.items():
            earlier.drawn[path] = Made(page.inputs, tuple(name for name in page.files if name != path), page.apart)
    return {name: content for page in pages.values() for name, content in page.files.items()}


def digest_of(inputs: object) -> str:
    """The sha256 of plain data, records and dataclasses; equal only if all of them are equal."""
    return sha256(_ENCODER.encode(inputs).encode()).hexdigest()


def _plain(value: Any) -> object:
    """A value as data for JSON, one level deep."""
    return _form_of(value.__class__)(value)


@cache
def _form_of(kind: type) -> Callable[[Any], object]:
    """A function from values of this class to such data.

    Raises:
        TypeError: a page has no inputs of this class.
    """
    if issubclass(kind, BaseModel):
        return lambda record: sha256(record.model_dump_json().encode()).hexdigest()
    if issubclass(kind, np.ndarray):
        return lambda array: (array.dtype.str, array.shape, sha256(array.tobytes()).hexdigest())
    if issubclass(kind, datetime):
        return datetime.isoformat
    if kind is Items:
        return _items
    if issubclass(kind, TaskLine):
        return lambda line: (line.task.name, line.result)
    if issubclass(kind, Term):
        return _terms
    if not is_dataclass(kind):
        raise TypeError(f"{kind.__name__} is no input of a page")
    names = [(each.name, "Mapping" in str(each.type)) for each in fields(kind)]
    return lambda value: (
        kind.__name__,
        # JSON has only texts as keys of a mapping.
        [sorted(getattr(value, name).items()) if maps else getattr(value, name) for name, maps in names],
    )


def _items(items: Items) -> object:
    """The texts of an items table, and the sha256 of its numbers: a table may have hundreds of columns."""
    numbers = sha256(items.cause.tobytes())
    for name, column in sorted(items.columns.items()):
        numbers.update(f"{name} {column.dtype.str} {column.shape}\n".encode())
        numbers.update(column.tobytes())
    return items.id, items.group, items.cluster, numbers.hexdigest()


def _terms(top: Term) -> str:
    """The sha256 of all terms of a tree with their nodes, from the top down. A board has 100,000 terms: texts of
    their numbers, or objects for each of them, would take longer.
    """
    terms: list[object] = []
    rest = [top]
    while rest:
        term = rest.pop()
        node, leaf = term.node, term.node.leaf
        metric = leaf and (*leaf.raw, leaf.left_out, leaf.scale.name, leaf.scale.numbers())
        terms.append((len(term.parts), *_TERM(term), *_NODE(node), metric))
        rest += term.parts
    return sha256(marshal.dumps(terms, _WITHOUT_REFERENCES)).hexdigest()


_TERM = attrgetter(*(each.name for each in fields(Term) if each.name not in ("node", "parts")))
_NODE = attrgetter(
    *("how._value_" if each.name == "how" else each.name for each in fields(Node) if each.name not in ("parts", "leaf"))
)
_WITHOUT_REFERENCES = 2  # later versions of marshal write equal values in other ways if they are one object
_ENCODER = json.JSONEncoder(default=_plain, separators=(",", ":"), check_circular=False)
