"""Where a site is published: a folder, or a bucket. What each kind of place can do, and the one that is meant."""

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
    """Files of a site that no reader sees yet."""

    def add(self, name: str, content: bytes) -> None:
        """Takes the file that is to lie at `name`."""
        ...

    def show(self) -> object:
        """Puts every file in its place, `index.html` last."""
        ...


class SitePlace(Protocol):
    """A place for a site.

    Raises (all methods):
        StoreError: the bucket does not answer, or holds what is not the site's.
        OSError: the folder cannot be written.
    """

    def path(self, name: str = "") -> str:
        """How a person calls the file `name` there; without a name, the place."""
        ...

    def may_be_absent(self) -> bool:
        """Whether it says nothing that no pages are there: this may be another machine than that with the folder."""
        ...

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """What the files hold, unpacked, in order; None for one that is not there or cannot be unpacked."""
        ...

    def misserved(self, names: Iterable[str]) -> tuple[str, ...]:
        """The files that are there, and are handed out as something else than they are, or kept for another time."""
        ...

    def difference(self, files: Mapping[str, bytes], own: Collection[str] = ()) -> Mapping[str, tuple[str, ...]]:
        """The paths of `files` that are `new` there, `changed`, the `same`, and of what would be `removed`.

        Args:
            own: names that are put again, whatever lies there: nobody else can have put it.
        """
        ...

    def staged(self, files: Mapping[str, bytes], own: Collection[str] = ()) -> AbstractContextManager[StagedSite]:
        """`files` in the place, but for what a reader would see; what is not shown when this is left, never is.

        Args:
            own: as of `difference`.
        """
        ...


def published_to(settings: JudgeSettings, to: str | None) -> JudgeSettings:
    """The settings with which one publishes for once to `to`, or as they are where it is None."""
    if to is None:
        return settings
    return settings.model_copy(update={"publish_to": to if "://" in to else str(Path(to).expanduser().absolute())})


def open_site(settings: JudgeSettings) -> SitePlace:
    """The place that the settings name.

    Raises:
        ConfigError: another kind of address, or one at which private records would be published.
        StoreError: no S3 service can be there.
    """
    where = settings.publish_to
    if "://" in where and not where.startswith("s3://"):
        raise ConfigError(f"publish_to: {where[:80]!r} is not known here: give a folder, or s3://BUCKET/PREFIX")
    require_apart(settings)
    if where.startswith("s3://"):
        return BucketSite.at(where, settings.endpoint_url, timedelta(hours=settings.site_grace_hours))
    return FolderSite(Path(where))
