"""The order in which structures are asked about: random, so that it says nothing of their names and indices.

A data set is often in an order that tells what a structure is (along a scan, by composition, the hard ones last), and
its place in that order is a name that answers could be kept under. The order is drawn from the hash of what is asked:
the same structures are always asked about in the same order, and no name or index goes into it. Whoever has the
structures has their hash: of hidden sets a secret of the store goes into it too, without which nobody draws it again.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.structures.frames import Frames, Int


def generator_for(frames_sha256: str, observe_version: int, secret: bytes = b"") -> np.random.Generator:
    """What all is drawn from that is random in asking about the structures of this hash.

    Args:
        observe_version: of the kind: with it all is drawn anew.
        secret: with another all is drawn otherwise; empty: from the rest alone, which anybody may know.
    """
    stated = f"{frames_sha256} {observe_version}".encode()
    digest = hmac.digest(secret, stated, "sha256") if secret else hashlib.sha256(stated).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))


def atoms_of(frames: Frames, order: Int) -> Int:
    """(M,) the atoms of the structures `order` (m,), one structure after another."""
    counts = frames.n_atoms[order]
    ends = np.cumsum(counts)
    return np.repeat(frames.offsets[:-1][order] - ends + counts, counts) + np.arange(int(counts.sum()))


def put_back(answers: NDArray[Any], order: Int) -> NDArray[Any]:
    """`answers` in the order of the questions, where row i of them is about question `order[i]`; each is in it once."""
    sorted_back = np.empty_like(answers)
    sorted_back[order] = answers
    return sorted_back
