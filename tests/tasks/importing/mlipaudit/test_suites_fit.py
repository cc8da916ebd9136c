"""The data sets of the import are those that MLIPAudit's suites name, and their kinds can judge them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from ase.calculators.emt import EMT

from tasks.importing.mlipaudit.content import RunMode
from tasks.importing.mlipaudit.import_layout import READERS, dataset_name, import_mlipaudit
from tasks.kind import Watch
from tasks.kinds.registry import KINDS
from tasks.model.calculator import InProcessCalculator
from tasks.suites.suite import load_suite

LARGE = ("water", "proteins", "solvents")  # EMT has no chlorine


@pytest.mark.parametrize("mode", ["standard", "fast", "dev"])
def test_the_suite_of_a_mode_names_what_the_import_writes(mode: str) -> None:
    suite = load_suite("mlipaudit" if mode == "standard" else f"mlipaudit-{mode}")
    written = {f"{dataset_name(benchmark, cast(RunMode, mode))}@1": reader for benchmark, reader in READERS.items()}
    assert {task.dataset for task in suite.tasks} == written.keys()
    for task in suite.tasks:
        benchmarks = [name for name, reader in READERS.items() if reader is written[task.dataset]]
        assert set(task.mlipaudit) == {*benchmarks, written[task.dataset].shared} - {""}


def test_the_smallest_mode_is_whole_and_is_judged(reference_data: Path, watch: Watch) -> None:
    results = list(import_mlipaudit(reference_data / "mlipaudit", "dev"))
    assert [result.missing or result.fault for result in results] == [""] * 15
    datasets = {result.dataset.card.full_name: result.dataset for result in results if result.dataset is not None}
    model = InProcessCalculator(EMT())
    for task in load_suite("mlipaudit-dev").tasks:
        dataset, kind = datasets[task.dataset], KINDS[task.kind]
        assert bool(task.kind != "efficiency") == bool(dataset.card.label_sets)
        if task.name in LARGE or task.kind == "efficiency":
            continue
        parameters: Any = task.parameters
        measured = kind.measure(kind.observe(dataset.structures, parameters, model, watch), dataset, parameters, None)
        assert len(measured.items.id) >= 1, task.name
