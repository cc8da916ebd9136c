"""Trained models in the store, `models/<sha256>.tar`: what a trainer left, under the hash of the archive.

They are as secret as the labels that they learned from: nothing publishes them.
"""

from __future__ import annotations

import hashlib

from sandbox.training import TrainedModel
from submissions.store.interface import Store, StoreError


def model_path(digest: str) -> str:
    """The key of the model with this sha256."""
    return f"models/{digest}.tar"


def store_model(store: Store, model: TrainedModel) -> str:
    """The sha256 of `model`, which is stored now under that name.

    Raises:
        StoreError: it cannot be written.
    """
    data = model.packed()
    digest = hashlib.sha256(data).hexdigest()
    key = model_path(digest)
    if not store.put_if_absent(key, data):
        raise StoreError(f"store: {key} is damaged: delete it and evaluate again")
    return digest


def read_model(store: Store, digest: str) -> TrainedModel:
    """The model with this sha256.

    Raises:
        StoreError: it is gone or damaged.
    """
    key = model_path(digest)
    try:
        data = store.get(key)
    except KeyError:
        raise StoreError(f"store: {key} is gone: restore it, or delete the attempt that names it") from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise StoreError(f"store: {key} is damaged: restore it, or delete it and the attempt that names it")
    return TrainedModel.unpacked(data)
