"""Names that a person writes: found in any case, and the closest one is named where there is none."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def known_name(wanted: str, known: Iterable[str]) -> str | None:
    """The one of `known` that is `wanted`, else the only one that differs from it in case alone, else None."""
    names = list(known)
    if wanted in names:
        return wanted
    matches = [name for name in names if name.casefold() == wanted.casefold()]
    return matches[0] if len(matches) == 1 else None


def did_you_mean(wanted: str, known: Iterable[str]) -> str:
    """`; did you mean NAME?` for the closest name, or nothing if none is close."""
    by_folded = {name.casefold(): name for name in known}
    closest = get_close_matches(wanted.casefold(), by_folded, n=1)
    return f"; did you mean {by_folded[closest[0]]}?" if closest else ""
