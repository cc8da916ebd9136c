"""Statistics of energy differences that a task asks for: weighted errors, orders in groups, and own minima."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from tasks.datasets.card import Difference
from tasks.metrics.averages import Average, parts_by_group
from tasks.metrics.contributions import baseline_column, stored_column
from tasks.metrics.failure_cost import penalised_sums
from tasks.metrics.group_statistics import (
    highest_at_reference,
    lowest_at_reference,
    lowest_found,
    over_groups,
    ranking_error,
    spearman,
)
from tasks.metrics.metric import Metric, MetricPart
from tasks.metrics.soft_threshold import soft_score, soft_scores
from tasks.structures.frames import Bool, Float
from tasks.structures.units import ENERGY_UNITS, unit_size

PERCENT = 100.0
# The mean over the subsets of GMTKN55 of the mean absolute reference [eV].
WTMAD2_SCALE = 56.84 * ENERGY_UNITS["kcal/mol"]
Statistic = Literal["spearman", "lowest_found", "ranking_error", "own_minimum", "group_rmse", "r2"]
Weighting = Literal["wtmad", "wtmad2"]
WEIGHTINGS: tuple[Weighting, ...] = get_args(Weighting)


class QuantityRows(NamedTuple):
    """The items of one quantity, among all k rows of a table.

    Args:
        prefix: of the names of its metrics.
        columns: (k,) each `predicted`, `reference` and `error`, in `unit`; NaN where an item failed.
        groups: (k,) names.
        members: (k,) the rows of this quantity.
        within: (k,) names of the sets within which orders and own minima are; None: the groups.
    """

    prefix: str
    rows: Sequence[Difference]
    columns: Mapping[str, Float]
    groups: NDArray[np.str_]
    members: Bool
    unit: str
    within: NDArray[np.str_] | None = None

    @property
    def by_group(self) -> dict[str, NDArray[np.int64]]:
        """The indices of the rows of each group."""
        return self._indices(self.groups)

    @property
    def ordered(self) -> list[NDArray[np.int64]]:
        """The indices of the rows of each set within which there is an order."""
        return list(self._indices(self.groups if self.within is None else self.within).values())

    def _indices(self, names: NDArray[np.str_]) -> dict[str, NDArray[np.int64]]:
        return {str(name): np.flatnonzero(self.members & (names == name)) for name in np.unique(names[self.members])}


class Asked(NamedTuple):
    """What a task asks for.

    Args:
        lowest: the rank correlation is over so many members of each group; None: over all.
        highest: the same from the other end.
        soft_threshold: of `soft_score`, in the unit of the errors; None: it is not asked for.
    """

    statistics: Sequence[Statistic] = ()
    lowest: int | None = None
    highest: int | None = None
    weighting: Weighting | None = None
    soft_threshold: float | None = None


class Found(NamedTuple):
    """The metrics of one quantity, the columns that they follow from, and the breakdowns by group."""

    metrics: Mapping[str, Metric]
    columns: Mapping[str, Float]
    parts: Sequence[MetricPart]


def statistics_of(of: QuantityRows, asked: Asked, stated: Mapping[str, float], cost: float | None, where: str) -> Found:
    """All that a task asks for of one quantity.

    Args:
        stated: by metric, a baseline in place of the computed one.
        cost: of a failed item.

    Raises:
        ValueError: there are no weights; the line begins with `where`.
    """
    columns, averages = dict[str, Float](), list[Average]()
    if asked.weighting is not None:
        columns[f"{of.prefix}{asked.weighting}_weight"] = weights_of(of, asked.weighting, where)
        averages.append(weighted_error(of.prefix, asked.weighting, {**of.columns, **columns}, of.unit))
    if "own_minimum" in asked.statistics:
        columns |= own_minimum(of)
        averages.append(above_minimum(of.prefix, {**of.columns, **columns}, of.unit))
    parts = parts_by_group([each.over(of.members) for each in averages], of.groups[of.members].tolist())
    metrics = {average.name: metric_of(average, stated) for average in averages}
    metrics |= group_metrics(of, asked.statistics, asked.lowest, cost, asked.highest)
    if asked.soft_threshold is not None:
        errors = np.abs(of.columns["error"][of.members])
        metrics[f"{of.prefix}soft_score"] = soft_score([soft_scores(errors, asked.soft_threshold)])
    return Found(metrics, columns, parts)


def statistics_averages(prefix: str, columns: Mapping[str, Float], metrics: Container[str]) -> list[Average]:
    """Those of `metrics` that are means over items."""
    averages = [weighted_error(prefix, name, columns) for name in WEIGHTINGS if f"{prefix}{name}" in metrics]
    return averages + ([above_minimum(prefix, columns)] if f"{prefix}own_minimum_mae" in metrics else [])


def metric_of(average: Average, stated: Mapping[str, float]) -> Metric:
    """The metric, with the baseline that the card states, or that of the model that answers zero."""
    members = average.counts > 0
    trivial = np.nan
    if average.baseline is not None:
        trivial = float(average.baseline[members].sum() / average.counts[members].sum())
    return average.metric(stated.get(average.name, trivial))


def weights_of(of: QuantityRows, weighting: Weighting, where: str) -> Float:
    """(k,) the weight of the absolute error of each item of the quantity, 0 for others.

    Raises:
        ValueError: the table states no weights, or the references of a group are all zero.
    """
    weights = np.zeros(len(of.rows))
    if weighting == "wtmad":
        for i in np.flatnonzero(of.members).tolist():
            weight = of.rows[i].weight
            if weight is None:
                raise ValueError(f'{where}: {of.rows[i].id}: weight: is missing: state it, or weighting = "wtmad2"')
            weights[i] = weight
        return weights
    size = np.abs(of.columns["reference"])
    scale = WTMAD2_SCALE / unit_size(of.unit, of.rows[0].area is not None)
    for group, chosen in of.by_group.items():
        mean = float(size[chosen].mean())
        if not mean > 0:
            raise ValueError(f"{where}: group: the references of {group!r} are all zero, which gives no weight")
        weights[chosen] = scale / mean
    return weights


def weighted_error(prefix: str, weighting: Weighting, columns: Mapping[str, Float], unit: str = "") -> Average:
    """The mean of weight × absolute error."""
    name = f"{prefix}{weighting}"
    weights, error = stored_column(columns, f"{name}_weight"), stored_column(columns, "error")
    trivial = np.abs(columns.get("reference", np.full(len(error), np.nan)))
    count = stored_column(columns, f"{prefix}count")
    return Average(name, unit, weights * np.abs(error), count, baseline=weights * trivial)


def own_minimum(of: QuantityRows) -> dict[str, Float]:
    """(k,) each: sums of the absolute errors of energies above the own minimum, their baseline, and the members.

    An item has the error of its member; where the members are structures, of which there may be more, it has an equal
    share of theirs. All items of a group with a failed one are NaN; those of other quantities are 0.
    """
    error, trivial, count = (np.zeros(len(of.rows)) for _ in range(3))
    for chosen in of.ordered:
        predicted, reference = _members(of, chosen)
        above = reference - reference.min()
        # The minimum is NaN if a member failed, since that one may be the lowest.
        off = np.abs(predicted - predicted.min() - above)
        if len(off) != len(chosen) or not np.array_equal(reference, of.columns["reference"][chosen]):
            off, above = (np.full(len(chosen), each.sum() / len(chosen)) for each in (off, above))
        error[chosen], trivial[chosen], count[chosen] = off, above, len(reference) / len(chosen)
    name = f"{of.prefix}own_minimum_error"
    return {name: error, baseline_column(name): trivial, f"{of.prefix}own_minimum_members": count}


def above_minimum(prefix: str, columns: Mapping[str, Float], unit: str = "") -> Average:
    """The mean absolute error of the energies above the own minimum, over the members of all groups."""
    name = f"{prefix}own_minimum_error"
    error, trivial = stored_column(columns, name), stored_column(columns, baseline_column(name))
    count = stored_column(columns, f"{prefix}own_minimum_members")
    return Average(f"{prefix}own_minimum_mae", unit, error, count, baseline=trivial)


def group_metrics(
    of: QuantityRows,
    asked: Sequence[Statistic],
    lowest: int | None,
    cost: float | None,
    highest: int | None = None,
) -> dict[str, Metric]:
    """The metrics that are no means over items, by name.

    Args:
        lowest: the rank correlation is over so many of each group; None: over all.
        cost: of a failed item.
        highest: as `lowest`, from the other end.
    """
    metrics: dict[str, Metric | None] = {}
    groups = list(of.by_group.values())
    ordered = [_members(of, chosen) for chosen in of.ordered]
    if "lowest_found" in asked:
        metrics["lowest_found_percent"] = over_groups(lowest_found, ordered, 0.0, PERCENT, "%")
    if "ranking_error" in asked:
        metrics["ranking_error"] = over_groups(ranking_error, ordered, 1.0)
    if "spearman" in asked:
        chosen_of, n = (lowest_at_reference, lowest) if highest is None else (highest_at_reference, highest)
        kept = [chosen_of(theirs, n or len(theirs)) for _, theirs in ordered]
        chosen_values = [(ours[i], theirs[i]) for (ours, theirs), i in zip(ordered, kept, strict=True)]
        metrics["spearman"] = over_groups(spearman, chosen_values, -1.0)
    squares = of.columns["error"] ** 2
    clipped = penalised_sums(squares, np.ones(len(squares)), np.inf if cost is None else cost**2)
    if "group_rmse" in asked:
        metrics["group_rmse"] = _mean_of_roots([squares[i] for i in groups], [clipped[i] for i in groups], of.unit)
    if "r2" in asked:
        metrics["r2"] = _determination(squares[of.members], clipped[of.members], of.columns["reference"][of.members])
    return {f"{of.prefix}{name}": metric for name, metric in metrics.items() if metric is not None}


def _mean_of_roots(squares: Sequence[Float], clipped: Sequence[Float], unit: str) -> Metric:
    """The mean over groups of the root mean square error; a failed item counts in the penalised value alone."""
    roots = [float(np.sqrt(each.mean())) for each in squares if np.isfinite(each).all()]
    charged = float(np.mean([np.sqrt(each.mean()) for each in clipped]))
    return Metric(float(np.mean(roots)) if roots else None, unit, len(squares), len(squares) - len(roots), charged)


def _determination(squares: Float, clipped: Float, reference: Float) -> Metric | None:
    """R² of squared errors (k,), of those clipped at the failure cost, and references; None if these are all equal."""
    spread = float(np.var(reference))
    if not spread > 0:
        return None
    answered = np.isfinite(squares)
    there = float(np.var(reference[answered])) if answered.any() else 0.0
    value = 1.0 - float(squares[answered].mean()) / there if there > 0 else None
    return Metric(value, "", len(squares), int((~answered).sum()), 1.0 - float(clipped.mean()) / spread)


def _members(of: QuantityRows, chosen: NDArray[np.int64]) -> tuple[Float, Float]:
    """Predicted and reference values of what a group orders.

    Where all of its items are differences of two structures, and they connect them, these are the structures, counted
    from one of them; else they are the items.
    """
    predicted, reference = of.columns["predicted"][chosen], of.columns["reference"][chosen]
    pairs = []
    for i in chosen.tolist():
        by_sign = {t.coefficient: t.structure for t in of.rows[i].terms if not t.alternatives}
        if len(of.rows[i].terms) != 2 or by_sign.keys() != {1.0, -1.0}:
            return predicted, reference
        pairs.append((by_sign[1.0], by_sign[-1.0]))
    energies = {pairs[0][1]: np.zeros(2)}
    for _ in pairs:
        for (upper, lower), step in zip(pairs, np.stack([predicted, reference], axis=1), strict=True):
            if lower in energies:
                energies.setdefault(upper, energies[lower] + step)
            elif upper in energies:
                energies[lower] = energies[upper] - step
    if len(energies) < len({structure for pair in pairs for structure in pair}):
        return predicted, reference
    values = np.array(list(energies.values()))
    return values[:, 0], values[:, 1]
