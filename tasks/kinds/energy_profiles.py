"""Energy profiles: energies along a scan against those of a reference, one item a scan, in four forms.

**`energy`** (torsions: B. K. Rai et al., J. Chem. Inf. Model. 62, 785 (2022), doi:10.1021/acs.jcim.1c01346). Each
profile counts from its own lowest point, in kcal/mol, and its barrier is its highest point.

    profile_mae, profile_rmse   over all points of all scans
    barrier_mae                 over scans
    n_barriers_off              scans whose barrier is off by more than `tolerance`

`profile_rmse` is one root of the mean over all points. LAMBench (torsionnet.py at commit 13e6763) states another number
as RMSE: the root of the mean over the scans for each point of the scan, then the mean over the points. It is never
larger than this one. Neither enters a score.

**`stacking_fault`** (the generalised stacking-fault energy: V. Vítek, Philos. Mag. 18, 773 (1968),
doi:10.1080/14786436808227500). γ(x) = (E(x) − min E) / A in mJ/m², model and reference each interpolated through its
points by a monotone cubic (PCHIP: F. N. Fritsch and J. Butland, SIAM J. Sci. Stat. Comput. 5, 300 (1984),
doi:10.1137/0905021) at 200 equidistant x from the first to the last point.

    energy_mae                  over those 200 values of γ, then over scans
    slope_mae                   the same of the slopes between them of γ / max γ, with the whole range of x being 1: of
                                the shape alone, without a unit, as LAMBench measures it (stacking_fault.py at
                                commit 6062685)

**`conformers`** (MLIPAudit 0.1.8, conformer_selection). Energies of a molecule's conformers above the one that is most
stable at the reference; mean absolute error and root mean square error of each molecule, in kcal/mol.

    conformer_mae, conformer_rmse   over molecules
    conformer_score             the mean of both scores of a molecule by `soft_thresholds`, over molecules: 1 up to a
                                threshold t, exp(−3 (error − t)/t) beyond, 0 for one that failed

**`interaction`** (MLIPAudit 0.1.8, noncovalent_interactions). The interaction energy of two molecules along their
distance, in kcal/mol: the lowest energy of a profile less that at its last point; the highest one for molecules that
repel each other, where the scan states so.

    interaction_mae             over scans

A curve that is flat up to rounding is no failure, since the model answered. Its slope is set to 0, the value of the
baseline: division by its maximum would measure the rounding.

Failure cost: if any point of a scan fails, the item has that cause (the one with the highest code) and no number. It
costs W in each mean, at which errors are clipped: ten times the metric's baseline; among barriers it counts as off. The
baseline is the smallest error of the profiles that know no chemistry (`tasks.kinds.equal_profiles`): the flat one, or,
with four scans or more, the same humps in all of them. If its count is 0, the metric has no baseline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Self

import numpy as np
from pydantic import model_validator

from tasks.datasets.card import Positive, Scan
from tasks.datasets.card_parts import later
from tasks.datasets.dataset import Dataset
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits
from tasks.kinds.equal_profiles import constants_off, smallest, table_of, trivial_tables
from tasks.kinds.scan_forms import FORMS
from tasks.metrics.averages import contributions_to, parts_by_group
from tasks.metrics.contributions import Contribution, WithFailureCost, baseline_column, stored_column
from tasks.metrics.failure_cost import penalised_sums
from tasks.metrics.kind_metric import Better, KindMetric
from tasks.metrics.measurement import Items, Measurement, items_of
from tasks.metrics.metric import Metric, MetricPart
from tasks.metrics.soft_threshold import soft_score, soft_scores
from tasks.observing.frames_observation import AsksEachStructure, read_frames
from tasks.observing.probe_errors import ENERGY_PROBES, probe_results
from tasks.structures.frames import Float
from tasks.structures.predictions import Cause

TOLERANCE = 1.0


class EnergyProfilesParameters(Parameters):
    """Which of the forms.

    Args:
        quantity: `stacking_fault` for scans with an area, the others for those without one.
        tolerance: [kcal/mol] beyond which a barrier is off; of `energy` alone.
        soft_thresholds: [kcal/mol] of mean absolute and root mean square errors, for `conformer_score`; of `conformers`
            alone.
    """

    quantity: Literal["energy", "stacking_fault", "conformers", "interaction"] = "energy"
    tolerance: Positive = TOLERANCE
    soft_thresholds: tuple[Positive, Positive] | None = later(None)

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.quantity != "energy" and self.tolerance != TOLERANCE:
            raise ValueError(f"tolerance is of barriers, which quantity = {self.quantity} does not measure")
        if self.quantity != "conformers" and self.soft_thresholds is not None:
            raise ValueError(f"soft_thresholds are of conformers, which quantity = {self.quantity} does not measure")
        return self


class EnergyProfiles(AsksEachStructure):
    """Errors of energy profiles and their barriers, of stacking faults, conformers, or interaction energies."""

    name: str = "energy_profiles"
    observe_version: int = 2
    # Since 3 the items have the errors of the flat profile; since 4 of the best profile without chemistry.
    measure_version: int = 4
    parameters: type[Parameters] = EnergyProfilesParameters
    traits: Traits = Traits(
        title="energy profiles",
        about="energies along a scan: torsions, stacking faults, conformers, interactions",
        measures=DatasetPart.SCANS,
        import_format="scans",
        score=ScoreFamily.PROPERTY,
        metrics=(
            KindMetric("profile_mae", "Profile MAE", "kcal/mol", scored=True),
            KindMetric("barrier_mae", "Barrier MAE", "kcal/mol", scored=True),
            KindMetric("n_barriers_off", "Barriers with an error above the tolerance", "", scored=True),
            KindMetric("energy_mae", "Stacking-fault energy MAE", "mJ/m²", scored=True),
            KindMetric("slope_mae", "Stacking-fault slope MAE", "", scored=True),
            KindMetric("conformer_mae", "Conformer energies, MAE", "kcal/mol", scored=True),
            KindMetric("conformer_rmse", "Conformer energies, RMSE", "kcal/mol"),
            KindMetric("conformer_score", "Conformer energies, score by soft thresholds", "", Better.HIGHER),
            KindMetric("interaction_mae", "Interaction energy MAE", "kcal/mol", scored=True),
            KindMetric("profile_rmse", "Profile RMSE", "kcal/mol"),
            *ENERGY_PROBES,
        ),
        baseline=KindBaseline(
            "Without chemistry", "The best model whose profiles are flat, or have the same humps for all scans."
        ),
    )

    def measure(
        self,
        observation: Observation,
        dataset: Dataset,
        parameters: EnergyProfilesParameters,
        label_set: str | None,
    ) -> Measurement:
        """Errors as above; one item a scan, with the columns of its form (`tasks.kinds.scan_forms`).

        A barrier that is off has 1 in `barrier_off`.
        """
        scans, chosen = dataset.table.scans, dataset.label_set(label_set)
        check_quantity(scans, parameters, f"{dataset.card.full_name}: table.json: scans")
        answer = read_frames(observation, dataset.frames)
        energies = [answer.energy[list(scan.structures)] for scan in scans]
        references = [np.array(scan.reference[chosen]) for scan in scans]
        cause = np.array([answer.failure[list(scan.structures)].max() for scan in scans], np.int8)
        cause[(cause == 0) & ~np.array([np.isfinite(energy).all() for energy in energies])] = Cause.NON_FINITE
        form = FORMS[parameters.quantity]
        rows = zip(scans, energies, references, cause, strict=True)
        columns = table_of([form.evaluate(s, np.full(len(e), np.nan) if c else e, r) for s, e, r, c in rows])
        tables = trivial_tables(parameters.quantity, scans, references)
        groups, stated = [scan.group for scan in scans], dataset.baselines(chosen)
        metrics: dict[str, Metric] = {}
        parts: list[MetricPart] = []
        trivial: dict[str, Float] = {}
        for mean, average in zip(form.means, form.averages(columns), strict=True):
            sums = smallest([np.abs(table[mean.sums]) for table in tables])
            trivial[baseline_column(mean.sums)] = sums
            baseline = float(sums.sum() / average.counts.sum()) ** (0.5 if average.root else 1.0)
            metrics[average.name] = average.metric(stated.get(average.name, baseline))
            if not average.root:
                parts += parts_by_group([average], groups)
        if parameters.quantity == "energy":
            off = off_by_more(columns["barrier_error"], parameters.tolerance)
            trivial_off = smallest(constants_off(tables[0]["barrier_reference"], parameters.tolerance))
            metrics[OFF] = barriers_off(off, trivial_off, stated.get(OFF))
            columns["barrier_off"], columns[baseline_column("barrier_off")] = off, trivial_off
        if parameters.soft_thresholds is not None:
            errors = [columns[name] for name in ("conformer_mae", "conformer_rmse")]
            metrics["conformer_score"] = soft_score(
                [soft_scores(each, t) for each, t in zip(errors, parameters.soft_thresholds, strict=True)]
            )
        columns |= trivial
        probes = probe_results(observation, dataset.frames, answer)
        return Measurement({**metrics, **probes.metrics}, items_of(scans, cause, columns), probes.notes, parts)

    def contributions(self, items: Items, metrics: Mapping[str, WithFailureCost]) -> list[Contribution]:
        """To all metrics."""
        contributions: list[Contribution] = []
        for form in FORMS.values():
            if any(mean.name in metrics for mean in form.means):
                contributions += contributions_to(metrics, form.averages(items.columns))
        if OFF in metrics:
            off, count = (stored_column(items.columns, name) for name in ("barrier_off", "count"))
            scale = float(metrics[OFF].n_items)
            contributions.append(
                Contribution(
                    OFF,
                    penalised_sums(off, count, 1.0),
                    count,
                    scale=scale,
                    limit=1.0,
                    baseline=items.columns.get(baseline_column("barrier_off")),
                )
            )
        return contributions


def check_quantity(scans: Sequence[Scan], parameters: EnergyProfilesParameters, where: str) -> None:
    """There are scans, and they have areas where, and only where, the quantity needs them.

    Raises:
        ValueError: otherwise; one line.
    """
    if not scans:
        raise ValueError(f"{where}: there are none")
    if (scans[0].area is not None) != (parameters.quantity == "stacking_fault"):
        other, having = ("energy", "no area") if scans[0].area is None else ("stacking_fault", "an area")
        raise ValueError(f"{where}: quantity: {parameters.quantity}: these scans have {having}: take {other}")
    fewest = FORMS[parameters.quantity].fewest
    for scan in scans:
        if len(scan.structures) < fewest:
            raise ValueError(f"{where}: {scan.id}: {len(scan.structures)} structures, at least {fewest} are needed")


OFF = "n_barriers_off"


def off_by_more(error: Float, tolerance: float) -> Float:
    """(k,) 1 where `error` is more than `tolerance`, 0 where not, NaN where a scan failed (NaN)."""
    return np.where(np.isfinite(error), np.abs(error) > tolerance, np.nan)


def barriers_off(off: Float, trivial: Float, stated: float | None) -> Metric:
    """How many barriers (k,) are off; failed ones (NaN) are. The baseline is the count of the trivial model."""
    answered = np.isfinite(off)
    value = float(off[answered].sum()) if answered.any() else None
    baseline = stated if stated is not None else float(trivial.sum()) or None
    return Metric(value, "", len(off), int((~answered).sum()), float(np.fmin(off, 1.0).sum()), baseline, 1.0)
