"""Checks that private and public places do not overlap: buckets with prefixes, and the folder of the pages."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from judge.config import ConfigError, JudgeSettings
from submissions.store.s3_client import BucketPlace, bucket_place

_IN_BUCKETS = ("upload_bucket", "status_bucket", "store", "publish_to")


def require_apart(settings: JudgeSettings) -> None:
    """Returns if no place of the settings lies within another.

    Raises:
        ConfigError: two overlap; one line that names both.
        StoreError: an address is not valid.
    """
    urls = {name: str(getattr(settings, name)) for name in _IN_BUCKETS}
    places = {name: bucket_place(url, name) for name, url in urls.items() if url.startswith("s3://")}
    for (name, place), (other_name, other_place) in combinations(places.items(), 2):
        if _nested(place, other_place):
            remedy = "give each a bucket or prefix of its own"
            raise ConfigError(f"{name} and {other_name}: one lies within the other: {remedy}")
    if "://" in settings.publish_to:
        return
    pages = Path(settings.publish_to).resolve()
    for name, private in _private(settings).items():
        path = private.resolve()
        if path.is_relative_to(pages) or pages.is_relative_to(path):
            raise ConfigError(
                f"publish_to: {pages} and {name} ({path}), which is private: one lies within the other: separate them"
            )


def _nested(place: BucketPlace, other: BucketPlace) -> bool:
    is_within = place.prefix.startswith(other.prefix) or other.prefix.startswith(place.prefix)
    return place.bucket == other.bucket and is_within


def _private(settings: JudgeSettings) -> dict[str, Path]:
    """The private paths on this machine, by setting."""
    paths = {"data": settings.data, "run_dir": settings.run_dir, "log": settings.log, "key_file": settings.key_file}
    store = settings.store.removeprefix("file://")
    if "://" not in store:
        paths["store"] = Path(store)
    if settings.registry_config:
        paths["registry_config"] = settings.registry_config
    return paths
