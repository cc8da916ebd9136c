"""Equations of state: V0, B0 and B0′ of each curve of energies against those of a reference.

The baselines say on which scale an error counts. No trivial model has an equation of state, so the scale is how far the
PBE reference itself lies from experiment: the median deviation over the 58 elemental crystals for which ASE's
`ase.collections.dcdft` holds both (WIEN2k: K. Lejaeghere et al., Crit. Rev. Solid State Mater. Sci. 39, 1 (2014),
doi:10.1080/10408436.2013.772503). A model farther than this from PBE says less about a crystal than PBE does.

What a failure costs: a curve of which any point failed has that point's cause, one without a minimum within its volumes
is NOT_CONVERGED. Each is charged ten times the baseline of the metric, at which every error is clipped.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tasks.datasets.card import CurveReference
from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits, Watch, Work
from tasks.metrics.contributions import Charged, Contribution, mean_of, stored_column
from tasks.metrics.failure_cost import charged_mean, failure_cost
from tasks.metrics.kind_metric import KindMetric
from tasks.metrics.measurement import Items, Measurement, Metric
from tasks.model.calculator import BatchCalculator
from tasks.observing.frames_observation import asked_work, observe_structures, read_frames
from tasks.observing.probe_errors import ENERGY_PROBES, probed
from tasks.simulation.birch_murnaghan import fit
from tasks.structures.frames import Float
from tasks.structures.predictions import Cause

# Metric: its unit, and the median deviation of WIEN2k's PBE from experiment as above.
BASELINES = {"v0_mae_percent": ("%", 3.16), "b0_mae_percent": ("%", 12.7), "b0_prime_mae": ("", 0.638)}
FITTED = ("v0_per_atom", "b0_gpa", "b0_prime")


class EquationOfStateParameters(Parameters):
    """There is nothing to choose."""


class EquationOfStateKind:
    """Errors of V0 [%], B0 [%] and B0′."""

    name: str = "equation_of_state"
    observe_version: int = 2
    measure_version: int = 2
    parameters: type[Parameters] = EquationOfStateParameters
    traits: Traits = Traits(
        title="equation of state",
        about="volume, bulk modulus and its derivative, fitted to E(V)",
        measures=DatasetPart.CURVES,
        score=ScoreFamily.PROPERTY,
        metrics=(
            KindMetric("v0_mae_percent", "Volume V₀, mean absolute error", "%", scored=True),
            KindMetric("b0_mae_percent", "Bulk modulus B₀, mean absolute error", "%", scored=True),
            KindMetric("b0_prime_mae", "Pressure derivative B₀′, mean absolute error", "", scored=True),
            *ENERGY_PROBES,
        ),
        baseline=KindBaseline(
            "PBE against experiment",
            "How far PBE lies from experiment, which every error is divided by: no trivial model has an equation of "
            "state.",
        ),
    )

    def observe(
        self, structures: Structures, parameters: EquationOfStateParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """The energy of each structure."""
        return observe_structures(structures, self.observe_version, ("energy",), model, watch)

    def work(self, structures: Structures, parameters: EquationOfStateParameters) -> Work:
        """Each structure once, and of a hidden data set some of them in other guises."""
        return asked_work(structures, self.observe_version)

    def measure(
        self,
        observation: Observation,
        dataset: Dataset,
        parameters: EquationOfStateParameters,
        label_set: str | None,
    ) -> Measurement:
        """One item a curve, with what was fitted (v0_per_atom [Å³], b0_gpa, b0_prime) and its errors.

        A curve of which any point failed has that point's cause; one without a minimum has NOT_CONVERGED. A curve
        without a cluster stands for itself.
        """
        curves, chosen = dataset.table.curves, dataset.label_set(label_set)
        if not curves:
            raise ValueError(f"{dataset.card.full_name}: table.json: curves: there are none")
        answer = read_frames(observation, dataset.frames)
        per_atom = 1.0 / dataset.frames.n_atoms
        volume, energy = dataset.frames.volumes * per_atom, answer.energy * per_atom
        cause = np.zeros(len(curves), np.int8)
        fitted = np.full((len(curves), 3), np.nan)
        for row, curve in enumerate(curves):
            points = np.array(curve.structures)
            cause[row] = answer.failure[points].max()
            eos = None if cause[row] else fit(volume[points], energy[points])
            if eos is not None:
                fitted[row] = eos.v0, eos.b0_gpa, eos.b0_prime
            elif not cause[row]:
                cause[row] = Cause.NOT_CONVERGED
        errors = curve_errors(fitted, [curve.reference[chosen] for curve in curves])
        columns = {name: fitted[:, k] for k, name in enumerate(FITTED)} | errors
        names = ([c.id for c in curves], [c.group for c in curves], [c.cluster or c.id for c in curves])
        items = Items(*names, cause, columns)
        stated = dataset.baselines(chosen)
        metrics = {name: _metric(name, errors[_error_column(name)], stated.get(name)) for name in BASELINES}
        probes = probed(observation, dataset.frames, answer)
        return Measurement({**metrics, **probes.metrics}, items, probes.notes)

    def contributions(self, items: Items, metrics: Mapping[str, Charged]) -> list[Contribution]:
        """Of all metrics."""
        found: list[Contribution] = []
        for name in BASELINES:
            found += mean_of(metrics, name, np.abs(stored_column(items, _error_column(name))), np.ones(len(items)))
        return found


def curve_errors(fitted: Float, references: list[CurveReference]) -> dict[str, Float]:
    """(k,) each: signed errors of V0 [%], B0 [%] and B0′ of the (k, 3) parameters `fitted`."""
    reference = np.array([[r.v0_per_atom, r.b0_gpa, r.b0_prime] for r in references])
    difference = fitted - reference
    percent = 100.0 * difference / reference
    return {
        "v0_error_percent": percent[:, 0],
        "b0_error_percent": percent[:, 1],
        "b0_prime_error": difference[:, 2],
    }


def _error_column(metric: str) -> str:
    return metric.replace("_mae", "_error")


def _metric(name: str, error: Float, stated: float | None) -> Metric:
    unit, declared = BASELINES[name]
    baseline = declared if stated is None else stated
    cost = failure_cost(name, baseline)
    mean = charged_mean(np.abs(error), np.ones(len(error)), cost)
    return Metric(mean.value, unit, len(error), int(np.isnan(error).sum()), mean.charged, baseline, cost)
