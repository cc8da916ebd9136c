"""The published methods that a suite states: read unchanged, or refused with file and field."""

from __future__ import annotations

import pytest

from tasks.suites.suite import StatedReference, SuiteError, read_suite

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
