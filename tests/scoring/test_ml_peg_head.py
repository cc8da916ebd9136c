"""ML-PEG's 77 benchmarks: thresholds, units, weights and levels are those of its files; each has a state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scoring import RawMetric
from scoring.ml_peg import load_facts, ml_peg_score
from tasks.importing.ml_peg.import_layout import benchmarks
from tasks.kinds.registry import KINDS
from tasks.suites.suite import load_suite


@pytest.fixture
def published(reference_data: Path) -> dict[str, Any]:
    """`ml_peg.json`, in the folder `specs` beside that of the reference data."""
    path = reference_data.parent / "specs" / "ml_peg.json"
    if not path.is_file():
        pytest.skip(f"no {path.name} in a folder specs beside {reference_data}")
    return dict(json.loads(path.read_text()))


@pytest.mark.data
def test_thresholds_are_those_of_ml_peg(published: dict[str, Any]) -> None:
    facts = load_facts()
    assert facts.benchmarks.keys() == published.keys()
    for name, benchmark in published.items():
        ours = facts.benchmarks[name]
        assert ours.category == benchmark["category"]
        assert ours.metrics.keys() == benchmark["metrics"].keys()
        for metric, stated in benchmark["metrics"].items():
            weight = stated.get("weight")
            expected = (
                float(stated["good"]),
                float(stated["bad"]),
                stated.get("unit") or "-",
                1.0 if weight is None else float(weight),
                stated.get("level_of_theory") or stated.get("level of theory") or "",
            )
            found = ours.metrics[metric]
            assert (found.good, found.bad, found.unit, found.weight, found.level_of_theory) == expected, (name, metric)


def test_every_benchmark_has_a_state_that_the_judge_keeps() -> None:
    facts, importable = load_facts(), set(benchmarks())
    for name, benchmark in facts.benchmarks.items():
        assert benchmark.cover is not None
        assert set(benchmark.kinds) <= set(KINDS)
        assert bool(benchmark.kinds) == (benchmark.cover != "no")
        if benchmark.importer == "ml-peg":
            assert name in importable
        if benchmark.cover == "full":
            assert benchmark.importer in ("ml-peg", "mlipaudit")
            assert not benchmark.reason
            assert benchmark.measured.keys() == benchmark.metrics.keys(), name
    second = {"low_dimensional_relaxation_1D", "lattice_constants_experimental"}
    assert {name for name in importable if name not in facts.benchmarks} == second
    suite = load_suite("ml-peg")
    asked = {task.ml_peg for task in suite.tasks}
    assert asked == {name for name, benchmark in facts.benchmarks.items() if benchmark.measured}
    assert sum(b.cover == "full" for b in facts.benchmarks.values()) >= 58


@pytest.mark.parametrize(
    ("preset", "categories"),
    [
        # weight_presets.yml at commit 9bc7395, whose Lanthanides are f-block at 6a03c7a; Materials has Defects there.
        ("Materials", "Bulk Crystals, Defects, NEBs, Physicality, Surfaces"),
        (
            "Molecules",
            "Conformers, Electric Field, Isomers, Molecular Crystals, Molecular Reactions, Molecular Systems, "
            "Non-covalent interactions, Physicality, Supramolecular Complexes, Thermochemistry",
        ),
        ("Reactivity", "Isomers, Molecular Dynamics, Molecular Reactions, NEBs, Thermochemistry"),
        ("Non-covalent", "Conformers, Molecular Crystals, Non-covalent interactions, Supramolecular Complexes"),
        ("Transition metals & lanthanides", "Transition metal complexes, f-block"),
    ],
)
def test_presets_have_the_categories_of_ml_peg(preset: str, categories: str) -> None:
    facts = load_facts()
    assert len(facts.presets) == 5
    weights = facts.weights(preset).categories
    assert [name for name, weight in weights.items() if weight] == sorted(categories.split(", "))
    assert set(weights.values()) == {0.0, 1.0}


def test_a_slip_acts_only_where_it_changes_a_score() -> None:
    facts = load_facts()
    assert {slip.name for slip in facts.slips if slip.acts} == {"preset without defects", "signed deviation"}
    for slip in facts.slips:
        if not any(facts.benchmarks[name].measured for name in slip.benchmarks) and not slip.acts:
            mentions = slip.corrected.startswith("not measured here")
            assert mentions or facts.benchmarks[slip.benchmarks[0]].cover == "part", slip.name


PEAK = "Fe +2 Peak Experimental Ref Deviation"


@pytest.mark.parametrize(("variant", "value"), [("as_published", 1.0), ("corrected", 0.25)])
def test_a_deviation_with_a_sign(variant: Any, value: float) -> None:
    measured = {"oxidation_states": {PEAK: RawMetric("oxidation_states", PEAK, -0.75, "σ")}}
    term = ml_peg_score(measured, load_facts(), variant)
    leaf = next(t for _, t in term.walk() if t.raw is not None and t.raw.metric == PEAK)
    assert leaf.value == pytest.approx(value)


@pytest.mark.parametrize(("variant", "share"), [("as_published", 0.0), ("corrected", 0.2)])
def test_the_preset_of_materials_drops_defects_as_published(variant: Any, share: float) -> None:
    term = ml_peg_score({}, load_facts(), variant, preset="Materials")
    (defects,) = [part for part in term.parts if part.name == "Defects"]
    assert defects.share == pytest.approx(share)
