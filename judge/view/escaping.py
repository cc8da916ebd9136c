"""Text and numbers that are safe in a page. Results are cached, because pages repeat them."""

from __future__ import annotations

import re
from functools import lru_cache

from markupsafe import Markup, escape

from judge.view import formatting

number = lru_cache(maxsize=1 << 16)(formatting.number)
"""As `judge.view.formatting.number`; baselines, limits and shares occur on many pages."""
percent = lru_cache(maxsize=1 << 12)(formatting.percent)
"""As `judge.view.formatting.percent`."""

# Characters that the judge's own sentences do not have. Only a text with one of them is cleaned.
_UNUSUAL = re.compile("[^ -~\u00a0-\u024f\u0370-\u03ff\u2013-\u2019\u202f\u2070-\u209f\u2200-\u22ff]")


@lru_cache(maxsize=1 << 14)
def words(text: str) -> Markup:
    """The text without control characters and marks that reverse its direction, escaped."""
    return escape(formatting.plain(text) if _UNUSUAL.search(text) else text)


def sentence(text: str) -> Markup:
    """The escaped text with a capital first letter and a full stop; empty if the text is."""
    return words(f"{text[:1].upper()}{text[1:]}.") if text else Markup()
