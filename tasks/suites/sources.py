"""The pinned sources of a suite's data sets: git repositories at a commit, and files with their hash.

A source says where files are, and nothing about what is measured: it enters no key and no digest of a suite.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Self

from pydantic import AfterValidator, Field, PositiveInt, model_validator

from tasks.datasets.card_parts import CardPart
from tasks.structures.validation_errors import SLUG

SHA256 = r"^[0-9a-f]{64}$"
COMMIT = r"^[0-9a-f]{40}$"
ADDRESS = r"^(https?|file|ssh)://[^\s\x00-\x1f]+$"
FILE_ADDRESS = r"^https?://[^\s\x00-\x1f]+$"


def _within(path: str) -> str:
    """A relative path that does not leave its folder."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or not path.isprintable():
        raise ValueError(f"{path!r} must be a relative path without '..'")
    return path


PathWithin = Annotated[str, AfterValidator(_within)]


class SourceFile(CardPart):
    """A file of a source, or a folder of a git repository.

    Args:
        path: in the repository, or below the address.
        to: the path under which the import command reads it; empty: the last part of `path`.
        sha256: must be stated for a file that git does not verify.
        n_bytes: its size; must be stated for a file that git does not verify.
    """

    path: PathWithin
    to: PathWithin | None = None
    sha256: str | None = Field(None, pattern=SHA256)
    n_bytes: PositiveInt | None = Field(None, alias="bytes")

    @property
    def local(self) -> PurePosixPath:
        """Where it is kept, in the folder of its source."""
        return PurePosixPath(self.to or PurePosixPath(self.path).name)


class Source(CardPart):
    """Files that data sets are imported from.

    Args:
        git: the address of a git repository; empty: `url` is stated.
        commit: the full hash of the commit.
        url: the address to which the paths of the files are appended.
        licence: of the files, in the words of the publisher.
        datasets: NAME@VERSION of those that are imported from it, by the import commands of their tasks.
    """

    name: str = Field(pattern=SLUG)
    git: str = Field("", pattern=rf"^$|{ADDRESS}")
    commit: str = Field("", pattern=rf"^$|{COMMIT}")
    url: str = Field("", pattern=rf"^$|{FILE_ADDRESS}")
    licence: str = Field(min_length=1)
    datasets: Annotated[tuple[str, ...], Field(min_length=1)]
    files: Annotated[tuple[SourceFile, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _is_pinned(self) -> Self:
        if bool(self.git) == bool(self.url) or bool(self.git) != bool(self.commit):
            raise ValueError("state git and commit, or url")
        if self.url and any(file.sha256 is None or file.n_bytes is None for file in self.files):
            raise ValueError("each file of a url must state sha256 and bytes")
        kept = [file.local for file in self.files]
        for path in kept:
            if kept.count(path) > 1 or any(parent in kept for parent in path.parents):
                raise ValueError(f"two files are kept as {path}: state another `to`")
        return self

    @property
    def n_bytes(self) -> int | None:
        """The size of all files; None if one is not stated."""
        sizes = [file.n_bytes for file in self.files]
        return None if None in sizes else sum(size or 0 for size in sizes)
