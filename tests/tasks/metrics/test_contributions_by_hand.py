"""The contribution of each item, by hand: with a failed item, and with an error that is clipped at W."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk

from tasks.datasets.card import Card, Crystal, Difference, LabelSet, Scan, Summand, Table
from tasks.datasets.dataset import Dataset
from tasks.kind import Observation
from tasks.kinds.registry import KINDS
from tasks.metrics.contributions import Contributing, Contribution
from tasks.metrics.measurement import Measurement
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Labels
from tests.tasks.made_up import make_dataset, observed

KCAL = units.kcal / units.mol


def atoms_apart(n: int, stated: Mapping[str, float] | None = None, **items: Any) -> Dataset:
    """A data set of n hydrogen atoms, from which `items` are made."""
    names = tuple(f"s{i}" for i in range(n))
    card = Card(
        name="by-hand", version="1", title="By hand", domain="Molecules", periodic=False,
        label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)}, default_label_set="PBE",
        baselines={"PBE": dict(stated or {})},
    )  # fmt: skip
    frames = Frames.from_atoms([Atoms("H", [[0.0, 0.0, float(i)]]) for i in range(n)])
    return Dataset(card, frames, Table(id=names, group=("",) * n, cluster=names, **items), {})


def contributions(
    kind: str, seen: Observation, dataset: Dataset, **parameters: Any
) -> tuple[dict[str, Contribution], Measurement]:
    registered = KINDS[kind]
    measured = registered.measure(seen, dataset, registered.parameters.model_validate(parameters), None)
    assert isinstance(registered, Contributing)
    return {c.metric: c for c in registered.contributions(measured.items, measured.metrics)}, measured


def assert_is(contribution: Contribution, sums: Sequence[float], counts: Sequence[float], power: float = 1.0) -> None:
    np.testing.assert_allclose(contribution.sums, sums, atol=1e-9)
    assert contribution.counts.tolist() == list(counts)
    assert contribution.power == power


def test_differences_of_two_quantities() -> None:
    """Items 0 and 2 are barriers, off by 0.3 and, at a baseline of 1, by far more than W = 10; 1 and 3 are not."""
    quantities, references = ("barrier", "change", "barrier", "change"), (1.0, 2.0, -1.0, 2.0)
    rows = tuple(
        Difference(
            id=f"d{i}", group="left" if i < 2 else "right", quantity=quantity, reference={"PBE": reference},
            terms=(Summand(structure=i, coefficient=1.0),), cluster="path" if i < 2 else "",
        )
        for i, (quantity, reference) in enumerate(zip(quantities, references, strict=True))
    )  # fmt: skip
    seen = observed([1.3, 2.5, 99.0, np.nan], [0, 0, 0, Cause.ERROR])
    contribution, measured = contributions(
        "energy_differences", seen, atoms_apart(4, differences=rows), tolerance=0.5, tolerance_quantity="barrier"
    )
    assert list(measured.items.cluster) == ["path", "path", "d2", "d3"]
    assert_is(contribution["barrier_mae"], [0.3, 0, 10, 0], [1, 0, 1, 0])
    assert_is(contribution["barrier_rmse"], [0.09, 0, 100, 0], [1, 0, 1, 0], power=0.5)
    assert_is(contribution["change_mae"], [0, 0.5, 0, 20], [0, 1, 0, 1])
    assert_is(contribution["barrier_off_percent"], [0, 0, 1, 0], [1, 0, 1, 0])
    assert_is(contribution["barrier_off_percent:left"], [0, 0, 0, 0], [1, 0, 0, 0])
    assert_is(contribution["barrier_off_percent:right"], [0, 0, 1, 0], [0, 0, 1, 0])
    assert contribution["barrier_off_percent"].scale == 100.0
    assert measured.metrics["barrier_off_percent"].charged == 50.0


def test_profiles_count_by_points_and_barriers_by_scans() -> None:
    references = ((0.0, 1.0, 2.0), (0.0, 3.0, 1.0, 0.0), (0.0, 1.0, 0.0))
    starts = (0, 3, 7)
    scans = tuple(
        Scan(
            id=f"scan {i}", structures=tuple(range(start, start + len(energies))), x=tuple(range(len(energies))),
            reference={"PBE": tuple(KCAL * e for e in energies)},
        )
        for i, (start, energies) in enumerate(zip(starts, references, strict=True))
    )  # fmt: skip
    answer = KCAL * np.array([5.0, 6.5, 8.5, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, np.nan])
    contribution, measured = contributions(
        "energy_profiles", observed(answer, [0] * 9 + [Cause.ERROR]), atoms_apart(10, scans=scans)
    )
    # W is ten times what the flat profile is off by: 8 kcal/mol over ten points, and barriers of 2, 3 and 1 over three.
    assert_is(contribution["profile_mae"], [0.5 + 1.5, 2.0, 3 * 8.0], [3, 4, 3])
    assert_is(contribution["profile_rmse"], [0.25 + 2.25, 4.0, 3 * 100 * 16 / 10], [3, 4, 3], power=0.5)
    assert_is(contribution["barrier_mae"], [1.5, 2.0, 20.0], [1, 1, 1])
    assert_is(contribution["n_barriers_off"], [1, 1, 1], [1, 1, 1])
    assert contribution["n_barriers_off"].scale == 3.0
    assert (measured.metrics["n_barriers_off"].value, measured.metrics["n_barriers_off"].charged) == (2.0, 3.0)


def test_frames_count_by_labelled_components() -> None:
    """Forces of two atoms of the first frame are labelled, and of none of the last; the second frame failed."""
    frames = Frames.from_atoms([Atoms("H3", np.diag([1.0, 2.0, 3.0])), Atoms("H"), Atoms("H")])
    labels = np.zeros((5, 3))
    labels[:2], labels[2], labels[4], labels[3] = 1.0, np.nan, np.nan, 3.0
    forces = np.zeros((5, 3))
    forces[0], forces[3] = 1.5, np.nan
    seen = observed([0.0, np.nan, 0.0], [0, Cause.ERROR, 0], forces=forces)
    contribution, measured = contributions("labelled_frames", seen, make_dataset(frames, Labels(forces=labels)))
    # Zero forces are off by 1 at six components and by 3 at three.
    assert_is(contribution["force_mae"], [3 * 0.5 + 3 * 1.0, 3 * 10 * 15 / 9, 0], [6, 3, 0])
    assert_is(contribution["force_rmse"], [3 * 0.25 + 3 * 1.0, 3 * 100 * 33 / 9, 0], [6, 3, 0], power=0.5)
    assert set(contribution) == set(measured.metrics)


def test_only_crystals_with_a_reference_count() -> None:
    references = ({"volume_per_atom": 10.0}, {}, {"volume_per_atom": 12.0})
    crystals = tuple(
        Crystal(id=f"c{i}", cluster="Cu", structure=i, reference={"PBE": reference})
        for i, reference in enumerate(references)
    )
    cell = np.array([np.cbrt(11.0) * np.eye(3)] * 3)
    frames = Frames.from_atoms([Atoms("Cu", cell=cell[0], pbc=True)] * 3)
    base = atoms_apart(3, {"volume_per_atom_mae": 0.5}, crystals=crystals)
    card = base.card.model_copy(update={"periodic": True})
    dataset = Dataset(card, frames, base.table, {}, {"pressure_gpa": np.zeros(3)})
    cell[0] *= np.cbrt(10.2 / 11.0)
    seen = Observation({"failure": np.array([0, 0, Cause.NOT_CONVERGED], np.int8), "cell": cell})
    contribution, measured = contributions("compression", seen, dataset)
    assert_is(contribution["volume_per_atom_mae"], [0.2, 0.0, 5.0], [1, 0, 1])
    assert list(measured.items.cluster) == ["Cu"] * 3


def test_times_of_one_structure_are_one_cluster_as_the_card_says() -> None:
    """Frames of correlated structures are correlated, too."""
    kind = KINDS["efficiency"]
    dataset = make_dataset(Frames.from_atoms([bulk("Cu"), bulk("Al"), bulk("Ag")]), None, cluster_column="cluster")
    table = dataset.table.model_copy(update={"cluster": ("metal", "metal", "noble")})
    parameters = kind.parameters.model_validate({"n_frames": 5, "n_batches": 0})
    source = np.array([0, 2, 1, 2, 0])
    size = np.full(5, 10)
    seen = Observation(
        {
            "seconds": np.array([9.0, 1e-3, 2e-3, np.nan, 4e-3]),
            "source": source,
            "n_atoms": np.array([10, 10, 5, 10, 10]),
            "planned_atoms": size,
            "reduced": np.array([0, 0, 1, 0, 0], np.int8),
            "with_stress": np.ones(5, np.int8),
            "failure": np.array([0, 0, 0, Cause.ERROR, 0], np.int8),
            "cold": np.array([1.0, 10.0]),
            "wire_s": np.zeros(0),
            "reference_s": np.ones((3, 2)),
        }
    )
    measured = kind.measure(seen, Dataset(dataset.card, dataset.frames, table, {}), parameters, None)
    assert isinstance(kind, Contributing)
    (contribution,) = kind.contributions(measured.items, measured.metrics)
    # 100, 400 twice over for half of the atoms, W, and 400 µs/atom; the first frame warms up.
    assert_is(contribution, [0, 100, 800, 1e6, 400], [0, 1, 1, 1, 1])
    assert measured.metrics["time_mean"].charged == pytest.approx((100 + 800 + 1e6 + 400) / 4)
    assert list(measured.items.cluster) == ["metal", "noble", "metal", "noble", "metal"]
