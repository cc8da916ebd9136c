"""The names of the data sets in a folder, without a look into their cards."""

from __future__ import annotations

from pathlib import Path


def dataset_names(data: Path) -> list[str]:
    """NAME@VERSION of each data set in `data`, in order."""
    return sorted(path.parent.name for path in data.glob("*/card.toml"))
