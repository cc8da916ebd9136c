"""The traits of kinds agree with their measurements."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from tasks.kind import DatasetPart, ScoreFamily, Traits
from tasks.kinds.registry import KINDS
from tasks.metrics.kind_metric import KindMetric
from tests.tasks.kind_examples import EXAMPLES, observed


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_what_is_measured_is_stated_with_its_unit_and_what_is_scored_has_a_baseline(name: str) -> None:
    measured, _ = observed(EXAMPLES[name](), {})
    traits = KINDS[name].traits
    for metric, record in measured.metrics.items():
        units = {stated.unit for stated in traits.metrics if fnmatchcase(metric, stated.name)}
        assert units & {record.unit, None}, (metric, record.unit)
    scored = traits.scored(measured.metrics)
    assert bool(scored) is (traits.score is ScoreFamily.PROPERTY)
    assert all(measured.metrics[metric].baseline for metric in scored)
    assert not [metric for metric in scored if metric.startswith("probe")]


def test_a_kind_says_what_its_data_set_needs() -> None:
    for name, make in EXAMPLES.items():
        table, part = make().dataset.table, KINDS[name].traits.measures
        has = {sort for sort, items in table.items.items() if items}
        if part is DatasetPart.GEOMETRIES:
            assert make().dataset.geometries
            has -= {DatasetPart.DIFFERENCES}  # of relaxed energies, beside geometries or alone
        assert has == ({part} if part.is_in_table else set()), name
        assert bool(make().dataset.card.label_sets) is KINDS[name].traits.labelled
    assert {part.value for part in DatasetPart if part.is_in_table} == set(table.items)


def test_two_kinds_that_have_one_metric_call_it_the_same() -> None:
    labels = [(metric.name, metric.label) for kind in KINDS.values() for metric in kind.traits.metrics if metric.label]
    assert len(set(labels)) == len(dict(labels))
    assert dict(labels) == KINDS.labels


@pytest.mark.parametrize(
    ("patterns", "scored"),
    [
        (("mae",), ("mae",)),
        (("*_mae", "mae"), ("a_mae", "b_mae", "mae")),
        (("mae", "*_mae"), ("mae", "a_mae", "b_mae")),
        (("*mae", "mae", "*off_percent"), ("a_mae", "b_mae", "mae", "a_off_percent", "off_percent")),
        (("*",), ("a_mae", "a_off_percent", "b_mae", "mae", "mae_of_all", "off_percent", "rmse")),
        (("MAE", "q_mae"), ()),
        ((), ()),
    ],
)
def test_patterns_choose_metrics_in_one_order_and_never_those_of_a_group(
    patterns: tuple[str, ...], scored: tuple[str, ...]
) -> None:
    names = ["b_mae", "off_percent:x_mae", "mae", "mae_of_all", "rmse", "a_off_percent", "off_percent", "a_mae"]
    traits = Traits("t", metrics=tuple(KindMetric(name, scored=True) for name in patterns))
    assert traits.scored(names) == scored
    assert traits.scored(reversed(names)) == scored


def test_what_lambench_counts_of_each_kind_is_what_it_was_published_with() -> None:
    assert {name: kind.traits.scored_names for name, kind in KINDS.items() if kind.traits.scored_names} == {
        "energy_differences": ("mae", "*_mae", "*off_percent"),
        "energy_profiles": (
            "profile_mae",
            "barrier_mae",
            "n_barriers_off",
            "energy_mae",
            "slope_mae",
            "conformer_mae",
            "interaction_mae",
        ),
        "equation_of_state": ("v0_mae_percent", "b0_mae_percent", "b0_prime_mae"),
        "elasticity": ("k_vrh_gpa_mae", "g_vrh_gpa_mae"),
        "phonons": (
            "max_frequency_k_mae",
            "entropy_j_per_mol_k_mae",
            "free_energy_kj_per_mol_mae",
            "heat_capacity_j_per_mol_k_mae",
        ),
        "thermal_conductivity": ("srme", "sre"),
        "compression": ("volume_per_atom_mae",),
        "reaction_paths": ("barrier_mae", "reaction_energy_mae", "transition_state_distance"),
        "diatomics": (
            "curve_energy_mae",
            "curve_force_mae",
            "wall_distance_mae",
            "pair_bond_length_mae",
            "well_depth_mae",
            "wavenumber_mae",
        ),
        "sample_efficiency": ("force_learning_ratio", "energy_learning_ratio"),
        "time_extrapolation": ("force_learning_ratio", "energy_learning_ratio"),
        "cross_molecule": ("force_learning_ratio",),
        "relaxed_structures": ("rmsd", "volume_mape", "mae", "*_mae"),
        "dynamics": (
            "unstable_percent",
            "rdf_error",
            "rdf_rmse",
            "first_peak_mae",
            "density_mape",
            "bond_length_mae",
            "angle_mae",
            "diffusion_mape",
            "radius_of_gyration_mae",
        ),
    }
