"""Energy differences: Σ coefficient × E(structure), over an area if there is one, against a reference, item by item.

Each sum of energies of the data set's structures is a row of `table.json` (`tasks.datasets.card.Difference`):

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

O2 (a triplet) is a structure like any other: its energy is the model's. The highest image is that of the reference.

Metrics are in the parameter `unit`: `mae` and `rmse`, or `<quantity>_mae` and `<quantity>_rmse` if the data set has
several quantities; MAE by group as parts. With a `tolerance`, `<quantity>_off_percent` is the share of items that are
off by more, over all and by group (`<quantity>_off_percent:<group>`).

A task may ask for more (`statistics`, `weighting`); each is named after its quantity, as `mae` is, but weighted means,
which are over all quantities:

| metric | what it is |
| --- | --- |
| `spearman` | rank correlation of prediction and reference in a group, mean over groups |
| `lowest_found_percent` | groups whose lowest member is predicted to be the lowest |
| `ranking_error` | 1 − ½ × lowest found − ½ × highest found, mean over groups |
| `own_minimum_mae` | errors of the energies above the lowest member of the group, each side having its own lowest |
| `group_rmse` | root mean square error in a group, mean over groups |
| `r2` | 1 − Σ error² / Σ (reference − mean reference)²; up to 1, and below 0 if the mean does better |
| `soft_score` | mean over items of 1 up to a threshold t, exp(−3 (error − t)/t) beyond |
| `wtmad` | mean of weight × absolute error, with the weights of the table |
| `wtmad2` | WTMAD-2: a group weighs 56.84 kcal/mol over its mean absolute reference (doi:10.1039/C7CP04913G) |

The members of a group are its structures where all of its items are differences of two of them, else its items. Orders
and own minima may be within clusters, where groups are families of these.

Failure cost: a structure that fails fails every item that uses it, and no item is left out. A failed item costs W, ten
times the metric's baseline, at which errors are clipped; in a share it counts as off. The baseline is the model that
answers zero to everything; if its share is 0 %, the metric has no baseline. A group with a failed item has the worst
order (`spearman` −1, `ranking_error` 1, lowest not found), and each of its members costs W in `own_minimum_mae`. In
`soft_score` a failed item counts 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveInt, model_validator

from tasks.datasets.card import Difference, Positive
from tasks.datasets.card_parts import later
from tasks.datasets.dataset import Dataset
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits
from tasks.kinds.difference_statistics import (
    Asked,
    QuantityRows,
    Statistic,
    Weighting,
    statistics_averages,
    statistics_of,
)
from tasks.metrics.averages import Average, contributions_to, parts_by_group
from tasks.metrics.contributions import Contribution, WithFailureCost, baseline_column, stored_column
from tasks.metrics.kind_metric import Better, KindMetric
from tasks.metrics.measurement import Items, ItemTerms, Measurement, items_of
from tasks.metrics.metric import Metric, MetricPart
from tasks.observing.frames_observation import AsksEachStructure, read_frames
from tasks.observing.probe_errors import ENERGY_PROBES, probe_results
from tasks.simulation.trial_builds import build_fault
from tasks.structures.frames import Bool, Float, Int
from tasks.structures.predictions import Cause, Predictions
from tasks.structures.units import Unit, unit_size

PERCENT = 100.0
_COUNT = re.compile(r"(.+_)?count")


class EnergyDifferencesParameters(Parameters):
    """The unit of the differences, and the tolerance of their errors.

    Args:
        unit: of metrics and items, of the tolerance, and of baselines that the card states.
        tolerance: the share of items that are off by more is a metric; None: it is not.
        tolerance_quantity: the quantity of that share; may be left out if the data set has one quantity.
        statistics: further metrics, as above.
        lowest: `spearman` is over so many members of each group, the lowest at the reference; None: over all.
        highest: the same with the highest at the reference.
        orders_within: the sets that have an order and own minima.
        soft_threshold: of `soft_score`; None: it is not measured.
        weighting: of `wtmad` or `wtmad2`; None: neither is measured.
    """

    unit: Unit = "eV"
    tolerance: Positive | None = None
    tolerance_quantity: str = ""
    statistics: tuple[Statistic, ...] = later(())
    lowest: PositiveInt | None = later(None)
    highest: PositiveInt | None = later(None)
    orders_within: Literal["group", "cluster"] = later("group")
    soft_threshold: Positive | None = later(None)
    weighting: Weighting | None = later(None)

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.tolerance_quantity and self.tolerance is None:
            raise ValueError("tolerance_quantity is stated without a tolerance")
        for name, n in (("lowest", self.lowest), ("highest", self.highest)):
            if n is not None and "spearman" not in self.statistics:
                raise ValueError(f'{name}: is of the statistic "spearman", which is not asked for')
        if self.lowest is not None and self.highest is not None:
            raise ValueError("lowest, highest: the rank correlation is of one end: state one of them")
        return self


class EnergyDifferences(AsksEachStructure):
    """Errors of energy differences."""

    name: str = "energy_differences"
    observe_version: int = 2
    # Since 4 the items state which of them the trivial model has off; since 5 own minima are those of all members.
    measure_version: int = 5
    parameters: type[Parameters] = EnergyDifferencesParameters
    traits: Traits = Traits(
        title="energy differences",
        about="sums of energies against a reference per item",
        measures=DatasetPart.DIFFERENCES,
        import_format="reactions",
        score=ScoreFamily.PROPERTY,
        # LAMBench (downstream_tasks_metrics.yml at commit 05a089b) counts the share of barriers that are off once for
        # each type of reaction. Here the share over all reactions counts once, so that it weighs no more than the
        # errors of barrier and reaction energy.
        metrics=(
            KindMetric("mae", "Mean absolute error", scored=True),
            KindMetric("*_mae", scored=True),
            KindMetric("*off_percent", unit="%", scored=True),
            KindMetric("rmse", "Root mean square error"),
            KindMetric("*_rmse"),
            KindMetric("*wtmad", "Weighted mean absolute error"),
            KindMetric("*wtmad2", "WTMAD-2"),
            KindMetric("*spearman", "Rank correlation in a group (Spearman's ρ)", "", Better.HIGHER),
            KindMetric("*lowest_found_percent", "Groups whose lowest member is found", "%", Better.HIGHER),
            KindMetric("*ranking_error", "Lowest or highest member not found", ""),
            KindMetric("*soft_score", "Score by a soft threshold", "", Better.HIGHER),
            KindMetric("*r2", "Coefficient of determination R²", "", Better.HIGHER),
            KindMetric("off_percent", "Items off by more than the tolerance", "%"),
            KindMetric("*off_percent:*", unit="%"),
            KindMetric("barrier_mae", "Barrier MAE"),
            KindMetric("barrier_rmse", "Barrier RMSE"),
            KindMetric("barrier_off_percent", "Barriers with an error above the tolerance", "%"),
            KindMetric("reaction_energy_mae", "Reaction energy MAE"),
            KindMetric("reaction_energy_rmse", "Reaction energy RMSE"),
            *ENERGY_PROBES,
        ),
        baseline=KindBaseline("Answers zero", "A trivial model that answers zero to everything."),
    )

    def build_faults(self, dataset: Dataset) -> list[str]:
        """The quantities that have no metric of their own."""
        quantities = np.array([row.quantity for row in dataset.table.differences])
        fault = build_fault(lambda: prefixes(quantities, "differences")) if len(quantities) else ""
        return [fault] if fault else []

    def measure(
        self,
        observation: Observation,
        dataset: Dataset,
        parameters: EnergyDifferencesParameters,
        label_set: str | None,
    ) -> Measurement:
        """Errors of each quantity; one item a difference, with `predicted`, `reference` and `error` in `unit`.

        `<quantity>_count` is 1 for the items of a quantity and 0 for others, `<quantity>_off` 1 for those of them that
        are off by more than the tolerance.
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
        predicted, cause = summed(rows, answer, size, dataset.frames.n_atoms)
        reference = np.array([row.reference[chosen] for row in rows]) / size
        groups, quantities = np.array([row.group for row in rows]), np.array([row.quantity for row in rows])
        within = np.array([getattr(row, parameters.orders_within) for row in rows])
        columns = {"predicted": predicted, "reference": reference, "error": predicted - reference}
        stated, limited = dataset.baselines(chosen), tolerance_quantity(parameters, quantities, where)
        metrics: dict[str, Metric] = {}
        parts: list[MetricPart] = []
        by_quantity = prefixes(quantities, where)
        weighting = parameters.weighting if len(by_quantity) == 1 else None
        for quantity, prefix in by_quantity.items():
            members = quantities == quantity
            columns[f"{prefix}count"] = members.astype(np.float64)
            mae, rmse = mean_errors(prefix, columns, parameters.unit)
            by_mae, by_rmse = np.abs(reference[members]).mean(), np.sqrt((reference[members] ** 2).mean())
            metrics[mae.name] = mae.metric(stated.get(mae.name, float(by_mae)))
            metrics[rmse.name] = rmse.metric(stated.get(rmse.name, float(by_rmse)))
            own = [row for row in rows if row.quantity == quantity]
            metrics |= with_uncertainty(prefix, metrics, own, chosen, size)
            shown = [mae, rmse] if "group_rmse" in parameters.statistics else [mae]
            parts += parts_by_group([each.over(members) for each in shown], groups[members].tolist())
            of_quantity = QuantityRows(prefix, rows, columns, groups, members, parameters.unit, within)
            asked = Asked(
                parameters.statistics,
                parameters.lowest,
                parameters.highest,
                weighting,
                parameters.soft_threshold,
            )
            found = statistics_of(of_quantity, asked, stated, metrics[rmse.name].failure_cost, where)
            metrics |= found.metrics
            columns |= found.columns
            parts += found.parts
            if quantity == limited and parameters.tolerance is not None:
                off = np.where(cause == 0, ~(np.abs(columns["error"]) <= parameters.tolerance), np.nan)
                trivial_off = np.abs(reference) > parameters.tolerance
                columns[f"{prefix}off"] = np.where(members, off, 0.0)
                columns[baseline_column(f"{prefix}off")] = np.where(members, trivial_off, 0.0)
                for share in shares_off(prefix, columns, groups, f"{where}.group"):
                    trivial = PERCENT * float(trivial_off[share.counts > 0].mean())
                    metrics[share.name] = share.metric(stated.get(share.name, trivial or None), PERCENT)
        if weighting is None and parameters.weighting is not None:
            members = np.ones(len(rows), np.bool_)
            columns["count"] = members.astype(np.float64)
            everything = QuantityRows("", rows, columns, groups, members, parameters.unit)
            found = statistics_of(everything, Asked(weighting=parameters.weighting), stated, None, where)
            metrics |= found.metrics
            columns |= found.columns
            parts += found.parts
        probes = probe_results(observation, dataset.frames, answer)
        notes = {"items in": parameters.unit, **probes.notes}
        items = items_of(rows, cause, columns, terms_of(rows))
        return Measurement({**metrics, **probes.metrics}, items, notes, parts)

    def contributions(self, items: Items, metrics: Mapping[str, WithFailureCost]) -> list[Contribution]:
        """To all metrics, by the columns that say which quantity an item has."""
        averages: list[Average] = []
        for name in sorted(filter(_COUNT.fullmatch, items.columns)):
            prefix = name.removesuffix("count")
            averages += mean_errors(prefix, items.columns)
            averages += statistics_averages(prefix, items.columns, metrics)
            if f"{prefix}off_percent" in metrics:
                averages += shares_off(prefix, items.columns, np.array(items.group), "items: group")
        return contributions_to(metrics, averages)


def with_uncertainty(
    prefix: str, metrics: Mapping[str, Metric], rows: Sequence[Difference], label_set: str, size: float
) -> dict[str, Metric]:
    """MAE and RMSE of one quantity with the uncertainties of the references of its `rows`, if all state one."""
    stated = [row.uncertainty.get(label_set) for row in rows]
    known = np.array([value for value in stated if value is not None]) / size
    if len(known) < len(rows):
        return {}
    means = {"mae": known.mean(), "rmse": np.sqrt((known**2).mean())}
    return {
        f"{prefix}{name}": replace(metrics[f"{prefix}{name}"], reference_uncertainty=float(mean))
        for name, mean in means.items()
    }


def summed(
    rows: Sequence[Difference], answer: Predictions, size: float, n_atoms: Int
) -> tuple[Float, NDArray[np.int8]]:
    """(k,) each: the sums over the terms of `rows` and over the area, in a unit of `size` eV or eV/Å², and causes.

    A sum is NaN if it failed. Its cause is that of one of its failed structures, the one with the highest code.

    Args:
        n_atoms: (n,) of each structure. Of alternatives with other numbers, such as phases of an element, the lowest
            for an atom takes part, times the atoms of the term's structure.
    """
    item = np.array([i for i, row in enumerate(rows) for _ in row.terms])
    structure = np.array([term.structure for row in rows for term in row.terms])
    coefficient = np.array([term.coefficient for row in rows for term in row.terms])
    energies, failure = answer.energy[structure], answer.failure[structure]
    for place, others in enumerate([term.alternatives for row in rows for term in row.terms]):
        if others:
            candidates = [structure[place], *others]
            # NaN if one of them failed: it may be the lowest.
            shares = n_atoms[structure[place]] / n_atoms[candidates]
            energies[place] = (shares * answer.energy[candidates]).min()
            failure[place] = answer.failure[candidates].max()
    # The energy of a failed structure is NaN, and so is every sum that contains it.
    energy = np.bincount(item, coefficient * energies, len(rows))
    predicted = energy / np.array([row.area or 1.0 for row in rows]) / size
    cause = np.zeros(len(rows), np.int8)
    np.maximum.at(cause, item, failure)
    cause[(cause == 0) & ~np.isfinite(predicted)] = Cause.NON_FINITE
    predicted[cause != 0] = np.nan
    return predicted, cause


def terms_of(rows: Sequence[Difference]) -> ItemTerms:
    """The structures of each row, with their coefficients over its area."""
    return ItemTerms(
        np.array([i for i, row in enumerate(rows) for _ in row.terms]),
        np.array([term.structure for row in rows for term in row.terms]),
        np.array([term.coefficient / (row.area or 1.0) for row in rows for term in row.terms]),
    )


def prefixes(quantities: NDArray[np.str_], where: str) -> dict[str, str]:
    """By quantity, the prefix of its metrics: empty if there is one quantity only.

    Raises:
        ValueError: some items have a quantity and some have none, or two quantities would have the same metrics.
    """
    distinct = list(dict.fromkeys(quantities.tolist()))
    if len(distinct) == 1:
        return {distinct[0]: ""}
    if "" in distinct:
        raise ValueError(f"{where}.quantity: some items have one and some have none: state it for all")
    return {quantity: f"{slug}_" for quantity, slug in slugged(quantities, "", f"{where}.quantity").items()}


def slugged(names: NDArray[np.str_], before: str, where: str) -> dict[str, str]:
    """By name that is not empty, its metric: `before`, then lower case with _ for all but letters and digits.

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


def mean_errors(prefix: str, columns: Mapping[str, Float], unit: str = "") -> tuple[Average, Average]:
    """MAE and RMSE of one quantity."""
    error, count = stored_column(columns, "error"), stored_column(columns, f"{prefix}count")
    # Without a column for it, the trivial model answers zero, so that its error is the reference.
    trivial = columns.get(baseline_column("error"), columns.get("reference", np.full(len(error), np.nan)))
    return (
        Average(f"{prefix}mae", unit, np.abs(error), count, errors=error, baseline=np.abs(trivial)),
        Average(f"{prefix}rmse", unit, error**2, count, root=True, errors=error, baseline=trivial**2),
    )


def shares_off(prefix: str, columns: Mapping[str, Float], groups: NDArray[np.str_], where: str) -> list[Average]:
    """The shares [%] of items of one quantity that are off by more than the tolerance: over all, and by group.

    Raises:
        ValueError: as `slugged`.
    """
    name, off = f"{prefix}off_percent", stored_column(columns, f"{prefix}off")
    members = stored_column(columns, f"{prefix}count") > 0
    chosen: dict[str, Bool] = {name: members}
    for group, metric in slugged(groups[members], f"{name}:", where).items():
        chosen[metric] = members & (groups == group)
    trivial = columns.get(baseline_column(f"{prefix}off"))
    return [
        Average(metric, "%", off, c.astype(np.float64), scale=PERCENT, baseline=trivial) for metric, c in chosen.items()
    ]
