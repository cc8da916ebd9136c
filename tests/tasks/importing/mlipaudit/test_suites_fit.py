"""The data sets of the import are those that MLIPAudit's suites name, and their kinds can judge them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from ase.calculators.emt import EMT

from tasks.datasets.dataset import DatasetError
from tasks.dynamics.analysis_checks import check_analysis
from tasks.importing.mlipaudit.content import RunMode
from tasks.importing.mlipaudit.import_layout import READERS, benchmarks_of, dataset_name, import_mlipaudit
from tasks.kind import Watch
from tasks.kinds.registry import KINDS
from tasks.model.calculator import InProcessCalculator
from tasks.suites.suite import load_suite
from tests.tasks.importing.mlipaudit.made_up_boxes import write_liquids

LARGE = ("water", "proteins", "solvents")  # EMT has no chlorine


@pytest.mark.parametrize("mode", get_args(RunMode))
def test_the_suite_of_a_mode_names_what_the_import_writes(mode: RunMode) -> None:
    suite = load_suite("mlipaudit" if mode == "standard" else f"mlipaudit-{mode}")
    of_mode = {name: benchmarks_of(name, mode) for name in READERS}
    written = {f"{dataset_name(name, mode)}@1": benchmarks for name, benchmarks in of_mode.items() if benchmarks}
    assert {task.dataset: task.mlipaudit for task in suite.tasks} == written


def test_what_differs_in_the_paper_is_another_data_set_and_has_another_release() -> None:
    now, paper = ({task.name: task for task in load_suite(name).tasks} for name in ("mlipaudit", "mlipaudit-2025"))
    changed = {name for name, task in paper.items() if task != now[name]}
    assert changed == {"conformers", "water", "solvents", "proteins"}
    others = {task.dataset for name in ("", "-fast", "-dev") for task in load_suite(f"mlipaudit{name}").tasks}
    assert not others & {paper[name].dataset for name in changed}
    assert load_suite("mlipaudit").mlipaudit_release != load_suite("mlipaudit-2025").mlipaudit_release
    for name in ("water", "solvents"):
        parameters: Any = paper[name].parameters
        assert (parameters.ensemble, parameters.temperature_k) == ("nvt", 300.0)
    proteins: Any = paper["proteins"].parameters
    assert proteins.minimise_steps == 0


@pytest.mark.parametrize("benchmark", ["water_radial_distribution", "solvent_radial_distribution"])
def test_liquids_of_the_paper_can_be_judged_at_constant_volume(benchmark: str, tmp_path: Path) -> None:
    write_liquids(tmp_path)
    [result] = import_mlipaudit(tmp_path, "2025", [benchmark])
    assert (result.name, result.dataset is not None) == (benchmark, True)
    assert result.dataset is not None
    assert result.dataset.card.full_name == f"mlipaudit-{benchmark.replace('_', '-')}-2025@1"
    (task,) = (task for task in load_suite("mlipaudit-2025").tasks if task.mlipaudit == (benchmark,))
    parameters: Any = task.parameters
    measures = set()
    for system in result.dataset.table.systems:
        for analysis in system.analyses:
            check_analysis(system.id, analysis, result.dataset.frames.take([system.structure]), parameters)
            measures.add(analysis.measure)
    assert measures == {"first_peak"} | ({"rdf_rmse"} if "water" in benchmark else set())


def test_the_paper_has_no_later_benchmark(tmp_path: Path) -> None:
    for name in ("water_density", "nve_energy_conservation", "inference_speed"):
        with pytest.raises(DatasetError, match=f"--only: the mode 2025 has no benchmark '{name}'; take one of ref"):
            list(import_mlipaudit(tmp_path, "2025", [name]))
    titles = [result.name for result in import_mlipaudit(tmp_path, "2025")]
    assert titles == [", ".join(task.mlipaudit) for task in load_suite("mlipaudit-2025").tasks]


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
