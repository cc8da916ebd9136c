"""The documents name files of this repository by paths that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
_PATH = re.compile(r"`((?:judge|tasks|sandbox|scoring|submissions|tests|setup|docs)/[\w./-]*\w/?)`")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_paths_in_a_document_exist(document: Path) -> None:
    named = set(_PATH.findall(document.read_text(encoding="utf-8")))
    missing = {path for path in named if not (ROOT / path).exists() and not path.endswith(".html")}  # pages of a site
    assert missing == set()
