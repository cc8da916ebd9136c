"""How to cite the leaderboard at one version, as BibTeX.

A page cannot state the hash of its own signed manifest, which lists the hash of the page. It states the SHA-256 of
`leaderboard.json`, which the manifest lists too: so a citation identifies one publication, and only one.
"""

from __future__ import annotations

import re
from datetime import UTC
from hashlib import sha256
from typing import NamedTuple

from judge.version import judge_version
from judge.view.formatting import plain
from judge.view.page_context import Frame

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "{": r"\textbraceleft{}",  # BibTeX counts escaped braces, too
    "}": r"\textbraceright{}",
    **{character: f"\\{character}" for character in "&%$#_"},
}
_NO_KEY = re.compile(r"[^A-Za-z0-9]+")


class Citation(NamedTuple):
    """A citation of the leaderboard.

    Args:
        bibtex: one entry.
        data_sha256: of `leaderboard.json`.
    """

    bibtex: str
    data_sha256: str


def citation(frame: Frame) -> Citation:
    """The citation of this version: title, date, versions, address, and the hash of its data.

    Of the time only the day is stated: two publications of equal records on one day have equal pages.
    """
    suite, now = frame.board.suite, frame.sources.now
    published = None if now is None else now.astimezone(UTC)
    digest = sha256(frame.data).hexdigest()
    version = f"suite {suite.name} {suite.version}, scores {frame.board.release.name}, judge {judge_version()}"
    note = "Not published" if published is None else f"Published {published:%Y-%m-%d}"
    fields = {
        "title": f"{{LAMBench Judge}}: {_escaped(suite.title)}",
        "author": "{LAMBench Judge}",
        **({} if published is None else {"year": f"{published:%Y}", "month": f"{published:%b}".lower()}),
        "version": _escaped(version),
        **({"url": _address(frame.sources.site_url)} if frame.sources.site_url else {}),
        "note": f"{note}. SHA-256 of leaderboard.json: {digest}",
    }
    date = "" if published is None else f"-{published:%Y-%m-%d}"
    key = f"lambench-judge-{_NO_KEY.sub('-', suite.name).strip('-')}{date}"
    lines = [f"  {name} = {value if name == 'month' else f'{{{value}}}'}," for name, value in fields.items()]
    return Citation("\n".join([f"@misc{{{key},", *lines, "}"]), digest)


def _escaped(text: str) -> str:
    """The text with TeX's special characters written as TeX wants them."""
    return "".join(_SPECIAL.get(character, character) for character in plain(text))


def _address(url: str) -> str:
    """The address without characters that would end a field of BibTeX."""
    return plain(url).replace("{", "%7B").replace("}", "%7D")
