"""The destination of a published site: a folder or a bucket, behind one interface."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from judge.config import ConfigError, JudgeSettings
from judge.publishing.bucket import BucketSite
from judge.publishing.folder import FolderSite
from judge.publishing.overlap_check import require_apart


class StagedSite(Protocol):
    """Files of a site that are not visible yet."""

    def add(self, name: str, content: bytes) -> None:
        """Adds the file `name`."""
        ...

    def show(self) -> object:
        """Puts every file in its place, `index.html` last."""
        ...


class SitePlace(Protocol):
    """A folder or a bucket for a site.

    Raises (all methods):
        StoreError: the bucket does not answer, or has an object in the way that is not the site's own.
        OSError: the folder cannot be written.
    """

    def path(self, name: str = "") -> str:
        """The path or address of the file `name`, for a person; without a name, of the whole site."""
        ...

    def may_be_absent(self) -> bool:
        """Whether missing pages are no defect: the folder may be on another machine."""
        ...

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Names and unpacked content of the files, in order; None for one that is missing or cannot be unpacked."""
        ...

    def misserved(self, names: Iterable[str]) -> tuple[str, ...]:
        """The files that are served with a wrong content type, encoding or cache time."""
        ...

    def difference(self, files: Mapping[str, bytes], rewritten: Collection[str] = ()) -> Mapping[str, tuple[str, ...]]:
        """The paths of `files` that are `new`, `changed` or the `same`, and of the files that would be `removed`.

        Args:
            rewritten: names that belong to the site, and are put again even if they exist.
        """
        ...

    def staged(self, files: Mapping[str, bytes], rewritten: Collection[str] = ()) -> AbstractContextManager[StagedSite]:
        """`files`, prepared but not visible. If `show` is not called in the context, they never become visible.

        Args:
            rewritten: as in `difference`.
        """
        ...


def published_to(settings: JudgeSettings, to: str | None) -> JudgeSettings:
    """The settings with `to` as the destination; unchanged if it is None."""
    if to is None:
        return settings
    return settings.model_copy(update={"publish_to": to if "://" in to else str(Path(to).expanduser().absolute())})


def open_site(settings: JudgeSettings) -> SitePlace:
    """The destination that the settings name.

    Raises:
        ConfigError: the kind of address is not known, or private records would be published.
        StoreError: the address of the S3 service is not valid.
    """
    address = settings.publish_to
    if "://" in address and not address.startswith("s3://"):
        raise ConfigError(f"publish_to: {address[:80]!r} is not known here: give a folder, or s3://BUCKET/PREFIX")
    require_apart(settings)
    if address.startswith("s3://"):
        return BucketSite.at(address, settings.endpoint_url, timedelta(hours=settings.site_grace_hours))
    return FolderSite(Path(address))
