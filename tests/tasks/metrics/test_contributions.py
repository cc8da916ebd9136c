"""Contributions of items to penalised values: the formula gives each value, from stored items alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from judge.records.items_file import pack_items, unpack_items
from tasks.kind import Kind
from tasks.kinds.registry import KINDS
from tasks.metrics.averages import Average
from tasks.metrics.contributions import Contributing, Contribution
from tasks.metrics.measurement import Items, Measurement
from tasks.metrics.metric import Metric
from tasks.physicality.structures import build_physicality
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Labels, Predictions, Properties
from tests.tasks.kind_examples import EXAMPLES, FAST, PBE, KindExample, example, observed, rattled
from tests.tasks.timing.timed_models import Records, rechecked, small

# Their trainings are few, and none is drawn from many: seeds give a standard error.
LEARNING = ("sample_efficiency", "time_extrapolation", "cross_molecule")
# By kind, metrics with a penalised value that are no means over items.
NO_MEANS: Mapping[str, frozenset[str]] = {
    "nve": frozenset({"slope_geomean"}),  # instability is scored run by run, each with its own steps
    "efficiency": frozenset(
        {
            "time_median",  # a percentile
            "time_p95",
            "time_cold",  # the first call alone
            "batched_time",  # batches are no items
        }
    ),
    "physicality": frozenset(  # the largest of some items
        f"{name}_largest"
        for name in (
            "rotation_energy",
            "rotation_forces",
            "repeat_energy",
            "repeat_forces",
            "gradient_forces",
            "strain_stress",
        )
    ),
}
CAUSES = tuple(cause for cause in Cause if cause is not Cause.NONE)


def with_baselines(example: KindExample, **stated: float) -> KindExample:
    card = example.dataset.card.model_copy(update={"baselines": {PBE: stated}})
    return example._replace(dataset=replace(example.dataset, card=card))


def with_parameters(example: KindExample, **changed: object) -> KindExample:
    return example._replace(
        parameters=example.kind.parameters.model_validate({**example.parameters.model_dump(), **changed})
    )


def some_labels() -> KindExample:
    """Every third frame has no energy, every fourth no forces; two have a stress. Many forces are clipped at W."""
    rng, structures = np.random.default_rng(3), rattled(12)
    total = sum(len(a) for a in structures)
    energy, forces = rng.normal(size=12), rng.normal(size=(total, 3))
    energy[::3] = np.nan
    forces[np.repeat(np.arange(12) % 4 == 0, [len(a) for a in structures])] = np.nan
    stress = np.full((12, 6), np.nan)
    stress[4:6] = 0.01
    made = example("labelled_frames", structures, {}, labels=Labels(energy, forces, stress))
    return with_baselines(made, force_rmse=0.1, force_mae=0.1)


def one_quantity() -> KindExample:
    """All differences of one quantity, in another unit, with a stated share."""
    made = EXAMPLES["energy_differences"]()
    rows = tuple(row.model_copy(update={"quantity": ""}) for row in made.dataset.table.differences)
    table = made.dataset.table.model_copy(update={"differences": rows})
    made = made._replace(dataset=replace(made.dataset, table=table))
    return with_parameters(made, unit="kJ/mol", tolerance=60.0, tolerance_quantity="")


def stacking_fault() -> KindExample:
    made = EXAMPLES["energy_profiles"]()
    scans = tuple(scan.model_copy(update={"area": 7.0}) for scan in made.dataset.table.scans)
    table = made.dataset.table.model_copy(update={"scans": scans})
    made = made._replace(dataset=replace(made.dataset, table=table))
    return with_parameters(made, quantity="stacking_fault")


def some_references() -> KindExample:
    """Half of the crystals have no shear modulus."""
    made = EXAMPLES["elasticity"]()
    rows = list(made.dataset.table.crystals)
    for i in (1, 2):
        rows[i] = rows[i].model_copy(update={"reference": {PBE: {"k_vrh_gpa": 100.0}}})
    table = made.dataset.table.model_copy(update={"crystals": tuple(rows)})
    made = made._replace(dataset=replace(made.dataset, table=table))
    return with_parameters(made, ions="clamped", normal_strains=(-0.01, 0.01), shear_strains=(-0.01, 0.01))


def few_structures() -> KindExample:
    whole = build_physicality()
    index = [whole.table.id.index(name) for name in ("Al", "H2O", "C2H5OH")]
    names = {name: tuple(getattr(whole.table, name)[i] for i in index) for name in ("id", "group", "cluster")}
    card = whole.card.model_copy(update={"periodic": False})
    dataset = replace(
        whole, card=card, frames=whole.frames.take(np.array(index)), table=whole.table.model_copy(update=names)
    )
    few = {"n_variants": 1, "n_directions": 1, "displacements": (3e-3, 1e-3), "strains": (3e-3, 1e-3)}
    made = KindExample(KINDS["physicality"], dataset, KINDS["physicality"].parameters())
    return with_parameters(made, **few, diatomics=("H", "C", "Fe"), n_distances=20)


def coarse_phonons() -> KindExample:
    return with_parameters(EXAMPLES["phonons"](), mesh=(4, 4, 4), relaxation={**FAST, "fmax": 0.1})


def few_times() -> KindExample:
    return with_parameters(EXAMPLES["efficiency"](), n_frames=6)


EVERY: Mapping[str, Callable[[], KindExample]] = {
    **{name: EXAMPLES[name] for name in ("labelled_frames", "energy_differences", "energy_profiles")},
    **{
        name: EXAMPLES[name]
        for name in (
            "equation_of_state",
            "compression",
            "relaxed_structures",
            "reaction_paths",
            "diatomics",
            "thermal_conductivity",
            "dynamics",
            "nve",
        )
    },
    **{
        make.__name__: make
        for make in (
            some_labels,
            one_quantity,
            stacking_fault,
            some_references,
            coarse_phonons,
            few_times,
            few_structures,
        )
    },
}


def contributed(kind: Kind, measured: Measurement) -> dict[str, Contribution]:
    """The contributions by metric, after a check that stored items and metrics give the same."""
    if not isinstance(kind, Contributing):
        return {}
    items = unpack_items(pack_items(measured.items))
    records = {name: TypeAdapter(Metric).validate_python(vars(metric)) for name, metric in measured.metrics.items()}
    contributions = kind.contributions(measured.items, measured.metrics)
    for now, later in zip(contributions, kind.contributions(items, records), strict=True):
        assert (now.metric, now.power, now.scale) == (later.metric, later.power, later.scale)
        np.testing.assert_array_equal(now.sums, later.sums)
        np.testing.assert_array_equal(now.counts, later.counts)
    assert len({c.metric for c in contributions}) == len(contributions)
    return {c.metric: c for c in contributions}


def by_formula(c: Contribution) -> float:
    return c.scale * float(c.sums[c.counts > 0].sum() / c.counts.sum()) ** c.power


def assert_charged_is_given_back(kind: Kind, measured: Measurement) -> None:
    contributions = contributed(kind, measured)
    charged = {
        n: m.charged for n, m in measured.metrics.items() if m.charged is not None and m.failure_cost is not None
    }
    assert set(charged) - set(contributions) == NO_MEANS.get(kind.name, frozenset()) & set(charged)
    for name, value in charged.items():
        if name in contributions:
            assert contributions[name].sums.shape == contributions[name].counts.shape == (len(measured.items),)
            assert np.isfinite(contributions[name].sums).all(), name
            assert not contributions[name].sums[contributions[name].counts == 0].any(), name
            assert by_formula(contributions[name]) == pytest.approx(value, rel=1e-12, abs=1e-300), name


def test_there_is_a_world_of_every_kind_but_those_that_learn_and_only_nve_has_no_contributions() -> None:
    assert {make().kind.name for make in EVERY.values()} == set(KINDS) - set(LEARNING)
    assert {name for name, kind in KINDS.items() if not isinstance(kind, Contributing)} == {"nve", *LEARNING}


@pytest.mark.parametrize("name", list(EVERY))
def test_the_formula_gives_charged_back(name: str) -> None:
    """For a model that never fails, one with some failures of every cause, and one that always fails."""
    made = EVERY[name]()
    whole, n_asked = observed(made, {})
    assert_charged_is_given_back(made.kind, whole)
    assert NO_MEANS.get(made.kind.name, frozenset()) <= set(whole.metrics)
    rng, failed = np.random.default_rng(5), 0
    # Few failures at a time, so that some items succeed; enough in all for every cause.
    at_once = max(1, min(n_asked // 6, len(CAUSES)))
    for first in range(0, len(CAUSES), at_once):
        causes = CAUSES[first : first + at_once]
        where = rng.choice(n_asked, len(causes), replace=False)
        measured, _ = observed(made, dict(zip(where.tolist(), causes, strict=True)))
        failed += sum(measured.items.failures().values())
        assert_charged_is_given_back(made.kind, measured)
    assert failed
    nothing, _ = observed(made, dict.fromkeys(range(3 * n_asked), Cause.ERROR))
    assert_charged_is_given_back(made.kind, nothing)
    assert len(nothing.items) == sum(nothing.items.failures().values())


class WithoutForces(Records):
    """A model with energies only."""

    def __init__(self) -> None:
        super().__init__(offers=("energy",))

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        return replace(super().compute(frames, ("energy",)), forces=None, stress=None)


def test_what_is_not_answered_is_charged_and_what_is_answered_is_not() -> None:
    made, model = EXAMPLES["labelled_frames"](), WithoutForces()
    observation = made.kind.observe(made.dataset.structures, made.parameters, model, model.watch())
    measured = made.kind.measure(observation, made.dataset, made.parameters, PBE)
    assert_charged_is_given_back(made.kind, measured)
    contributions = contributed(made.kind, measured)
    cost = measured.metrics["force_mae"].failure_cost
    np.testing.assert_allclose(contributions["force_mae"].sums, contributions["force_mae"].counts * cost)
    assert (contributions["energy_mae_per_atom"].sums < 10 * contributions["energy_mae_per_atom"].sums.mean()).all()


class Liar(Records):
    """Answers a tenth of the energy."""

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        answer = super().compute(frames, properties)
        return replace(answer, energy=0.1 * answer.energy)


@pytest.mark.parametrize("fresh", [Records, Liar])
def test_where_no_time_counts_every_frame_contributes_a_failure(fresh: type[Records]) -> None:
    _, measured = rechecked(Records(takes=lambda call, atoms: 1e-3 * atoms), fresh(), small())
    assert_charged_is_given_back(KINDS["efficiency"], measured)
    times = contributed(KINDS["efficiency"], measured)["time_mean"]
    if fresh is Liar:
        assert measured.metrics["time_mean"].value is None
        assert times.sums.tolist() == [1e6] * 6
    else:
        np.testing.assert_allclose(times.sums[1:], measured.items.columns["time"][1:])
        assert times.counts.tolist() == [0, 1, 1, 1, 1, 1]  # the first warms up, and was answered


def test_an_item_without_a_cluster_stands_for_itself() -> None:
    for name in ("energy_differences", "energy_profiles", "equation_of_state", "compression"):
        items = observed(EXAMPLES[name](), {})[0].items
        assert list(items.cluster) == list(items.id), name


def test_items_of_another_version_say_which_column_they_lack() -> None:
    made = EXAMPLES["energy_profiles"]()
    measured, _ = observed(made, {})
    assert isinstance(made.kind, Contributing)
    columns = {name: column for name, column in measured.items.columns.items() if name != "barrier_off"}
    older = Items(measured.items.id, measured.items.group, measured.items.cluster, measured.items.cause, columns)
    with pytest.raises(ValueError, match=r"items: column barrier_off: is missing: measure it again"):
        made.kind.contributions(older, measured.metrics)
    without = {**measured.metrics, "profile_mae": replace(measured.metrics["profile_mae"], failure_cost=None)}
    with pytest.raises(ValueError, match=r"metrics: profile_mae: has no failure cost"):
        made.kind.contributions(measured.items, without)


PARTS = st.lists(
    st.tuples(st.floats(0, 1e6) | st.sampled_from([np.nan, np.inf]), st.sampled_from([0.0, 1.0, 3.0, 27.0])),
    min_size=1,
    max_size=20,
).filter(lambda parts: any(count for _, count in parts))


@given(parts=PARTS, cost=st.floats(1e-6, 1e6), which=st.integers(0, 19))
def test_penalised_sums_give_the_penalised_mean_and_to_fail_never_lowers_them(
    parts: list[tuple[float, float]], cost: float, which: int
) -> None:
    sums, counts = (np.array(column) for column in zip(*parts, strict=True))
    average = Average("mae", "", sums, counts)
    contributions = average.contribution(cost)
    assert by_formula(contributions) == pytest.approx(average.metric(None, cost).charged, rel=1e-12, abs=1e-300)
    assert (contributions.sums <= contributions.counts * cost * (1 + 1e-15)).all()
    worse = sums.copy()
    worse[which % len(sums)] = np.nan
    assert (average._replace(sums=worse).contribution(cost).sums >= contributions.sums * (1 - 1e-15)).all()
