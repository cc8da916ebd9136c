"""JSON that can be read in one way alone.

Readers differ in what they make of a name that stands twice in one place, of NaN, and of half a character: what a
stranger wrote is taken only where all of them would read the same.
"""

from __future__ import annotations

import json
from typing import NoReturn

from sandbox.events import plain


def parse_strictly(data: bytes) -> object:
    """What `data` says, in UTF-8.

    Raises:
        ValueError: it is no JSON, names something twice, or has a number or a character that is none.
    """
    try:
        content: object = json.loads(data.decode(), object_pairs_hook=each_named_once, parse_constant=_no_number)
        json.dumps(content, ensure_ascii=False).encode()  # half of a surrogate pair is no text
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return content


def each_named_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object of these pairs, for `json.loads`, which would keep the last of two of one name, and say nothing.

    Raises:
        ValueError: a name stands there twice.
    """
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"'{plain(name)}' is named twice: leave one out")
        found[name] = value
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")
