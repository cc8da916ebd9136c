"""Orders, weights and own minima of energy differences by hand: with ties, with failures, and the law of failures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import molecule
from ase.io import write
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks.datasets.card import Card, DatasetError, Difference, LabelSet
from tasks.datasets.dataset import Dataset, load_dataset, save_dataset
from tasks.importing.reactions import import_reactions
from tasks.kinds.energy_differences import EnergyDifferences, EnergyDifferencesParameters
from tasks.metrics.group_statistics import average_ranks, lowest_found, ranking_error, spearman
from tasks.metrics.metric import Metric
from tasks.structures.predictions import Cause
from tests.tasks.kinds.test_difference_metrics import differences, row
from tests.tasks.made_up import observed

KIND = EnergyDifferences()
EVERYTHING = EnergyDifferencesParameters(
    unit="kcal/mol",
    statistics=("spearman", "lowest_found", "ranking_error", "own_minimum", "group_rmse", "r2"),
    weighting="wtmad2",
    soft_threshold=2.0,
)
KCAL = 0.043364104  # eV


def conformers(group: str, first: int, *above: float) -> tuple[Difference, ...]:
    """Conformers of a molecule against the first of its structures; `above` in kcal/mol."""
    return tuple(
        row(f"{group}{k}", e * KCAL, (1, first + k), (-1, first), group=group, cluster=group)
        for k, e in enumerate(above, 1)
    )


# Structures 0 to 3 and 4 to 6.
TABLE = differences(*conformers("A", 0, 1.0, 2.0, 3.0), *conformers("B", 4, 4.0, 4.0))


def metrics(
    energies: list[float],
    failed: tuple[int, ...] = (),
    data: Dataset = TABLE,
    asked: EnergyDifferencesParameters = EVERYTHING,
) -> dict[str, Metric]:
    """The metrics of energies in kcal/mol."""
    energy, failure = np.array(energies) * KCAL, np.zeros(len(energies), np.int8)
    energy[list(failed)], failure[list(failed)] = np.nan, Cause.ERROR
    return dict(KIND.measure(observed(energy, failure), data, asked, None).metrics)


def test_ranks_of_equal_values_are_their_mean() -> None:
    assert average_ranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [3.5, 1.0, 3.5, 2.0]


def test_spearman_with_ties_by_hand() -> None:
    # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: ρ = 4.5 / √(4.5 · 5).
    tied = spearman(np.array([0.0, 1.0, 1.0, 5.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    assert tied == pytest.approx(4.5 / np.sqrt(4.5 * 5.0))
    assert spearman(np.array([3.0, 2.0, 1.0]), np.array([1.0, 2.0, 3.0])) == pytest.approx(-1.0)
    assert spearman(np.zeros(3), np.array([1.0, 2.0, 3.0])) == 0.0
    assert spearman(np.array([1.0, 2.0]), np.zeros(2)) is None


def test_the_lowest_with_ties_by_hand() -> None:
    assert lowest_found(np.array([0.0, 0.0, 1.0]), np.array([5.0, 6.0, 7.0])) == 0.5
    assert lowest_found(np.array([0.0, 1.0]), np.array([5.0, 5.0])) == 1.0
    assert lowest_found(np.array([0.0]), np.array([5.0])) is None


def test_all_statistics_by_hand() -> None:
    # A: 0, 1.5, 1.5, 3.5 against 0, 1, 2, 3; B: the conformers at 4 are predicted at −1 and 5, its first at 0.
    measured = metrics([10.0, 11.5, 11.5, 13.5, 0.0, -1.0, 5.0])
    values = {name: metric.value for name, metric in measured.items()}
    errors = np.array([0.5, -0.5, 0.5, -5.0, 1.0])
    reference = np.array([1.0, 2.0, 3.0, 4.0, 4.0])
    # B: ranks 2, 1, 3 against 1, 2.5, 2.5 (its first structure counts, too).
    rho_b = np.corrcoef([2.0, 1.0, 3.0], [1.0, 2.5, 2.5])[0, 1]
    weight = 56.84 / np.array([2.0, 2.0, 2.0, 4.0, 4.0])
    assert values == pytest.approx(
        {
            "mae": np.abs(errors).mean(),
            "rmse": np.sqrt((errors**2).mean()),
            "spearman": (4.5 / np.sqrt(4.5 * 5.0) + rho_b) / 2,
            "lowest_found_percent": 50.0,
            # A's lowest and highest are found; of B's two highest the one that is predicted is one.
            "ranking_error": (0.0 + 0.5) / 2,
            # With the first structures, above the lowest: A's 0, 1.5, 1.5, 3.5 (0, 1, 2, 3), B's 1, 0, 6 (0, 4, 4).
            "own_minimum_mae": (0 + 0.5 + 0.5 + 0.5 + 1 + 4 + 2) / 7,
            "soft_score": (1 + 1 + 1 + np.exp(-3 * 3.0 / 2.0) + 1) / 5,
            "group_rmse": (0.5 + np.sqrt(26.0 / 2)) / 2,
            "r2": 1 - (errors**2).sum() / ((reference - reference.mean()) ** 2).sum(),
            "wtmad2": (weight * np.abs(errors)).mean(),
        },
        rel=1e-6,
    )
    assert measured["wtmad2"].baseline == pytest.approx(56.84, rel=1e-6)


def test_a_failed_conformer_costs_its_whole_group() -> None:
    good = [0.0, 1.0, 2.0, 3.0, 0.0, 4.0, 4.0]
    assert metrics(good)["spearman"].value == pytest.approx(1.0)
    measured = metrics(good, (5,))
    rho = measured["spearman"]
    assert (rho.value, rho.n_items, rho.n_failed, rho.charged) == (pytest.approx(1.0), 2, 1, pytest.approx(0.0))
    found = measured["lowest_found_percent"]
    assert (found.value, found.n_failed, found.charged) == (100.0, 1, 50.0)
    above = measured["own_minimum_mae"]
    assert above.failure_cost == pytest.approx(10 * (0 + 1 + 2 + 3 + 0 + 4 + 4) / 7)
    assert (above.value, above.n_failed) == (pytest.approx(0.0, abs=1e-9), 2)
    assert above.charged == pytest.approx(3 * above.failure_cost / 7)
    ranking = measured["ranking_error"]
    assert (ranking.value, ranking.n_failed, ranking.charged) == (0.0, 1, 0.5)
    soft = measured["soft_score"]
    assert (soft.value, soft.n_failed, soft.charged) == (1.0, 1, pytest.approx(4 / 5))
    cost = measured["rmse"].failure_cost
    assert cost is not None
    assert measured["group_rmse"].charged == pytest.approx((0.0 + np.sqrt(cost**2 / 2)) / 2)
    assert measured["r2"].charged == pytest.approx(1 - cost**2 / 5 / np.var([1.0, 2.0, 3.0, 4.0, 4.0]))
    wtmad2 = measured["wtmad2"]
    assert wtmad2.charged == pytest.approx(568.4 / 5, rel=1e-6)


ENERGY = st.floats(-1e6, 1e6)


# Of structures 0 to 2 and 3 to 5, the differences of all pairs.
PAIRS = ((1, 0, 3.0), (2, 0, 1.0), (2, 1, -2.0))
TRIPLES = differences(
    *(
        row(f"{g}{b}-{a}", x * KCAL, (1, b + i), (-1, a + i), group=g, cluster=g, weight=w)
        for g, i in (("t", 0), ("u", 3))
        for (b, a, x), w in zip(PAIRS, (1.0, 3.0, 0.2), strict=True)
    )
)
WEIGHTED = differences(*(r.model_copy(update={"weight": float(k)}) for k, r in enumerate(TABLE.table.differences)))
FAMILY = differences(*(r.model_copy(update={"group": "family"}) for r in TABLE.table.differences))
LAWFUL = {
    "conformers": (TABLE, EVERYTHING),
    "lowest": (WEIGHTED, EVERYTHING.model_copy(update={"weighting": "wtmad", "lowest": 2})),
    "highest": (WEIGHTED, EVERYTHING.model_copy(update={"weighting": "wtmad", "highest": 2})),
    "clusters": (FAMILY, EVERYTHING.model_copy(update={"orders_within": "cluster"})),
    "triples": (TRIPLES, EVERYTHING.model_copy(update={"weighting": "wtmad"})),
    "triples, two of them": (TRIPLES, EVERYTHING.model_copy(update={"highest": 2})),
}
BETTER_IF_HIGHER = ("spearman", "lowest_found_percent", "r2", "soft_score")


@pytest.mark.parametrize("case", LAWFUL)
@given(st.lists(ENERGY, min_size=7, max_size=7), st.sets(st.integers(0, 6), min_size=1))
def test_failing_never_helps(case: str, energies: list[float], failed: set[int]) -> None:
    data, asked = LAWFUL[case]
    n = len(data.frames)
    energies, failed = energies[:n], {each % n for each in failed}
    answered, after = metrics(energies, (), data, asked), metrics(energies, tuple(failed), data, asked)
    assert answered.keys() == after.keys()
    for name, metric in answered.items():
        before, now = metric.charged, after[name].charged
        assert before is not None
        assert now is not None
        sign = 1 if name in BETTER_IF_HIGHER else -1
        assert sign * (now - before) <= 1e-9 * max(1.0, abs(before)), name


def test_the_rank_correlation_of_the_lowest_few() -> None:
    data = differences(*conformers("A", 0, 1.0, 2.0, 3.0))
    parameters = EnergyDifferencesParameters(statistics=("spearman",), lowest=2)
    swapped = np.array([0.0, 1.0, 3.0, 2.0]) * KCAL
    assert KIND.measure(observed(swapped), data, parameters, None).metrics["spearman"].value == pytest.approx(1.0)
    with pytest.raises(ValidationError, match="lowest: is of the statistic"):
        EnergyDifferencesParameters(lowest=2)


def test_the_rank_correlation_of_the_highest_few() -> None:
    """ML-PEG's top 5 of Relastab are the least stable: of 0, 1, 2, 3 the last two."""
    data = differences(*conformers("A", 0, 1.0, 2.0, 3.0))
    parameters = EnergyDifferencesParameters(statistics=("spearman",), highest=2)
    swapped, low = np.array([0.0, 1.0, 3.0, 2.0]) * KCAL, np.array([1.0, 0.0, 2.0, 3.0]) * KCAL
    assert KIND.measure(observed(swapped), data, parameters, None).metrics["spearman"].value == pytest.approx(-1.0)
    assert KIND.measure(observed(low), data, parameters, None).metrics["spearman"].value == pytest.approx(1.0)
    with pytest.raises(ValidationError, match="lowest, highest: the rank correlation is of one end"):
        EnergyDifferencesParameters(statistics=("spearman",), highest=2, lowest=2)


@pytest.mark.parametrize(
    ("predicted", "error"),
    [((0.0, 3.0, 1.0), 0.0), ((0.0, 1.0, 3.0), 0.5), ((1.0, 3.0, 0.0), 0.5), ((3.0, 0.0, 1.0), 1.0)],
)
def test_the_ranking_error_counts_the_lowest_and_the_highest(predicted: tuple[float, ...], error: float) -> None:
    """OC157: of structures at 0, 3 and 1."""
    assert ranking_error(np.array(predicted), np.array([0.0, 3.0, 1.0])) == error
    rows = [row(f"{b}-{a}", x * KCAL, (1, b), (-1, a), group="t", cluster="t") for b, a, x in PAIRS]
    assert metrics(list(predicted), (), differences(*rows))["ranking_error"].value == error


def test_own_minima_are_those_of_all_conformers() -> None:
    """The first conformer, from which the others are counted, is one of them: only its energy is wrong here."""
    data = differences(*conformers("A", 0, 1.0, 2.0, 3.0))
    found = [metrics([e, 1.0, 2.0, 3.0], (), data)["own_minimum_mae"].value for e in (0.0, 10.0, -50.0)]
    # 10, 1, 2, 3 is 9, 0, 1, 2 above its lowest; −50, … is 0, 51, 52, 53: against 0, 1, 2, 3.
    assert found == pytest.approx([0.0, (9 + 1 + 1 + 1) / 4, 150 / 4], rel=1e-6, abs=1e-9)


def test_polymorphs_of_a_family() -> None:
    """Two molecules of one family: own minima are within each, the breakdown is of the family."""
    lattice = ((0, -10.0, "fam", "X"), (1, -8.0, "fam", "X"), (2, -5.0, "fam", "Y"), (3, -4.0, "other", "Z"))
    rows = [row(f"r{k}", e * KCAL, (1, k), group=family, cluster=name) for k, e, family, name in lattice]
    asked = EnergyDifferencesParameters(unit="kcal/mol", statistics=("own_minimum",), orders_within="cluster")
    energies = observed(np.array([-12.0, -11.0, -9.0, -4.0]) * KCAL)
    measured = KIND.measure(energies, differences(*rows), asked, None)
    assert measured.metrics["own_minimum_mae"].value == pytest.approx(1.0 / 4)
    parts = {(part.metric, part.name): part.value for part in measured.parts}
    assert parts["own_minimum_mae", "fam"] == pytest.approx(1.0 / 3)
    assert parts["mae", "fam"] == pytest.approx((2 + 3 + 4) / 3)


def test_of_pairwise_differences_the_structures_have_the_order() -> None:
    """Of three structures at 0, 3 and 1 the first is lowest; the lowest difference is another pair than the model's."""
    rows = [row(f"{b}-{a}", x * KCAL, (1, b), (-1, a), group="triple", cluster="triple") for b, a, x in PAIRS]
    found = metrics([5.0, 6.0, 8.0], (), differences(*rows))
    assert found["lowest_found_percent"].value == 100.0
    assert found["spearman"].value == pytest.approx(0.5)  # 0, 1, 3 against 0, 3, 1
    other = metrics([5.0, 4.0, 8.0], (), differences(*rows))
    assert other["lowest_found_percent"].value == 0.0
    # Two pairs that do not hang together have no common order: the items are the members.
    apart = [row("a", 1.0 * KCAL, (1, 1), (-1, 0), group="g"), row("b", 2.0 * KCAL, (1, 3), (-1, 2), group="g")]
    assert metrics([0.0, 9.0, 0.0, 4.0], (), differences(*apart))["spearman"].value == pytest.approx(-1.0)


def test_stated_weights() -> None:
    rows = [row(f"r{k}", KCAL, (1, k), weight=w) for k, w in enumerate((1.0, 3.0))]
    parameters = EnergyDifferencesParameters(unit="kcal/mol", weighting="wtmad")
    energies = observed(np.array([1.5, 3.0]) * KCAL)
    measured = KIND.measure(energies, differences(*rows), parameters, None)
    assert measured.metrics["wtmad"].value == pytest.approx((0.5 + 3 * 2.0) / 2)
    without = [rows[0], row("r1", KCAL, (1, 1))]
    with pytest.raises(ValueError, match="r1: weight: is missing"):
        KIND.measure(energies, differences(*without), parameters, None)


def test_wtmad2_is_over_the_sets_of_all_quantities() -> None:
    """As GSCDB is imported, where each set is a quantity and a group."""
    stated = (("A", 1.0), ("A", 3.0), ("B", -10.0))
    rows = [row(f"r{k}", e * KCAL, (1, k), group=s, quantity=s) for k, (s, e) in enumerate(stated)]
    asked = EnergyDifferencesParameters(unit="kcal/mol", weighting="wtmad2")
    measured = KIND.measure(observed(np.array([1.5, 3.0, -8.0]) * KCAL), differences(*rows), asked, None)
    assert set(measured.metrics) == {"a_mae", "a_rmse", "b_mae", "b_rmse", "wtmad2"}
    assert measured.metrics["wtmad2"].value == pytest.approx(56.84 * (0.5 / 2 + 2.0 / 10) / 3, rel=1e-6)
    total = [c for c in KIND.contributions(measured.items, measured.metrics) if c.metric == "wtmad2"]
    assert len(total) == 1
    assert total[0].sums.sum() / 3 == pytest.approx(measured.metrics["wtmad2"].value)


def test_the_lowest_of_alternatives_takes_part(tmp_path: Path) -> None:
    """Of gas conformers, say; one that fails may be the lowest, so that the item fails."""
    structures: list[Atoms] = []
    for name, kind in (("dimer", "H2O"), ("a", "H2O"), ("b", "H2O"), ("other", "CH4")):
        atoms = molecule(kind)
        atoms.info |= {"name": name, "charge": 0, "multiplicity": 1}
        structures.append(atoms)
    write(tmp_path / "structures.extxyz", structures)

    def imported(alternative: str) -> Dataset:
        terms: list[dict[str, Any]] = [
            {"structure": "dimer", "coefficient": 1},
            {"structure": "a", "coefficient": -1, "alternatives": [alternative]},
        ]
        reaction = {"id": "r", "reference": -1.0, "terms": terms}
        (tmp_path / "reactions.json").write_text(json.dumps({"reference_unit": "eV", "reactions": [reaction]}))
        level = {"CC": LabelSet(theory="CC", dispersion=True)}
        card = Card(
            name="gas", version="1", title="Gas", domain="Molecules", periodic=False,
            label_sets=level, default_label_set="CC",
        )  # fmt: skip
        return load_dataset(save_dataset(import_reactions(tmp_path, card), tmp_path))

    data = imported("b")
    measured = KIND.measure(observed(np.array([-5.0, -1.0, -3.0, 0.0])), data, EnergyDifferencesParameters(), None)
    assert measured.items.columns["predicted"].tolist() == [-2.0]
    failure = np.array([0, 0, Cause.ERROR, 0], np.int8)
    failed = observed(np.array([-5.0, -1.0, np.nan, 0.0]), failure)
    assert KIND.measure(failed, data, EnergyDifferencesParameters(), None).items.cause.tolist() == [Cause.ERROR]
    with pytest.raises(DatasetError, match=r"differences \(r\): terms: alternatives: must have the atoms"):
        imported("other")
    with pytest.raises(DatasetError, match="there is no structure 'c'"):
        imported("c")
