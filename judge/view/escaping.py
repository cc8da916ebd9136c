"""Text and numbers as they are safe to stand in a page: what pages say again and again is made once."""

from __future__ import annotations

import re
from functools import lru_cache

from markupsafe import Markup, escape

from judge.view import formatting

number = lru_cache(maxsize=1 << 16)(formatting.number)
"""As `judge.view.formatting.number`: baselines, limits and shares are the same on all pages."""
percent = lru_cache(maxsize=1 << 12)(formatting.percent)
"""As `judge.view.formatting.percent`."""

# Whatever is not of the signs that our own sentences are made of is looked at one by one.
_UNUSUAL = re.compile("[^ -~\u00a0-\u024f\u0370-\u03ff\u2013-\u2019\u202f\u2070-\u209f\u2200-\u22ff]")


@lru_cache(maxsize=1 << 14)
def words(text: str) -> Markup:
    """The text cleared of marks that would turn the page around, and escaped."""
    return escape(formatting.plain(text) if _UNUSUAL.search(text) else text)


def sentence(text: str) -> Markup:
    """The same, begun with a capital letter and ended with a full stop; of no text nothing."""
    return words(f"{text[:1].upper()}{text[1:]}.") if text else Markup()
