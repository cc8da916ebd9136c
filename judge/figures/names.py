"""What models are called in figures: no two alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import count

from judge.figures.drawing import clean, shortened
from judge.ranking.leaderboard import Row


def model_names(rows: Iterable[Row]) -> dict[str, str]:
    """By submission its name, with the version where several have that name, numbered where that is not enough."""
    cards = {row.submission.id: row.submission.card for row in rows}
    often = Counter(clean(card.name) for card in cards.values())
    names = [f"{card.name} {card.version}" if often[clean(card.name)] > 1 else card.name for card in cards.values()]
    return dict(zip(cards, distinct(names), strict=True))


def distinct(names: Iterable[str]) -> list[str]:
    """The names as a drawing can have them, a number behind those that were there before."""
    found: dict[str, None] = {}
    for name in map(clean, names):
        numbered = (name if number == 1 else f"{name} ({number})" for number in count(1))
        found[next(one for one in numbered if one not in found)] = None
    return list(found)


def short_names(names: Iterable[str], length: int) -> list[str]:
    """The names cut to that length, distinct still."""
    return distinct(shortened(clean(name), length) for name in names)
