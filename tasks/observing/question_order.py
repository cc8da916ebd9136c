"""The order of the questions: random, so that it reveals neither names nor indices of structures.

The order of a data set often reveals what a structure is (along a scan, by composition, the hard ones last), and the
position in it would be a name under which a model could look up answers. The random order follows from the hash of the
structures, so it is always the same for the same structures and depends on no name or index. Anyone who has the
structures has their hash: the order of a hidden data set also depends on a secret of the store.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.structures.frames import Int


def generator_for(
    frames_sha256: str, observe_version: int, secret: bytes = b"", purpose: str = ""
) -> np.random.Generator:
    """The generator of random numbers in the questions about the structures of this hash.

    Args:
        observe_version: of the kind: another version draws other numbers.
        secret: of the store; empty: the numbers follow from the other arguments, which anybody may know.
        purpose: another one draws other numbers, so that draws of one kind do not depend on each other; empty for order
            and copies.
    """
    stated = f"{frames_sha256} {observe_version} {purpose}".rstrip().encode()
    digest = hmac.digest(secret, stated, "sha256") if secret else hashlib.sha256(stated).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))


def put_back(answers: NDArray[Any], order: Int) -> NDArray[Any]:
    """`answers` in the order of the questions: row i of them is the answer to question `order[i]`."""
    in_order = np.empty_like(answers)
    in_order[order] = answers
    return in_order
