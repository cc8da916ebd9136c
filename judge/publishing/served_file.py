"""A file of the site as it is served on the web: its bytes and headers.

Text is compressed here, because a bucket serves its objects unchanged. Equal files give equal bytes, so that the
bucket's listing shows whether a file has changed.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from pathlib import PurePosixPath
from typing import NamedTuple

from judge.publishing.folder import is_asset

GZIP = "gzip"
FOR_EVER = "public, max-age=31536000, immutable"  # the name contains a hash of the content
ASK_AGAIN = "no-cache"  # it may be cached, and is revalidated each time
MAX_BYTES = 256 * 1024**2  # of a published file, unpacked

_TEXT = {
    ".atom": "application/atom+xml; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".svg": "image/svg+xml; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}
_OTHER = {".ico": "image/x-icon", ".png": "image/png", ".webp": "image/webp", ".woff2": "font/woff2"}


class ServedAs(NamedTuple):
    """The headers of a file, named as in HTTP."""

    content_type: str
    content_encoding: str
    cache_control: str

    def __str__(self) -> str:
        return " | ".join(self)


class SiteObject(NamedTuple):
    """A file of the site, ready to be put into a bucket.

    Args:
        sha256: of the unpacked file, not of `body`.
    """

    body: bytes
    sha256: str
    served: ServedAs

    @property
    def md5(self) -> bytes:
        return hashlib.md5(self.body, usedforsecurity=False).digest()


def site_object(name: str, content: bytes) -> SiteObject:
    """The object for the file `name` of the site."""
    suffix = PurePosixPath(name).suffix
    packed = gzip.compress(content, compresslevel=9, mtime=0) if suffix in _TEXT else content
    encoding, body = (GZIP, packed) if len(packed) < len(content) else ("", content)
    return SiteObject(body, hashlib.sha256(content).hexdigest(), _served(name, encoding))


def is_well_served(name: str, served: ServedAs) -> bool:
    """Whether these headers are right for the file `name`."""
    return served in (_served(name, ""), _served(name, GZIP))


def _served(name: str, encoding: str) -> ServedAs:
    suffix = PurePosixPath(name).suffix
    kind = _TEXT.get(suffix) or _OTHER.get(suffix, "application/octet-stream")
    return ServedAs(kind, encoding, FOR_EVER if is_asset(name) else ASK_AGAIN)


def unpacked(body: bytes, content_encoding: str, max_bytes: int = MAX_BYTES) -> bytes | None:
    """The file in `body`; None if it cannot be unpacked, or is larger than `max_bytes`."""
    if content_encoding not in ("", GZIP):
        return None
    if not content_encoding:
        return body if len(body) <= max_bytes else None
    reader = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        content = reader.decompress(body, max_bytes + 1)
    except zlib.error:
        return None
    return content if reader.eof and not reader.unused_data and len(content) <= max_bytes else None
