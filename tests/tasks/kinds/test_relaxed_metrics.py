"""The metrics of relaxed structures: what geometries are compared with, baselines, and what a failure costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.optimize import BFGS
from pydantic import ValidationError

from tasks.datasets.dataset import Dataset
from tasks.kind import Observation, Watch
from tasks.model.calculator import InProcessCalculator
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Predictions, Properties
from tests.tasks.kinds.relaxed_sets import (
    KIND,
    TIGHT,
    Constant,
    carbon_monoxide,
    crystal,
    difference,
    held,
    parameters,
    relax,
    relaxation_set,
    slab,
)

PERFECT = bulk("Cu", cubic=True, a=3.6)


def longer_pair() -> Atoms:
    """CO, turned and moved, 0.1 Å too long: each atom is 0.05 Å from its place."""
    relaxed = carbon_monoxide()
    relaxed.calc = EMT()
    BFGS(relaxed, logfile=None).run(fmax=1e-5)
    relaxed.calc = None
    relaxed.set_distance(0, 1, relaxed.get_distance(0, 1) + 0.1)
    relaxed.rotate(70, "x")
    relaxed.positions += 5.0
    return relaxed


def both() -> Dataset:
    """A crystal and a molecule with references, and the difference of their energies."""
    return relaxation_set([crystal(), carbon_monoxide()], [PERFECT, longer_pair()], [difference(1.0, 1.0, -2.0)])


def test_a_molecule_is_superposed_and_a_crystal_is_matched() -> None:
    measured = relax(both())
    rmsd, volume = measured.metrics["rmsd"], measured.metrics["volume_mape"]
    columns = measured.items.columns
    # EMT has perfect sites; its lattice is not the reference's, which the volume counts.
    np.testing.assert_allclose(columns["rmsd"][:2], [0.0, 0.05], atol=1e-4)
    assert rmsd.value == pytest.approx(0.025, abs=1e-4)
    relaxed = bulk("Cu", cubic=True)
    energies = []
    for a in (lattice := np.linspace(3.57, 3.61, 401)):
        relaxed.set_cell([a] * 3, scale_atoms=True)
        relaxed.calc = EMT()
        energies.append(relaxed.get_potential_energy())
    best = lattice[int(np.argmin(energies))]
    assert volume.value == pytest.approx(100 * abs((best / 3.6) ** 3 - 1), abs=0.02)
    assert (volume.n_items, rmsd.n_items, measured.metrics["mae"].n_items) == (1, 2, 1)
    assert measured.items.id == ["s0", "s1", "difference"]
    assert measured.metrics["not_converged_percent"].value == 0.0
    steps = measured.metrics["mean_steps"]
    assert steps.value == columns["steps"][:2].mean()
    assert steps.charged is None


def test_a_surface_with_fixed_atoms_is_compared_where_it_stands_over_the_atoms_that_may_move() -> None:
    fixed = np.isin(np.arange(len(slab())), held())
    moved = slab()
    moved.positions[-1, 0] += 0.3
    moved.positions[-2] += moved.cell.array[0]  # its image
    dataset = relaxation_set([slab()], [moved], conditions={"fixed": fixed})
    model = InProcessCalculator(Constant())
    assert relax(dataset, model).metrics["rmsd"].value == pytest.approx(0.3 / np.sqrt((~fixed).sum()), abs=1e-12)


def test_a_model_without_forces_is_the_baseline_and_costs_one_of_them() -> None:
    metrics = relax(both(), InProcessCalculator(Constant())).metrics
    for name in ("rmsd", "volume_mape", "mae", "rmse"):
        assert metrics[name].value == metrics[name].baseline == metrics[name].charged
        assert metrics[name].failure_cost == 10 * (metrics[name].baseline or 0.0)
    assert metrics["mean_steps"].value == 0.0


def test_what_did_not_converge_is_charged_in_every_metric_that_it_enters() -> None:
    """The crystal converges in no step; so the difference fails, too."""
    measured = relax(both(), relaxation=TIGHT | {"max_steps": 12})
    assert measured.items.cause.tolist() == [Cause.NOT_CONVERGED, Cause.NONE, Cause.NOT_CONVERGED]
    rmsd, volume, mae = (measured.metrics[name] for name in ("rmsd", "volume_mape", "mae"))
    assert (rmsd.n_failed, volume.n_failed, mae.n_failed) == (1, 1, 1)
    assert rmsd.value == pytest.approx(0.05, abs=1e-3)
    assert rmsd.charged == pytest.approx((rmsd.value + rmsd.failure_cost) / 2)
    assert (volume.value, volume.charged) == (None, volume.failure_cost)
    assert (mae.value, mae.charged) == (None, mae.failure_cost)
    assert measured.metrics["not_converged_percent"].value == 50.0


class Unstable:
    """Springs that push: every atom away from the origin, the harder the farther."""

    properties: Properties = ("energy", "forces", "stress")
    max_atoms_per_batch = 1000

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        stress = np.tile([-5.0] * 3 + [0.0] * 3, (len(frames), 1))
        energy = -np.bincount(frames.frame_index, (frames.positions**2).sum(axis=1))
        return Predictions.checked(frames, energy, 2 * frames.positions, stress, {})


class NotANumber(Unstable):
    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        answer = super().compute(frames, properties)
        return Predictions.checked(frames, answer.energy * np.nan, answer.forces, answer.stress, {})


@pytest.mark.parametrize("model", [Unstable(), NotANumber(), InProcessCalculator(Constant(force=1.0, energy=-1e9))])
def test_a_model_that_explodes_or_answers_nan_has_a_result_at_the_failure_cost(model: Any) -> None:
    measured = relax(both(), model)
    assert (measured.items.cause != 0).all()
    for name in ("rmsd", "volume_mape", "mae", "rmse", "not_converged_percent"):
        metric = measured.metrics[name]
        assert metric.charged == pytest.approx(metric.failure_cost), name
    causes = {Unstable: Cause.EXPLODED, NotANumber: Cause.NON_FINITE}
    assert measured.items.cause[0] == causes.get(type(model), measured.items.cause[0])


class Gaming(InProcessCalculator):
    """EMT with a strategy that looks for a better score."""

    def __init__(self, strategy: str) -> None:
        super().__init__(EMT())
        self.strategy, self.n_asked = strategy, 0

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        answer = super().compute(frames, properties)
        self.n_asked += 1
        energy, forces, stress = answer.energy.copy(), np.array(answer.forces), answer.stress
        crystals = frames.n_atoms == 4
        if self.strategy == "fails on crystals":
            energy[crystals] = np.nan
        elif self.strategy == "answers NaN in the end":
            energy[:] = np.nan if self.n_asked > 5 else energy
        elif self.strategy == "never converges":
            forces[frames.offsets[:-1]] += 0.1
        elif self.strategy == "has no forces":
            forces[:] = 0.0
            stress = None if stress is None else 0.0 * stress
        elif self.strategy == "has no energy":
            energy[:] = 0.0
        elif self.strategy == "collapses":
            stress = None if stress is None else stress + np.array([5.0] * 3 + [0.0] * 3)
        return Predictions.checked(frames, energy, forces, stress, answer.errors)


@pytest.mark.parametrize(
    "strategy",
    ["fails on crystals", "answers NaN in the end", "never converges", "has no forces",
     "has no energy", "collapses"],
)  # fmt: skip
def test_no_strategy_gets_past_the_better_of_honesty_and_the_baseline(strategy: str) -> None:
    honest, gamed = relax(both()).metrics, relax(both(), Gaming(strategy)).metrics
    for name in ("rmsd", "volume_mape", "mae", "rmse"):
        least = min(honest[name].charged or 0.0, honest[name].baseline or 0.0)
        assert (gamed[name].charged or 0.0) >= least - 1e-5, (name, strategy)
    changed = {name for name in honest if honest[name].charged != gamed[name].charged}
    assert changed, strategy


def test_without_stress_only_what_keeps_its_cell_is_relaxed() -> None:
    class WithoutStress(InProcessCalculator):
        properties: Properties = ("energy", "forces")  # type: ignore[assignment]

    measured = relax(both(), WithoutStress(EMT()))
    assert measured.items.cause.tolist() == [Cause.UNSUPPORTED, Cause.NONE, Cause.UNSUPPORTED]
    fixed = relax(both(), WithoutStress(EMT()), cell="fixed")
    assert not fixed.items.cause.any()
    assert "volume_mape" not in fixed.metrics


def test_a_start_at_its_reference_needs_a_draw_or_is_as_published() -> None:
    dataset = relaxation_set([PERFECT, carbon_monoxide()], [PERFECT, carbon_monoxide()])
    with pytest.raises(ValueError, match=r"rmsd: the starts are the references.*state rattle in the task's parameters"):
        relax(dataset, cell="fixed")
    rattled = relax(dataset, cell="fixed", rattle=0.1).metrics["rmsd"]
    assert rattled.baseline is not None
    assert 0.03 < rattled.baseline < 0.15
    stated = relaxation_set([PERFECT], [PERFECT], baselines={"PBE": {"rmsd": 0.2, "volume_mape": 3.0}})
    with pytest.raises(ValueError, match=r"rmsd: the starts are the references"):
        relax(stated)
    with pytest.raises(ValueError, match=r"volume_mape: .*: state strain in the task's parameters"):
        relax(stated, rattle=0.1)
    published = relax(stated, start="published")
    assert published.metrics["rmsd"].baseline == 0.2
    assert published.metrics["volume_mape"].failure_cost == 30.0
    assert published.notes["starts"] == (
        "as published: a model without forces and stress gets rmsd 0 Å, 0.00 of the baseline; "
        "volume_mape 0 %, 0.00 of the baseline"
    )
    with pytest.raises(ValueError, match=r"volume_mape: .*: state a baseline under \[baselines\] in card.toml"):
        relax(relaxation_set([PERFECT], [PERFECT], baselines={"PBE": {"rmsd": 0.2}}), start="published")


def test_a_stated_baseline_counts_up_to_what_the_start_achieves() -> None:
    """The crystal begins 3.7³ / 3.6³ - 1 = 8.6 % too large."""
    for stated, expected in ((3.0, 3.0), (20.0, 100 * (3.7**3 / 3.6**3 - 1))):
        dataset = relaxation_set([crystal()], [PERFECT], baselines={"PBE": {"volume_mape": stated}})
        assert relax(dataset).metrics["volume_mape"].baseline == pytest.approx(expected)


def test_the_baseline_of_total_energies_is_that_of_atoms() -> None:
    """Of -1, -3, -4 and -9 eV an atom: 2.25 eV, by their median of -3.5 eV; zero has 4.25 eV."""
    crystals = [bulk("Cu", cubic=True, a=a) for a in (3.5, 3.6, 3.7, 3.8)]
    rows = []
    for i, energy in enumerate((-1.0, -3.0, -4.0, -9.0)):
        coefficients = [0.25 * (k == i) for k in range(4)]
        rows.append(difference(energy, *coefficients, id=f"energy {i}"))
    measured = relax(relaxation_set(crystals, differences=rows), InProcessCalculator(Constant()))
    mae, rmse = measured.metrics["mae"], measured.metrics["rmse"]
    assert (mae.baseline, mae.value) == (pytest.approx(2.25), pytest.approx(4.25))
    assert rmse.baseline == pytest.approx(np.sqrt((2.5**2 + 2 * 0.5**2 + 5.5**2) / 4))
    (contribution,) = [c for c in KIND.contributions(measured.items, measured.metrics) if c.metric == "mae"]
    assert contribution.baseline is not None
    assert contribution.baseline[4:] == pytest.approx([2.5, 0.5, 0.5, 5.5])
    balanced = [difference(0.1 * k, *np.roll([1.0, -1.0, 0.0, 0.0], k), id=f"difference {k}") for k in range(4)]
    measured = relax(relaxation_set(crystals, differences=balanced), InProcessCalculator(Constant()))
    assert measured.metrics["mae"].baseline == pytest.approx(0.15)


def test_quantities_have_their_own_metrics_and_may_not_have_the_names_of_geometries() -> None:
    rows = [
        difference(1.0, 1.0, -2.0, id="s0", quantity="formation"),
        difference(0.5, 1.0, id="d1", quantity="barrier"),
    ]
    measured = relax(relaxation_set([crystal(), carbon_monoxide()], [PERFECT, longer_pair()], rows))
    names = {"formation_mae", "formation_rmse", "barrier_mae", "barrier_rmse", "rmsd", "volume_mape"}
    assert set(measured.metrics) == names | {"not_converged_percent", "mean_steps"}
    assert list(measured.items.id) == ["s0", "s1", "s0 (difference)", "d1"]
    for quantity in ("rmsd", "Volume", "structure"):
        clash = [rows[0], rows[1].model_copy(update={"quantity": quantity})]
        with pytest.raises(ValueError, match=f"quantity: {quantity}: has the name of a metric"):
            relax(relaxation_set([crystal(), carbon_monoxide()], [], clash))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"cell": "hydrostatic", "strains": [True] * 6}, "strains: are chosen of cell"),
        ({"strains": [False] * 6}, "at least one of them"),
        ({"rattle": 0.1, "keep_symmetry": True}, "a displaced start has no symmetry"),
        ({"strain": 0.02, "cell": "fixed"}, "strain: is of cells that relax"),
        ({"strain": 0.02, "start": "published"}, "published starts are not drawn"),
        ({"unit": "eV/atom"}, "unit"),
    ],
)
def test_parameters_that_contradict_each_other_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        parameters(**values)


def test_what_cannot_be_measured_is_named() -> None:
    structures = relaxation_set([crystal()], [PERFECT], conditions={"fixed": np.ones(4, np.bool_)}).structures
    with pytest.raises(ValueError, match="relaxed@1: structure 0: fixed: every atom is"):
        KIND.observe(structures, parameters(), InProcessCalculator(EMT()), Watch(clock=lambda: 0.0))
    observed = KIND.observe(both().structures, parameters(), NotANumber(), Watch(clock=lambda: 0.0))
    rest = Observation({name: array for name, array in observed.arrays.items() if name != "converged"})
    with pytest.raises(ValueError, match="observation: converged is missing"):
        KIND.measure(rest, both(), parameters(), None)


def test_heavy_atoms_alone_are_compared_and_also_where_the_steps_ran_out() -> None:
    """Nothing moves: the reference's hydrogen is 1 Å away, its carbon and oxygen 0.1 Å farther apart."""
    start = Atoms("COH", [(0, 0, 0), (0, 0, 1.2), (0, 0, 2.2)])
    reference = Atoms("COH", [(0, 0, 0), (0, 0, 1.3), (0, 1, 2.3)])
    dataset = relaxation_set([start], [reference])
    still, pulled = InProcessCalculator(Constant()), InProcessCalculator(Constant(force=1.0))
    converged = relax(dataset, still, rmsd_of="heavy").items
    assert converged.columns["rmsd"] == pytest.approx(0.05)
    assert converged.columns["rmsd_at_end"] == converged.columns["rmsd"]
    assert relax(dataset, still).items.columns["rmsd"][0] > 0.2
    stopped = relax(dataset, pulled, relaxation=TIGHT | {"max_steps": 1}).items
    assert stopped.cause.tolist() == [Cause.NOT_CONVERGED]
    assert np.isnan(stopped.columns["rmsd"][0])
    assert np.isfinite(stopped.columns["rmsd_at_end"][0])
    hydrogen = relaxation_set([Atoms("H2", [(0, 0, 0), (0, 0, 0.8)])], [Atoms("H2", [(0, 0, 0), (0, 0, 0.7)])])
    with pytest.raises(ValueError, match="structure 0: rmsd_of: heavy: has hydrogen alone"):
        relax(hydrogen, still, rmsd_of="heavy")
