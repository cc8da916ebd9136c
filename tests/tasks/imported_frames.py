"""Data sets of labelled frames, imported from a file as `judge data import extxyz` does."""

from __future__ import annotations

from pathlib import Path

from tasks.datasets.card import Card
from tasks.datasets.dataset import Dataset
from tasks.importing.importers import read_structures
from tasks.importing.labelled_import import labelled_dataset


def import_frames(path: Path, card: Card) -> Dataset:
    """The data set in `path`; the labels are those of the card's default label set."""
    return labelled_dataset(card, path, read_structures(path))
