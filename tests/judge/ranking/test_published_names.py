"""Every packaged suite fits the LAMBench release that it was published with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ase import Atoms

from judge.ranking.lambench_scores import published_release
from judge.ranking.published_names import check_unit, metric_of
from scoring import ScoringError
from tasks.datasets.card import Difference, Scan, Summand
from tasks.suites.suite import load_suite, packaged_suites
from tests.tasks.kind_examples import EXAMPLES, METALS, PBE, example, observed, rattled


def differences(quantities: Sequence[str]) -> Any:
    """Energy differences as those of a published set: one quantity, or several with groups."""
    rows = [
        Difference(
            id=f"d{i}",
            group=("Desorption", "Dissociation", "Transfer")[i % 3] if quantities != [""] else "",
            quantity=quantities[i // 3 % len(quantities)],
            terms=(
                Summand(structure=i, coefficient=1.0),
                Summand(structure=i + 1, coefficient=-1.0),
            ),
            reference={PBE: 0.5 + i},
        )
        for i in range(6)
    ]
    parameters = {"tolerance": 0.1, "tolerance_quantity": quantities[0]} if quantities[0] else {}
    return example("energy_differences", rattled(7), parameters, table={"differences": rows})


def stacking_faults() -> Any:
    structures = [Atoms(f"{metal}2", [(0, 0, 0), (0, 0, z)]) for metal in METALS[:2] for z in np.linspace(2, 3, 4)]
    scans = [
        Scan(id=m, structures=tuple(range(4 * i, 4 * i + 4)), x=range(4), area=9.0, reference={PBE: (0.0, 0.5, 0.7, 1)})
        for i, m in enumerate(METALS[:2])
    ]
    return example("energy_profiles", structures, {"quantity": "stacking_fault"}, table={"scans": scans})


@pytest.fixture(scope="module")
def metrics_by_kind() -> dict[str, set[str]]:
    """The metrics that each kind gives on data sets like the published ones."""
    examples = [EXAMPLES[name]() for name in ("energy_profiles", "elasticity", "phonons", "compression")]
    examples += [stacking_faults(), differences(["barrier", "reaction energy"]), differences([""])]
    metrics: dict[str, set[str]] = {}
    for kind_example in examples:
        metrics.setdefault(kind_example.kind.name, set()).update(observed(kind_example, {})[0].metrics)
    return metrics


@pytest.mark.parametrize("name", [name for name in packaged_suites() if load_suite(name).release])
def test_every_packaged_suite_fits_the_release_it_was_published_with(
    name: str, metrics_by_kind: dict[str, set[str]]
) -> None:
    suite = load_suite(name)
    release, tasks = published_release(suite), {t.release_name: t for t in suite.tasks if t.release_name}
    assert release.variant == "as_published"
    for published_name, labelled in release.force_field_tasks.items():
        assert (tasks[published_name].kind, tasks[published_name].domain) == ("labelled_frames", labelled.domain)
    assert release.force_field_tasks or release.property_tasks
    for published_name, facts in release.property_tasks.items():
        task = tasks[published_name]
        assert task.domain == facts.domain
        for column in facts.baselines:
            assert metric_of(task.kind, column) in metrics_by_kind[task.kind], column
        if task.kind == "energy_differences":
            check_unit(task.name, task.release_name, "mae", task.parameters.unit)  # type: ignore[attr-defined]
            with pytest.raises(ScoringError, match="hartree"):
                check_unit(task.name, task.release_name, "mae", "hartree")
    known = {*release.force_field_tasks, *release.property_tasks, "nve_md", "inference_efficiency"}
    if release.force_field_tasks and release.property_tasks:
        assert set(tasks) <= known


def test_there_are_suites_with_a_release() -> None:
    assert sum(bool(load_suite(name).release) for name in packaged_suites()) >= 3
    with pytest.raises(ScoringError, match=r"release lambench-9: not known"):
        published_release(replace(load_suite("quickstart"), release="lambench-9"))
