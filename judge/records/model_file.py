"""Trained models in the store, `models/<sha256>.tar`: what a trainer left, under the hash of the archive.

They are as secret as the labels that they learned from: nothing publishes them.
"""

from __future__ import annotations

from judge.records.hashed_file import read_hashed, store_hashed
from sandbox.training import TrainedModel
from submissions.store.interface import Store


def model_path(digest: str) -> str:
    """The key of the model with this sha256."""
    return f"models/{digest}.tar"


def store_model(store: Store, model: TrainedModel) -> str:
    """The sha256 of `model`, which is stored now under that name.

    Raises:
        StoreError: it cannot be written.
    """
    return store_hashed(store, model.packed(), model_path)


def read_model(store: Store, digest: str) -> TrainedModel:
    """The model with this sha256.

    Raises:
        StoreError: it is gone or damaged.
    """
    return TrainedModel.unpacked(read_hashed(store, model_path(digest), digest))
