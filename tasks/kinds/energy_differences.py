"""Energy differences: Σ coefficient × E(structure), over an area if there is one, against a reference, item by item.

Whatever is a sum of energies of the dataset's structures is a row of `table.json` (`tasks.datasets.card.Difference`):

| item | terms (coefficient × structure) | area | quantity | group, cluster |
| --- | --- | --- | --- | --- |
| vacancy of n O (doi:10.1021/acs.chemmater.3c02251) | 1 defect, n/2 O2, −1 pristine | | | , pristine |
| binding (doi:10.1021/acs.jcim.9b01171) | 1 complex, −1 pocket, −1 ligand | | | , protein |
| interface of m1 A and m2 B | 1 AB, −m1 A, −m2 B | 2 A: a cell has two interfaces | | , A or B |
| cleavage (doi:10.1088/3050-287X/ae1408) | 1 slab, −n bulk; n = atoms(slab)/atoms(bulk) | 2 A | | , bulk |
| conformer (doi:10.1021/acs.jctc.5c00015) | 1 conformer, −1 the molecule's own reference conformer | | | , molecule |
| reaction barrier | 1 transition state, −1 each reactant | | | reaction type, reaction |
| NEB single points (arXiv:2405.02078) | 1 highest image, −1 initial | | barrier | reaction type, path |
| | 1 final, −1 initial | | reaction energy | reaction type, path |

O2 (a triplet) is a structure like any other, and its energy the model's own. The highest image is the reference's.

Metrics are in the parameter `unit`: `mae` and `rmse`, or `<quantity>_mae` and `<quantity>_rmse` where the dataset has
several quantities; MAE by group as parts. With a `tolerance`, `<quantity>_off_percent` is the share of items that are
off by more, over all and by group (`<quantity>_off_percent:<group>`): 0 % where none is.

A structure that fails fails every item that uses it, and no item is left out. A failed item is charged W, ten times the
metric's baseline, at which errors are clipped; in a share it counts as off. The baseline is the model that answers zero
to everything; a share of which that is 0 % has none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from tasks.datasets.card import Difference, Positive
from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits, Watch, Work
from tasks.metrics.breakdowns import Averaged, parts_by_group
from tasks.metrics.contributions import Charged, Contribution, charged_mean_of, mean_of, stored_column
from tasks.metrics.failure_cost import charged_mean, failure_cost
from tasks.metrics.kind_metric import KindMetric
from tasks.metrics.measurement import Items, Measurement, Metric, MetricPart
from tasks.model.calculator import BatchCalculator
from tasks.observing.frames_observation import asked_work, observe_structures, read_frames
from tasks.observing.probe_errors import ENERGY_PROBES, probed
from tasks.structures.frames import Bool, Float
from tasks.structures.predictions import Cause, Predictions
from tasks.structures.units import Unit, unit_size

PERCENT = 100.0
_COUNT = re.compile(r"(.+_)?count")


class EnergyDifferencesParameters(Parameters):
    """In what differences are shown, and how much is too much.

    Args:
        unit: of metrics and items, of the tolerance, and of baselines that the card states.
        tolerance: the share of items that are off by more is a metric; None: it is not.
        tolerance_quantity: of which quantity; may be left out where the dataset has one.
    """

    unit: Unit = "eV"
    tolerance: Positive | None = None
    tolerance_quantity: str = ""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.tolerance_quantity and self.tolerance is None:
            raise ValueError("tolerance_quantity is stated without a tolerance")
        return self


class Sums(NamedTuple):
    """(k,) by item: what was predicted (NaN where it failed), the reference, in one unit, and codes of `Cause`."""

    predicted: Float
    reference: Float
    cause: NDArray[np.int8]

    @property
    def error(self) -> Float:
        return self.predicted - self.reference

    def of(self, chosen: Bool) -> Sums:
        """The items where `chosen` (k,) is true."""
        return Sums(self.predicted[chosen], self.reference[chosen], self.cause[chosen])


class EnergyDifferences:
    """Errors of energy differences."""

    name: str = "energy_differences"
    observe_version: int = 2
    measure_version: int = 3
    parameters: type[Parameters] = EnergyDifferencesParameters
    traits: Traits = Traits(
        title="energy differences",
        about="sums of energies against a reference per item",
        measures=DatasetPart.DIFFERENCES,
        import_format="reactions",
        score=ScoreFamily.PROPERTY,
        # LAMBench counts the share of barriers that are off once for each type of reaction. Here the share over all
        # reactions counts once, so that it weighs no more than the errors of barrier and reaction energy.
        metrics=(
            KindMetric("mae", "Mean absolute error", scored=True),
            KindMetric("*_mae", scored=True),
            KindMetric("*off_percent", unit="%", scored=True),
            KindMetric("rmse", "Root mean square error"),
            KindMetric("*_rmse"),
            KindMetric("off_percent", "Items off by more than the tolerance", "%"),
            KindMetric("*off_percent:*", unit="%"),
            KindMetric("barrier_mae", "Barrier MAE"),
            KindMetric("barrier_rmse", "Barrier RMSE"),
            KindMetric("barrier_off_percent", "Barriers off by more than the tolerance", "%"),
            KindMetric("reaction_energy_mae", "Reaction energy MAE"),
            KindMetric("reaction_energy_rmse", "Reaction energy RMSE"),
            *ENERGY_PROBES,
        ),
        baseline=KindBaseline("Answers zero", "A trivial model that answers zero to everything."),
    )

    def observe(
        self, structures: Structures, parameters: EnergyDifferencesParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """The energy of each structure."""
        return observe_structures(structures, self.observe_version, ("energy",), model, watch)

    def work(self, structures: Structures, parameters: EnergyDifferencesParameters) -> Work:
        """Each structure once, and of a hidden data set some of them in other guises."""
        return asked_work(structures, self.observe_version)

    def measure(
        self,
        observation: Observation,
        dataset: Dataset,
        parameters: EnergyDifferencesParameters,
        label_set: str | None,
    ) -> Measurement:
        """Errors of each quantity; one item a difference, with `predicted`, `reference` and `error` in `unit`.

        `<quantity>_count` is 1 for the items of a quantity and 0 for others, `<quantity>_off` 1 for those of them that
        are off by more than the tolerance. A difference without a cluster stands for itself.
        """
        rows, chosen = dataset.table.differences, dataset.label_set(label_set)
        where = f"{dataset.card.full_name}: table.json: differences"
        if not rows:
            raise ValueError(f"{where}: there are none")
        try:
            size = unit_size(parameters.unit, rows[0].area is not None)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        answer = read_frames(observation, dataset.frames)
        sums, probes = summed(rows, answer, chosen, size), probed(observation, dataset.frames, answer)
        groups, quantities = np.array([row.group for row in rows]), np.array([row.quantity for row in rows])
        metrics: dict[str, Metric] = {}
        columns = {"predicted": sums.predicted, "reference": sums.reference, "error": sums.error}
        parts: list[MetricPart] = []
        stated, counted = dataset.baselines(chosen), tolerance_quantity(parameters, quantities, where)
        for quantity, prefix in prefixes(quantities, where).items():
            own = quantities == quantity
            columns[f"{prefix}count"] = own.astype(np.float64)
            metrics |= mean_errors(prefix, sums.of(own), parameters.unit, stated)
            absolute = np.abs(sums.error[own])
            mae = Averaged(f"{prefix}mae", parameters.unit, absolute, np.ones(len(absolute)))
            parts += parts_by_group([mae], groups[own].tolist())
            if quantity == counted and parameters.tolerance is not None:
                columns[f"{prefix}off"] = np.where(own, off_by_more(sums, parameters.tolerance), 0.0)
                for metric, some in shares(prefix, own, groups, f"{where}.group").items():
                    metrics[metric] = share_off(sums.of(some), parameters.tolerance, stated.get(metric))
        names = ([row.id for row in rows], groups.tolist(), [row.cluster or row.id for row in rows])
        notes = {"items in": parameters.unit, **probes.notes}
        return Measurement({**metrics, **probes.metrics}, Items(*names, sums.cause, columns), notes, parts)

    def contributions(self, items: Items, metrics: Mapping[str, Charged]) -> list[Contribution]:
        """Of all metrics, by the columns that say which quantity an item has."""
        error, groups = stored_column(items, "error"), np.array(items.group)
        found: list[Contribution] = []
        for name in sorted(filter(_COUNT.fullmatch, items.columns)):
            prefix, count = name.removesuffix("count"), items.columns[name]
            found += mean_of(metrics, f"{prefix}mae", np.abs(error), count)
            found += mean_of(metrics, f"{prefix}rmse", error**2, count, root=True)
            if f"{prefix}off_percent" not in metrics:
                continue
            off = stored_column(items, f"{prefix}off")
            for share, some in shares(prefix, count > 0, groups, "items: group").items():
                found.append(charged_mean_of(share, off, some.astype(np.float64), 1.0, scale=PERCENT))
        return found


def summed(rows: Sequence[Difference], answer: Predictions, label_set: str, size: float) -> Sums:
    """The sums over the terms of `rows` and over the area, in a unit of `size` eV or eV/Å².

    The cause of a failed item is that of one of its failed structures, the one with the highest code.
    """
    item = np.array([i for i, row in enumerate(rows) for _ in row.terms])
    structure = np.array([term.structure for row in rows for term in row.terms])
    coefficient = np.array([term.coefficient for row in rows for term in row.terms])
    # A failed structure's energy is NaN, and so is every sum that it enters.
    energy = np.bincount(item, coefficient * answer.energy[structure], len(rows))
    predicted = energy / np.array([row.area or 1.0 for row in rows]) / size
    cause = np.zeros(len(rows), np.int8)
    np.maximum.at(cause, item, answer.failure[structure])
    cause[(cause == 0) & ~np.isfinite(predicted)] = Cause.NON_FINITE
    predicted[cause != 0] = np.nan
    return Sums(predicted, np.array([row.reference[label_set] for row in rows]) / size, cause)


def prefixes(quantities: NDArray[np.str_], where: str) -> dict[str, str]:
    """By quantity what its metrics' names begin with: nothing where there is one quantity only.

    Raises:
        ValueError: some items have a quantity and some have none, or two would have the same metrics.
    """
    distinct = list(dict.fromkeys(quantities.tolist()))
    if len(distinct) == 1:
        return {distinct[0]: ""}
    if "" in distinct:
        raise ValueError(f"{where}.quantity: some items have one and some have none: state it for all")
    return {quantity: f"{slug}_" for quantity, slug in slugged(quantities, "", f"{where}.quantity").items()}


def slugged(names: NDArray[np.str_], before: str, where: str) -> dict[str, str]:
    """By name (those that are empty apart) its metric: `before`, then lower case with _ for all but letters and digits.

    Raises:
        ValueError: nothing is left of a name, or two names become one.
    """
    slugs: dict[str, str] = {}
    for name in filter(None, dict.fromkeys(names.tolist())):
        slug = re.sub(r"[\W_]+", "_", name.casefold()).strip("_")
        if not slug or before + slug in slugs.values():
            raise ValueError(f"{where}: {name!r} and another name, or nothing, would be called {slug!r}: rename it")
        slugs[name] = before + slug
    return slugs


def tolerance_quantity(parameters: EnergyDifferencesParameters, quantities: NDArray[np.str_], where: str) -> str:
    """The quantity that the tolerance is meant for.

    Raises:
        ValueError: there is no such quantity, or there are several and none is named.
    """
    distinct: list[str] = np.unique(quantities).tolist()
    named = parameters.tolerance_quantity
    if parameters.tolerance is None or named in distinct:
        return named
    if named or len(distinct) > 1:
        raise ValueError(f"{where}: tolerance_quantity: there is no {named!r}: take one of {', '.join(distinct)}")
    return distinct[0]


def shares(prefix: str, own: Bool, groups: NDArray[np.str_], where: str) -> dict[str, Bool]:
    """By metric that is a share of the items `own` (k,), over all and by group: (k,) which items it is of.

    Raises:
        ValueError: as `slugged`.
    """
    name = f"{prefix}off_percent"
    by_group = slugged(groups[own], f"{name}:", where)
    return {name: own} | {metric: own & (groups == group) for group, metric in by_group.items()}


def off_by_more(sums: Sums, tolerance: float) -> Float:
    """(k,) 1 where an item is off by more than `tolerance`, 0 where not, NaN where it failed."""
    return np.where(sums.cause == 0, ~(np.abs(sums.error) <= tolerance), np.nan)


def mean_errors(prefix: str, sums: Sums, unit: str, stated: Mapping[str, float]) -> dict[str, Metric]:
    """MAE and RMSE of one quantity."""
    n, failed, error = len(sums.cause), int((sums.cause != 0).sum()), sums.error
    mae, rmse = f"{prefix}mae", f"{prefix}rmse"
    base_mae = stated.get(mae, float(np.abs(sums.reference).mean()))
    base_rmse = stated.get(rmse, float(np.sqrt((sums.reference**2).mean())))
    cost_mae, cost_rmse = failure_cost(mae, base_mae), failure_cost(rmse, base_rmse)
    absolute = charged_mean(np.abs(error), np.ones(n), cost_mae)
    square = charged_mean(error**2, np.ones(n), cost_rmse**2)
    root = None if square.value is None else square.value**0.5
    return {
        mae: Metric(absolute.value, unit, n, failed, absolute.charged, base_mae, cost_mae),
        rmse: Metric(root, unit, n, failed, square.charged**0.5, base_rmse, cost_rmse),
    }


def share_off(sums: Sums, tolerance: float, stated: float | None) -> Metric:
    """The share [%] of items that are off by more than `tolerance`; failed ones are charged as off."""
    good, off = sums.cause == 0, off_by_more(sums, tolerance)
    value = PERCENT * float(off[good].mean()) if good.any() else None
    trivial = PERCENT * float((np.abs(sums.reference) > tolerance).mean())
    baseline = stated if stated is not None else trivial or None
    return Metric(
        value, "%", len(off), int((~good).sum()), PERCENT * float(np.fmin(off, 1.0).mean()), baseline, PERCENT
    )
