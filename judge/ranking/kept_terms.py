"""Scores with their explanations, kept from one build of the site to the next."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from judge.ranking.interval_cache import IntervalCache, key_of
from scoring import Node, Term
from scoring.packed_terms import Form, packed

Terms = Mapping[str, Term]
"""By key of the score."""


class LaterTerm(Term):
    """A term whose node and parts are made when they are first used: most pages show the number at the top alone."""

    def __init__(self, top: Sequence[Any], make: Callable[[], Term]) -> None:
        self.value, self.covered, self.total, self.share, self.counted, self.at_worst, self.at_best = top
        self._make = make

    @cached_property
    def _made(self) -> Term:
        return self._make()

    @property
    def node(self) -> Node:  # type: ignore[override]
        return self._made.node

    @property
    def parts(self) -> tuple[Term, ...]:  # type: ignore[override]
        return self._made.parts


class KeptTerms:
    """The terms of submissions in a cache.

    An entry has a line with form and top of each term, and a line of numbers for each. Forms are entries of their own,
    which submissions share.
    """

    def __init__(self, cache: IntervalCache) -> None:
        self._cache = cache
        self._forms: dict[str, Form] = {}

    def get(self, key: str) -> Terms | None:
        """The terms under a key; None if there are none."""
        head, *lines = self._cache.get(key).split(b"\n")
        tops: dict[str, tuple[str, list[Any]]] = json.loads(head) if head else {}
        if not head or not all(self._cache.get(form) for form, _ in tops.values()):
            return None
        return {
            name: LaterTerm(top, partial(self._term, form, line))
            for (name, (form, top)), line in zip(tops.items(), lines, strict=True)
        }

    def put(self, key: str, terms: Terms) -> None:
        """Keeps the terms under a key."""
        tops, lines = {}, []
        for name, term in terms.items():
            form, numbers = packed(term)
            plain = json.dumps(form)
            form_key = key_of("form", plain)
            self._cache.put(form_key, plain.encode())
            tops[name] = form_key, [column[-1] for column in numbers[:7]]
            lines.append(json.dumps(numbers).encode())
        self._cache.put(key, b"\n".join([json.dumps(tops).encode(), *lines]))

    def _term(self, form: str, numbers: bytes) -> Term:
        if form not in self._forms:
            self._forms[form] = Form(json.loads(self._cache.get(form)))
        return self._forms[form].term(json.loads(numbers))
