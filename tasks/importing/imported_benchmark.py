"""What became of one of the benchmarks that an import of a whole layout reads."""

from __future__ import annotations

from typing import NamedTuple

from tasks.datasets.dataset import Dataset


class ImportedBenchmark(NamedTuple):
    """What became of a benchmark.

    Args:
        dataset: None if it was not read.
        note: the published files have more; may be empty.
        missing: names the files that are not there; empty if all are.
        fault: one line that names the file at fault; empty if there is none.
    """

    name: str
    dataset: Dataset | None = None
    note: str = ""
    missing: str = ""
    fault: str = ""
