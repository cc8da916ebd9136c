"""Whether the tasks that a data set serves can be built from it: supercells, bands, cells that relax.

What cannot be built fails in the same way for every model. So it is a fault of the data set, and is found at import.
"""

from __future__ import annotations

from tasks.datasets.card import DatasetError
from tasks.datasets.dataset import Dataset
from tasks.importing.checks.number_sizes import extreme_numbers
from tasks.kind import Building
from tasks.kinds.registry import KINDS

REMEDY = "correct it, or leave the item out"


def build_faults(dataset: Dataset) -> list[str]:
    """A line for each item that a kind could not build: table, item, field and fault; each line once.

    If there are numbers with which nothing can be computed, these alone are named.
    """
    faults = extreme_numbers(dataset)
    for kind in () if faults else KINDS.values():
        if isinstance(kind, Building):
            try:
                faults += kind.build_faults(dataset)
            except ValueError as error:
                faults.append(" ".join(str(error).split()))
    return list(dict.fromkeys(faults))


def check_buildable(dataset: Dataset, where: object) -> None:
    """Returns if everything can be built.

    Args:
        where: the file or folder at fault, for the error.

    Raises:
        DatasetError: an item cannot be built; one line that names it.
    """
    faults = build_faults(dataset)
    if faults:
        more = f" ({len(faults)} such items in all)" if len(faults) > 1 else ""
        raise DatasetError(f"{where}: {faults[0]}{more}; {REMEDY}")
