"""The site on disk: static files, published so that a reader never sees half of two versions.

Assets carry a hash in their name and come first, then the pages of the submissions, then `index.html`. Each file is
written beside its place and moved there. `site.json` lists what was written, so that a later build removes pages of its
own that are no longer made, and nothing else. An old stylesheet outlives its pages by one build: somebody may have
loaded a page a moment ago that still asks for it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from pydantic import Field, ValidationError

from judge.pages import render
from judge.stored_board import read_board
from submissions.records import Record
from submissions.store import Store
from tasks.suite import Suite

MANIFEST = "site.json"
_log = logging.getLogger(__name__)


class SiteManifest(Record):
    """`site.json`: sha256 by path of what the last build wrote, and what it kept for readers of the build before."""

    files: dict[str, str] = Field(default_factory=dict)
    retired: tuple[str, ...] = ()


def build_site(
    store: Store,
    suite: Suite,
    out_dir: Path,
    on_problem: Callable[[str], None] = _log.warning,
    current: Collection[str] | None = None,
) -> list[Path]:
    """The files written, `index.html` last. Judging the same records again writes the same bytes.

    Args:
        store: with submissions and results.
        out_dir: made if it is not there; files in it that are not the site's own stay.
        on_problem: told a line about each record that cannot be read or added up, and is left out.
        current: keys of the results that fit the present data sets, where that is known: see `load_results`.
    """
    return publish(render(read_board(store, suite, on_problem, current)), out_dir)


def publish(files: Mapping[str, bytes], out_dir: Path) -> list[Path]:
    """The paths of `files` in `out_dir`, written so that no reader sees a page whose assets are not there yet.

    Args:
        files: content by path in the site, with forward slashes; must hold `index.html`.
    """
    previous = _read_manifest(out_dir)
    ordered = sorted(files, key=lambda name: (name == "index.html", not _is_asset(name), name))
    for name in ordered:
        _replace(out_dir / name, files[name])
    gone = set(previous.files) - set(files)
    retired = {name for name in gone if _is_asset(name)}
    for name in (gone | set(previous.retired)) - retired - set(files):
        _remove(out_dir, name)
    hashes = {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)}
    manifest = SiteManifest(files=hashes, retired=tuple(sorted(retired)))
    _replace(out_dir / MANIFEST, manifest.model_dump_json(indent=1).encode() + b"\n")
    return [out_dir / name for name in ordered]


def _is_asset(name: str) -> bool:
    return name.startswith("assets/")


def _read_manifest(out_dir: Path) -> SiteManifest:
    """What the last build wrote; nothing where that cannot be told, so that nothing is removed."""
    try:
        return SiteManifest.model_validate_json((out_dir / MANIFEST).read_bytes())
    except (FileNotFoundError, ValidationError):
        return SiteManifest()


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _remove(out_dir: Path, name: str) -> None:
    """Removes a file of the site; a manifest that points out of the site is not followed."""
    path = (out_dir / name).resolve()
    if path.is_relative_to(out_dir.resolve()):
        path.unlink(missing_ok=True)
