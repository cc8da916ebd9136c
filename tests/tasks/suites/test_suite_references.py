"""The published methods that a suite states: read unchanged, or refused with file and field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tasks.importing.ml_peg.import_layout import stated_benchmarks
from tasks.suites.suite import StatedReference, SuiteError, load_suite, read_suite

TASKS = """
name = "mine"
version = "1"
title = "Mine"
[[tasks]]
name = "barriers"
kind = "energy_differences"
dataset = "barriers@1"
domain = "Molecules"
time_limit_s = 60
"""
REFERENCE = """
[[references]]
name = "{name}"
about = "A density functional."
source = "arXiv:2508.13468"
[references.metrics.{task}]
mae = {value}
"""


def text(name: str = "ωB97M-V", task: str = "barriers", value: str = "1.5") -> str:
    return TASKS + REFERENCE.format(name=name, task=task, value=value)


def test_a_reference_is_read() -> None:
    suite = read_suite(text(), "mine.toml")
    about = ("A density functional.", "arXiv:2508.13468")
    assert suite.references == (StatedReference("ωB97M-V", *about, {"barriers": {"mae": 1.5}}),)
    assert [reference.slug for reference in suite.references] == ["ωb97m-v"]
    assert read_suite(TASKS, "mine.toml").references == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (text(task="crystals"), "mine.toml: references.0.metrics: there is no task 'crystals' in the suite"),
        (text(value="-1.0"), "mine.toml: references.0.metrics.barriers.mae: must be at least 0"),
        (text(value="inf"), "mine.toml: references.0.metrics.barriers.mae: must be finite, not inf"),
        (text(value="nan"), "mine.toml: references.0.metrics.barriers.mae: must be finite, not nan"),
        (
            text() + REFERENCE.format(name="ΩB97M V", task="barriers", value="1"),
            "references.1.name: 'ΩB97M V' is taken",
        ),
        (text(name="Composition only"), "references.0.name: 'Composition only' is taken"),
        (text(name="–"), "references.0.name: '–' is taken, or has no letter"),
        (text(name=""), "references.0.name: "),
        (text().replace('source = "arXiv:2508.13468"', ""), "references.0.source"),
    ],
)
def test_a_reference_that_cannot_be_is_refused_in_one_line(given: str, message: str) -> None:
    with pytest.raises(SuiteError) as raised:
        read_suite(given, "mine.toml")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.data
def test_the_functionals_of_gscdb137_are_those_that_were_published(reference_data: Path) -> None:
    """Of 22 sets, each a quantity of one of the five tasks."""
    suite = load_suite("gscdb137")
    n_sets = 0
    for folder in sorted((reference_data / "gscdb").iterdir()):
        published = json.loads((folder / "dft_energies.json").read_text())["published_mae_kcal_per_mol"]
        name = f"{folder.name.casefold()}_mae"
        for functional, value in published.items():
            (row,) = [each for each in suite.references if each.name.replace("ω", "w") == functional]
            (found,) = [metrics[name] for metrics in row.metrics.values() if name in metrics]
            assert found == round(value, 4)
        n_sets += 1
    assert n_sets == 22
    tasks = [task.dataset.removesuffix("@1") for task in suite.tasks]
    sets = [each for each in stated_benchmarks().values() if each.sets]
    assert sum(len(each.sets) for each in sets) == 131
    assert len(tasks) == len(sets) == 5
