"""The names of models in figures: no two names are equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import count

from judge.ranking.leaderboard import Row
from judge.view.formatting import plain

_NO_XML = {ord("\t"): " ", ord("\n"): " ", 0xFFFE: None, 0xFFFF: None}


def clean(text: str) -> str:
    """The text in one line, without characters that reverse its direction or that XML does not allow."""
    return plain(text).translate(_NO_XML)


def shortened(text: str, length: int) -> str:
    """The text, cut to at most `length` characters."""
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def model_names(rows: Iterable[Row]) -> dict[str, str]:
    """The name of each submission, with the version if several share the name, and a number if that is not enough.

    The order of the rows does not matter: a model has one name in all figures of the same models.
    """
    cards = {row.submission.id: row.submission.card for row in sorted(rows, key=lambda row: row.submission.id)}
    often = Counter(clean(card.name) for card in cards.values())
    names = [f"{card.name} {card.version}" if often[clean(card.name)] > 1 else card.name for card in cards.values()]
    return dict(zip(cards, distinct(names), strict=True))


def distinct(names: Iterable[str]) -> list[str]:
    """The cleaned names; a name that came before gets a number."""
    chosen: dict[str, None] = {}
    for name in map(clean, names):
        numbered = (name if number == 1 else f"{name} ({number})" for number in count(1))
        chosen[next(candidate for candidate in numbered if candidate not in chosen)] = None
    return list(chosen)


def short_names(names: Iterable[str], length: int) -> list[str]:
    """The names cut to that length, still distinct."""
    return distinct(shortened(clean(name), length) for name in names)
