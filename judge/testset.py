"""What the plan must know of a data set: hashes and label sets, read from its card. No structure or label is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from judge.keys import hash_of
from tasks.card import LabelSet
from tasks.dataset import read_card
from tasks.dataset_checks import FRAMES, LABELS, TABLE


@dataclass(frozen=True)
class TestSet:
    """A data set as the keys see it.

    Args:
        reference_sha256: of what the card states and metrics depend on: no citation, licence or title.
        label_sets: names of the levels of theory that it has labels of.
        default_label_set: counts where the submission declares none of these.
        theories: the label sets, by name.
    """

    __test__ = False  # for pytest: not a test

    name: str
    frames_sha256: str
    labels_sha256: str
    table_sha256: str
    reference_sha256: str
    label_sets: tuple[str, ...]
    default_label_set: str | None
    theories: Mapping[str, LabelSet] = field(default_factory=dict)


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
    )
