"""The documents name files, pages and headings that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
_PATH = re.compile(r"`((?:judge|tasks|sandbox|scoring|submissions|tests|setup|docs)/[\w./-]*\w/?)`")
_LINK = re.compile(r"\]\((?!https?:)([^()#\s]*)#?([^()\s]*)\)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_paths_in_a_document_exist(document: Path) -> None:
    named = set(_PATH.findall(document.read_text(encoding="utf-8")))
    missing = {path for path in named if not (ROOT / path).exists() and not path.endswith(".html")}  # pages of a site
    assert missing == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_links_of_a_document_lead_somewhere(document: Path) -> None:
    broken = set()
    for address, anchor in _LINK.findall(document.read_text(encoding="utf-8")):
        target = document.parent / address if address else document
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.add(f"{address}#{anchor}")
    assert broken == set()


def anchors(document: Path) -> set[str]:
    """The anchors of its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
