"""Whether what is private and what is public lie apart: buckets and prefixes, and the folder of the pages."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from judge.config import ConfigError, JudgeSettings
from submissions.store.s3_client import BucketPlace, bucket_place

_IN_BUCKETS = ("upload_bucket", "status_bucket", "store", "publish_to")


def require_apart(settings: JudgeSettings) -> None:
    """Lets pass settings of which no place lies within another.

    Raises:
        ConfigError: one does; one line that names both.
        StoreError: an address names no place in a bucket.
    """
    urls = {name: str(getattr(settings, name)) for name in _IN_BUCKETS}
    places = {name: bucket_place(url, name) for name, url in urls.items() if url.startswith("s3://")}
    for (one, first), (other, second) in combinations(places.items(), 2):
        if _nested(first, second):
            raise ConfigError(f"{one} and {other}: one lies within the other: give each a bucket or prefix of its own")
    if "://" in settings.publish_to:
        return
    pages = Path(settings.publish_to).resolve()
    for name, private in _private(settings).items():
        path = private.resolve()
        if path.is_relative_to(pages) or pages.is_relative_to(path):
            raise ConfigError(f"publish_to: {pages} and {name} ({path}), which is private, are not apart: part them")


def _nested(one: BucketPlace, other: BucketPlace) -> bool:
    within = one.prefix.startswith(other.prefix) or other.prefix.startswith(one.prefix)
    return one.bucket == other.bucket and within


def _private(settings: JudgeSettings) -> dict[str, Path]:
    """What nobody but the judge may read, of what lies on this machine."""
    found = {"data": settings.data, "run_dir": settings.run_dir, "log": settings.log, "key_file": settings.key_file}
    store = settings.store.removeprefix("file://")
    if "://" not in store:
        found["store"] = Path(store)
    if settings.registry_config:
        found["registry_config"] = settings.registry_config
    return found
