"""Scores with their explanations, kept from one build of the site to the next."""

from __future__ import annotations

import json
from collections.abc import Mapping

from judge.ranking.interval_cache import IntervalCache, key_of
from judge.ranking.later import Later
from scoring import Term
from scoring.packed_terms import Form, packed

Terms = Mapping[str, Term]
"""By key of the score."""


class KeptTerms:
    """The terms of submissions in a cache. Each is made again when it is first used.

    An entry has a line of names, and a line of numbers for each term. Forms are entries of their own, which submissions
    share.
    """

    def __init__(self, cache: IntervalCache) -> None:
        self._cache = cache
        self._forms: dict[str, Form] = {}

    def get(self, key: str) -> Terms | None:
        """The terms under a key; None if there are none."""
        head, *numbers = self._cache.get(key).split(b"\n")
        if not head:
            return None
        forms: dict[str, tuple[str, str]] = json.loads(head)
        if not all(self._cache.get(form) for form, _ in forms.values()):
            return None
        lines = dict(zip(forms, numbers, strict=True))
        return Later(forms, lambda name: self._term(*forms[name], lines[name]))

    def put(self, key: str, terms: Terms) -> None:
        """Keeps the terms under a key."""
        forms, lines = {}, []
        for name, term in terms.items():
            form, numbers = packed(term)
            plain = json.dumps(form).encode()
            form_key = key_of("form", plain.decode())
            self._cache.put(form_key, plain)
            forms[name] = form_key, term.node.digest
            lines.append(json.dumps(numbers).encode())
        self._cache.put(key, b"\n".join([json.dumps(forms).encode(), *lines]))

    def _term(self, form: str, digest: str, numbers: bytes) -> Term:
        if form not in self._forms:
            self._forms[form] = Form(json.loads(self._cache.get(form)))
        return self._forms[form].term(json.loads(numbers), digest)
