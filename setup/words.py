"""Refuses identifiers that a reader would have to learn, and class names that are defined twice.

An identifier is refused if one of its words is in `REFUSED`: `Letter`, `letter_desk` and `as_letter` all have `letter`.
`STORED_KEYS` lists keys of stored records, which cannot change. Ordinary words (`found`, `own`, `of`) are left to
reviewers.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

# The word, and the term to use.
REFUSED = {
    "bench": "execution target",
    "benches": "execution targets",
    "culprit": "faulty resource",
    "desk": "session",
    "fate": "decision",
    "fates": "decisions",
    "guise": "transformed copy",
    "guises": "transformed copies",
    "letter": "submission request",
    "letters": "submission requests",
    "mailbox": "status bucket",
    "mend": "remedy",
    "mended": "corrected",
    "mends": "remedies",
    "reckon": "compute",
    "reckoned": "computed",
    "reckoning": "computation",
    "standing": "decisions",
    "standings": "decisions",
}
# Keys of stored or served records, and columns of data sets: they cannot change.
STORED_KEYS = {"culprit"}
# These files run inside an author's image. Their bytes are part of every observation's key.
FROZEN = ("sandbox/guest/", "tasks/model/ase_loop.py")
PRODUCT = ("judge/", "sandbox/", "scoring/", "submissions/", "tasks/")
SEPARATE_PROGRAMS = ("sandbox/guest/", "sandbox/selftest/hostile/", "submissions/examples/", "submissions/starters/")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def words_of(identifier: str) -> set[str]:
    """The words of an identifier in snake or camel case, in lower case."""
    return {word.lower() for word in _WORDS.findall(identifier)}


def identifiers(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each identifier in Python source, those in f-strings included."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FormattedValue):
            for part in ast.walk(node.value):
                if isinstance(part, ast.Name):
                    yield part.lineno, part.id


def refused(source: str) -> Iterator[tuple[int, str, str]]:
    """Line, identifier and the term to use, for each identifier that is refused."""
    for line, name in sorted(set(identifiers(source))):
        if name not in STORED_KEYS:
            for word in sorted(words_of(name) & REFUSED.keys()):
                yield line, name, REFUSED[word]


def shared_class_names(sources: dict[str, str]) -> Iterator[str]:
    """A line for each class name that the product defines twice."""
    places = defaultdict(list)
    for path, source in sources.items():
        if path.startswith(PRODUCT) and not path.startswith(SEPARATE_PROGRAMS):
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(path)
    for name, paths in sorted(places.items()):
        if len(paths) > 1:
            yield f"class {name} is defined {len(paths)} times: {', '.join(paths)}"


def main() -> int:
    """Exit status: 0 if every identifier passes."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.py"], capture_output=True, text=True, check=True
    )
    paths = [path for path in listed.stdout.split() if Path(path).exists()]
    sources = {path: Path(path).read_text(encoding="utf-8") for path in paths}
    complaints = [
        f"{path}:{line}: {name}: use the term {term!r}"
        for path, source in sources.items()
        if not path.startswith((*FROZEN, "setup/words.py"))
        for line, name, term in refused(source)
    ]
    complaints += shared_class_names(sources)
    print("\n".join(complaints) or f"Words: {len(sources)} files pass")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
