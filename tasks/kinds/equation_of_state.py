"""Equations of state: the errors of V0, B0 and B0′ of each curve of energies against those of a reference.

The baselines set the scale of the errors. No trivial model has an equation of state, so the scale is how far the PBE
reference itself lies from experiment: the median deviation over the 58 elemental crystals for which ASE's
`ase.collections.dcdft` has both (WIEN2k: K. Lejaeghere et al., Crit. Rev. Solid State Mater. Sci. 39, 1 (2014),
doi:10.1080/10408436.2013.772503). A model farther than this from PBE says less about a crystal than PBE does.

Failure cost: if any point of a curve fails, the item has that cause; a curve without a minimum within its volumes, one
that is flat up to rounding, and one with a bulk modulus below 0.05 GPa are NOT_CONVERGED. Each costs ten times the
baseline of the metric, at which every error is clipped.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tasks.datasets.card import CurveReference
from tasks.datasets.dataset import Dataset
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits
from tasks.metrics.averages import Average, contributions_to
from tasks.metrics.contributions import Contribution, WithFailureCost, stored_column
from tasks.metrics.kind_metric import KindMetric
from tasks.metrics.measurement import Items, Measurement, items_of
from tasks.observing.frames_observation import AsksEachStructure, read_frames
from tasks.observing.probe_errors import ENERGY_PROBES, probe_results
from tasks.simulation.birch_murnaghan import fit
from tasks.structures.frames import Float
from tasks.structures.predictions import Cause

# By metric: its unit, and the median deviation of WIEN2k's PBE from experiment as above.
BASELINES = {"v0_mae_percent": ("%", 3.16), "b0_mae_percent": ("%", 12.7), "b0_prime_mae": ("", 0.638)}
FITTED = ("v0_per_atom", "b0_gpa", "b0_prime")


class EquationOfStateParameters(Parameters):
    """There are no settings."""


class EquationOfStateKind(AsksEachStructure):
    """Errors of V0 [%], B0 [%] and B0′."""

    name: str = "equation_of_state"
    observe_version: int = 2
    measure_version: int = 3  # since 3 a flat curve has no equation of state
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

    def measure(
        self,
        observation: Observation,
        dataset: Dataset,
        parameters: EquationOfStateParameters,
        label_set: str | None,
    ) -> Measurement:
        """One item a curve, with the fitted v0_per_atom [Å³], b0_gpa and b0_prime, and their errors."""
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
        items = items_of(curves, cause, dict(zip(FITTED, fitted.T, strict=True)) | errors)
        stated = dataset.baselines(chosen)
        metrics = {a.name: a.metric(stated.get(a.name, BASELINES[a.name][1])) for a in _averages(errors)}
        probes = probe_results(observation, dataset.frames, answer)
        return Measurement({**metrics, **probes.metrics}, items, probes.notes)

    def contributions(self, items: Items, metrics: Mapping[str, WithFailureCost]) -> list[Contribution]:
        """To all metrics."""
        return contributions_to(metrics, _averages(items.columns))


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


def _averages(columns: Mapping[str, Float]) -> list[Average]:
    absolute = {name: np.abs(stored_column(columns, name.replace("_mae", "_error"))) for name in BASELINES}
    return [Average(name, BASELINES[name][0], error, np.ones(len(error))) for name, error in absolute.items()]
