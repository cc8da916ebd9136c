"""Checks a layer and compresses its tar again, so that an engine gets no byte that its author has compressed.

Readers of gzip differ on damaged headers, on bytes after the end and on several members. What the judge writes has one
member, and the same bytes for the same tar. The diff ID, and so the image ID, stays as the author stated it.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

from sandbox.image.layer_check import ImageBudget, check_layer

LEVEL = 1  # level 6 takes three times as long for a size that is a tenth smaller
_GZIP_WINDOW = 31  # a window of 32 KiB, with the header and the checksum of gzip; the header has no name and no time


class RewrittenLayer(NamedTuple):
    """A checked layer in the judge's own gzip.

    Args:
        received: `sha256:…` of the bytes as received.
        digest: `sha256:…` of the judge's gzip.
        n_bytes: of the judge's gzip.
        diff_id: `sha256:…` of the tar in both.
    """

    received: str
    digest: str
    n_bytes: int
    diff_id: str
    unpacked_bytes: int


def rewrite_layer(chunks: Iterable[bytes], budget: ImageBudget, write: Callable[[bytes], object]) -> RewrittenLayer:
    """The layer whose bytes are `chunks`, after its tar was written as gzip.

    Args:
        write: called with each piece of the gzip. If the layer is refused, what was written is of no use.

    Raises:
        SubmissionFault: as `check_layer`.
    """
    gzip, sha256, n_bytes = zlib.compressobj(LEVEL, wbits=_GZIP_WINDOW), hashlib.sha256(), 0

    def put(piece: bytes) -> None:
        nonlocal n_bytes
        sha256.update(piece)
        n_bytes += len(piece)
        write(piece)

    checked = check_layer(chunks, budget, keep=lambda tar: put(gzip.compress(tar)))
    put(gzip.flush())
    digest = f"sha256:{sha256.hexdigest()}"
    return RewrittenLayer(checked.digest, digest, n_bytes, checked.diff_id, checked.unpacked_bytes)
