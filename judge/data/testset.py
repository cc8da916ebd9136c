"""The part of a data set that a plan needs: hashes and label sets from its card, and the number of structures.

No labels are read, and only the header of the structures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from safetensors import SafetensorError, safe_open

from judge.records.content_keys import hash_of
from tasks.datasets.card import LabelSet
from tasks.datasets.dataset import read_card
from tasks.datasets.dataset_checks import FRAMES, LABELS, TABLE


@dataclass(frozen=True)
class TestSet:
    """The hashes and label sets of a data set.

    Args:
        reference_sha256: the hash of the card's fields that metrics depend on, so without citation, licence and title.
        label_sets: names of its levels of theory.
        default_label_set: for submissions that declare none of these.
        theories: the label sets, by name.
        n_structures: 0 if the file is missing or broken, which is an error only when the structures are read.
    """

    __test__ = False  # pytest must not collect it

    name: str
    frames_sha256: str
    labels_sha256: str
    table_sha256: str
    reference_sha256: str
    label_sets: tuple[str, ...]
    default_label_set: str | None
    theories: Mapping[str, LabelSet] = field(default_factory=dict)
    n_structures: int = 0


def read_testset(data: Path, name: str) -> TestSet:
    """The data set of that name in the data root.

    Raises:
        DatasetError: one line that names file and field.
    """
    card = read_card(data / name)
    return TestSet(
        name=name,
        frames_sha256=card.sha256.get(FRAMES, ""),
        labels_sha256=card.sha256.get(LABELS, ""),
        table_sha256=card.sha256.get(TABLE, ""),
        reference_sha256=hash_of({"baselines": card.baselines, "cluster_column": card.cluster_column}),
        label_sets=tuple(sorted(card.label_sets)),
        default_label_set=card.default_label_set,
        theories=dict(card.label_sets),
        n_structures=_n_structures(data / name / FRAMES),
    )


def _n_structures(path: Path) -> int:
    try:
        with safe_open(path, framework="numpy") as file:
            return int(file.get_slice("n_atoms").get_shape()[0])
    except (OSError, SafetensorError, IndexError):
        return 0
