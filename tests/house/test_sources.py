"""Each project that the code or a document speaks of is in docs/sources.md, with the version that was read."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "docs" / "sources.md"
SPOKEN_OF = ("README.md", "docs", "judge", "scoring", "submissions", "tasks", "templates")
# How a text names a project; the first cell of a row of docs/sources.md has the same word.
PROJECTS = (
    "LAMBench", "ML-PEG", "MLIPAudit", "MLIP Arena", "matcalc", "ACWF verification",
    "Matbench Discovery", "SAIBench", "TorchSim",
    "GSCDB137", "GMTKN55", "phonopy", "phono3py", "k_SRME", "ASE", "simple-dftd3", "dscribe", "CHGNet", "tblite",
    "DeePMD-kit", "MACE", "SevenNet", "Orb", "MatterSim", "FAIRChem", "rMD17", "RDKit", "ase-db-backends", "LMDB",
)  # fmt: skip
_VERSION = re.compile(r"\b\d+\.\d+(\.\d+)?\b|\b[0-9a-f]{7}\b")
_COMMIT = re.compile(r"\bcommits? ([0-9a-f]{7,40})\b")


def rows() -> dict[str, str]:
    """By first cell of the table, its second: what was read."""
    lines = SOURCES.read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return {row[0]: row[1] for row in cells if row[0] not in ("project", "---")}


def texts() -> dict[str, str]:
    """By path, the text of each tracked file that may speak of other projects, without docs/sources.md."""
    listed = subprocess.run(["git", "ls-files", *SPOKEN_OF], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [ROOT / name for name in listed.stdout.splitlines() if name.endswith((".py", ".md", ".html", ".js"))]
    return {str(p.relative_to(ROOT)): p.read_text(encoding="utf-8") for p in paths if p != SOURCES and p.exists()}


def named(project: str, text: str) -> bool:
    """Whether `text` has the project's name as a word."""
    return re.search(rf"(?<![\w-]){re.escape(project)}(?![\w-]| Judge)", text) is not None


def test_every_row_states_a_version_or_a_commit() -> None:
    assert [project for project, read in rows().items() if not _VERSION.search(read)] == []


@pytest.mark.parametrize("project", PROJECTS)
def test_a_project_has_a_row_exactly_if_a_text_names_it(project: str) -> None:
    paths = [path for path, text in texts().items() if named(project, text)]
    assert any(named(project, first) for first in rows()) == bool(paths), paths


def test_no_row_is_of_a_project_that_these_tests_do_not_search_for() -> None:
    assert [first for first in rows() if not any(named(project, first) for project in PROJECTS)] == []


def test_every_commit_that_the_code_names_is_in_the_table() -> None:
    stated = " ".join(rows().values())
    missing = {
        f"{path}: {commit}"
        for path, text in texts().items()
        if path.endswith(".py")
        for commit in _COMMIT.findall(text)
        if commit[:7] not in stated
    }
    assert missing == set()
