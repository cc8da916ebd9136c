"""Numbers of the packaged facts, as in their sources. No other test finds a typing error in a TOML file."""

from __future__ import annotations

import pytest

from scoring import load_release
from scoring.ml_peg import load_facts


@pytest.mark.parametrize(
    ("task", "column", "baseline"),
    [
        # deepmodeling/LAMBench, lambench/metrics/downstream_tasks_metrics.yml at commit 05a089b
        ("phonon_mdr", "mae_entropy", 764.8),
        ("torsionnet", "NABH_h", 493),
        ("neb", "ø_Dissociation", 99.37),
        ("wiggle150", "MAE", 105.0576),
        ("elastic", "MAE_K_VRH", 136.2597),
        ("vacancy", "MAE", 4.381),
        ("binding_energy", "MAE", 8.098),
        ("rxn_barrier", "MAE", 20.975),
        ("pressure", "MAE", 2.505),
        ("stacking_fault", "MAE_E", 1544.8257),
        ("interface", "MAE", 2060.4102820362823),
        ("surface", "MAE", 101.22517626586762),
    ],
)
def test_release_1_0_0(task: str, column: str, baseline: float) -> None:
    assert load_release("lambench-1.0.0").property_tasks[task].baselines[column] == baseline


@pytest.mark.parametrize(
    ("task", "domain", "energy", "force", "virial"),
    [
        # deepmodeling/LAMBench, lambench/metrics/direct_task_weights.yml at commit 0381906
        ("ANI", "Small Molecules", 0.19151186273205098, 2.0784568378246826, None),
        ("HEMC_HEMB", "Inorganic Materials", 0.4750117425061965, 1.8089415904253994, 0.4589409203427954),
        ("MD22", "Biomolecules & Supramolecules", 0.007773825548398275, 1.1374624718556865, None),
        ("Collision", "Reactions", 0.4690509429726113, 1.9436163951047407, None),
        ("CGM_MLP_NC2023", "Catalysis", 0.9875093490539156, 2.022155629243275, None),
        ("WBM_downsampled", "Inorganic Materials", 0.3743104865117501, None, None),
        ("Subalex_9k", "Inorganic Materials", 0.7749643377228371, 1.1503770816187873, 0.8678699239404154),
    ],
)
def test_release_of_five_domains(
    task: str, domain: str, energy: float, force: float | None, virial: float | None
) -> None:
    release = load_release("lambench-2025-five")
    facts = release.force_field_tasks[task]
    assert (facts.domain, facts.energy, facts.force, facts.virial) == (domain, energy, force, virial)
    assert (release.force_field.cap, release.property_error.cap) == (None, None)
    assert len({facts.domain for facts in release.force_field_tasks.values()}) == 5


def test_ml_peg_thresholds_are_those_of_their_sources() -> None:
    facts = load_facts()
    assert len(facts.benchmarks) == 77
    assert sum(len(benchmark.metrics) for benchmark in facts.benchmarks.values()) == 339
    assert all(benchmark.source for benchmark in facts.benchmarks.values())


def test_as_published_the_preset_for_materials_has_no_defects() -> None:
    """ML-PEG at commit 6a03c7a names the category Defect there, which is none; no other weight of a preset differs."""
    facts = load_facts()
    for preset in facts.presets:
        corrected, published = (facts.weights(preset, as_published=each).categories for each in (False, True))
        changed = {"Defects": (1.0, 0.0)} if preset == "Materials" else {}
        assert {c: (corrected[c], published[c]) for c in corrected if corrected[c] != published[c]} == changed
