"""Canonical JSON; and JSON from strangers, parsed so that what two parsers could read differently is refused.

Parsers differ on a name that occurs twice in one object, on NaN, and on half of a surrogate pair.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from sandbox.events import plain


def canonical_json(fields: Mapping[str, Any]) -> str:
    """`fields` as the text that hashes and signatures are over: sorted names, no spaces, ASCII.

    Raises:
        ValueError: a number is not finite.
    """
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def parse_strictly(data: bytes) -> object:
    """The JSON value in `data`, UTF-8.

    Raises:
        ValueError: it is no JSON, has a name twice in one object, NaN or infinity, or half of a surrogate pair.
    """
    try:
        content: object = json.loads(data.decode(), object_pairs_hook=each_named_once, parse_constant=_no_number)
        json.dumps(content, ensure_ascii=False).encode()  # half of a surrogate pair is no text
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return content


def each_named_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object with these pairs, for `json.loads`, which would silently keep the last of two equal names.

    Raises:
        ValueError: a name occurs twice.
    """
    fields: dict[str, object] = {}
    for name, value in pairs:
        if name in fields:
            raise ValueError(f"'{plain(name)}' is named twice: leave one out")
        fields[name] = value
    return fields


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")
