"""The rules that a model card must obey: in the author's file, in the terminal, and in a submission request."""

from __future__ import annotations

from collections.abc import Iterator

from ase.data import chemical_symbols

from submissions.card.look_alikes import deceptive, is_link, unreadable
from submissions.records import ModelCard

MAX_AUTHOR = 200
SYMBOLS = frozenset(chemical_symbols[1:])


def first_breach(card: ModelCard) -> str:
    """The first breach of a rule, as `field: reason`; empty if there is none."""
    return next(_breaches(card), "")


def _breaches(card: ModelCard) -> Iterator[str]:
    for field, text in _texts(card):
        if reason := unreadable(text):
            yield f"{field}: {reason}"
    if reason := deceptive(card.name):
        yield f"name: {reason}"
    for field, address in _addresses(card):
        if address and not is_link(address):
            yield f"{field}: must be https://HOST/…, with a host in plain letters and no user name before it"
    for n, author in enumerate(card.authors):
        if not author.strip() or len(author) > MAX_AUTHOR:
            yield f"authors.{n}: must be a name of at most {MAX_AUTHOR} characters"
    yield from _about_elements(card)
    for domain, labels in card.label_sets.items():
        if card.dispersion is False and labels.dispersion:
            yield f"label_sets.{domain}.dispersion: is true, but dispersion is false"


def _texts(card: ModelCard) -> Iterator[tuple[str, str]]:
    """All text that is shown as it was written, by field; text of several lines without its line breaks."""
    for field in ("name", "version", "affiliation", "license", "paper", "code"):
        yield field, getattr(card, field)
    for field in ("description", "hardware"):
        yield field, getattr(card, field).replace("\n", "")
    for n, author in enumerate(card.authors):
        yield f"authors.{n}", author
    for n, training in enumerate(card.training):
        yield f"training.{n}", training.name + training.level_of_theory + training.url
    for domain, labels in card.label_sets.items():
        yield f"label_sets.{domain}.name", labels.name


def _addresses(card: ModelCard) -> Iterator[tuple[str, str]]:
    """All addresses that may be shown as links, by field."""
    yield "paper", card.paper
    yield "code", card.code
    yield "license", card.license if card.license.startswith(("https://", "http://")) else ""
    for n, training in enumerate(card.training):
        yield f"training.{n}.url", training.url


def _about_elements(card: ModelCard) -> Iterator[str]:
    for element in card.elements:
        if element not in SYMBOLS:
            yield f"elements: {element[:20]!r} is no chemical symbol"
    if len(set(card.elements)) < len(card.elements):
        yield "elements: an element is named twice"
