"""The store that an address names."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from submissions.store.interface import Store, StoreError
from submissions.store.local import LocalStore
from submissions.store.s3 import S3Store


def open_store(url: str, endpoint_url: str = "") -> Store:
    """The store at `url`: a path, `file:///path`, or `s3://bucket/prefix`.

    Args:
        endpoint_url: of the S3 service; empty for that of the AWS chain.

    Raises:
        StoreError: the address is not valid or its kind not known, or the path is not a directory.
    """
    if url.startswith("s3:") and "://" not in url:
        raise StoreError(f"store: {url} is no address: a bucket is s3://BUCKET/PREFIX")
    parts = urlsplit(url)
    if parts.scheme == "s3" and "://" in url:
        return S3Store.at(url, endpoint_url)
    if "://" in url and parts.scheme != "file":
        raise StoreError(f"store: {parts.scheme}:// is not known here: give a local directory, or s3://BUCKET/PREFIX")
    path = Path(unquote(parts.path)) if "://" in url else Path(url)
    if path.exists() and not path.is_dir():
        raise StoreError(f"store: {path} is not a directory: move it away, or set store")
    return LocalStore(path)
