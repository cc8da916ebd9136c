"""The items and metrics of relaxed structures: one item a structure, then one a difference of relaxed energies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from tasks.datasets.card import Difference
from tasks.datasets.dataset import Dataset
from tasks.kinds.difference_statistics import QuantityRows, Statistic, group_metrics
from tasks.kinds.energy_differences import mean_errors, prefixes, summed, terms_of, with_uncertainty
from tasks.kinds.relaxed_geometries import EXTENT_UNITS, Comparison, ReferenceGeometries, RelaxedEnds
from tasks.metrics.atom_energies import net_atoms, sums_of_atoms
from tasks.metrics.averages import Average
from tasks.metrics.contributions import baseline_column, stored_column
from tasks.metrics.failure_cost import SMALLEST_BASELINE
from tasks.metrics.group_statistics import mean_with_worst
from tasks.metrics.measurement import Items, ItemTerms, items_of
from tasks.metrics.metric import Metric
from tasks.simulation.symmetry import space_group
from tasks.structures.composition import composition
from tasks.structures.frames import Bool, Float, Frames
from tasks.structures.predictions import Cause, Predictions
from tasks.structures.units import Unit, unit_size

PERCENT = 100.0
SYMMETRY = "symmetry_kept_percent"
# Å: of structures relaxed to 0.05 eV/Å, atoms are up to 0.02 Å off their sites; of starts displaced by 0.1 Å, farther.
SYMPREC = 0.05
RMSD, VOLUME, NOT_CONVERGED, STEPS = "rmsd", "volume_mape", "not_converged_percent", "mean_steps"
# The columns that say which items take part in these; no quantity of differences may have one of them.
COUNTS: Mapping[str, str] = {
    RMSD: "rmsd_count",
    VOLUME: "volume_count",
    NOT_CONVERGED: "structure_count",
    **{f"{extent}_mae": f"{extent}_extent_count" for extent in EXTENT_UNITS},
}
_COUNT = re.compile(r"(.+_)?count")


class StructureRow(NamedTuple):
    """The names of a structure, as an item."""

    id: str
    group: str
    cluster: str


def relaxed_items(
    ends: RelaxedEnds,
    dataset: Dataset,
    label_set: str,
    *,
    start: Frames,
    free_cell: Bool,
    comparison: Comparison,
    unit: Unit,
) -> Items:
    """The items, with the columns that all metrics follow from.

    Args:
        start: the structures as their relaxations began.
        free_cell: (n,) the structures whose cell was relaxed.
        unit: of the differences.

    Raises:
        ValueError: the label set has neither geometries nor differences; the unit, or a quantity's name, cannot be.
    """
    where = dataset.card.full_name
    rows: Sequence[Difference] = dataset.table.differences
    if label_set not in dataset.geometries and not rows:
        raise ValueError(f"{where}: {label_set}: there are neither reference geometries nor differences")
    of_structures = _structure_columns(ends, dataset, label_set, start, free_cell, comparison)
    of_differences, cause = _difference_columns(
        ends, rows, label_set, unit, dataset.frames, f"{where}: table.json: differences"
    )
    columns: dict[str, Float] = {}
    for name, column in {**of_structures, **of_differences}.items():
        blank = 0.0 if _COUNT.fullmatch(name) else np.nan
        before = name in of_structures
        missing = np.full(len(rows) if before else len(start), blank)
        columns[name] = np.concatenate([column, missing] if before else [missing, column])
    table = dataset.table
    structures = [StructureRow(*names) for names in zip(table.id, table.group, dataset.clusters, strict=True)]
    taken = set(table.id)
    named = [row.model_copy(update={"id": f"{row.id} (difference)"}) if row.id in taken else row for row in rows]
    causes = np.concatenate([ends.cause, cause])
    return items_of([*structures, *named], causes, columns, _terms(rows, len(start)))


def _structure_columns(
    ends: RelaxedEnds, dataset: Dataset, label_set: str, start: Frames, free_cell: Bool, comparison: Comparison
) -> dict[str, Float]:
    converged, ended = ends.cause == 0, (ends.cause == 0) | (ends.cause == Cause.NOT_CONVERGED)
    columns = {
        "steps": ends.steps,
        "largest_force": ends.largest_force,
        "not_converged": np.where(ended, np.where(converged, 0.0, 1.0), np.nan),
        COUNTS[NOT_CONVERGED]: np.ones(len(start)),
    }
    if label_set not in dataset.geometries:
        return columns
    references = ReferenceGeometries(dataset.structures, dataset.geometries[label_set], comparison)
    known = references.geometries.known
    columns["rmsd_at_end"] = references.distances(ends.positions, ends.cell, ended)
    columns["rmsd"] = np.where(converged, columns["rmsd_at_end"], np.nan)
    columns[baseline_column("rmsd")] = references.distances(start.positions, start.cell, known)
    columns[COUNTS[RMSD]] = known.astype(np.float64)
    if (known & free_cell).any():
        columns["volume_error"] = references.volume_errors(ends.cell, converged & free_cell)
        columns[baseline_column("volume_error")] = references.volume_errors(start.cell, free_cell)
        columns[COUNTS[VOLUME]] = (known & free_cell).astype(np.float64)
        if comparison.extent is not None:
            extent, column = comparison.extent, f"{comparison.extent}_extent_error"
            columns[column] = references.extent_errors(extent, ends.cell, converged & free_cell)
            columns[baseline_column(column)] = references.extent_errors(extent, start.cell, free_cell)
            columns[COUNTS[f"{extent}_mae"]] = columns[COUNTS[VOLUME]] * references.extent_counts(extent)
    return columns


def _difference_columns(
    ends: RelaxedEnds, rows: Sequence[Difference], label_set: str, unit: Unit, frames: Frames, where: str
) -> tuple[dict[str, Float], NDArray[np.int8]]:
    """The columns of the differences in `unit`, and their causes; no columns without differences."""
    if not rows:
        return {}, np.zeros(0, np.int8)
    try:
        size = unit_size(unit, rows[0].area is not None)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    energy = np.where(ends.cause == 0, ends.energy, np.nan)
    predicted, cause = summed(rows, Predictions(energy, None, None, ends.cause), size, frames.n_atoms)
    reference = np.array([row.reference[label_set] for row in rows]) / size
    columns = {"predicted": predicted, "reference": reference, "error": predicted - reference}
    groups, quantities = np.array([row.group for row in rows]), np.array([row.quantity for row in rows])
    atoms, trivial = net_atoms(composition(frames), *terms_of(rows)), np.zeros(len(rows))
    for quantity in np.unique(quantities):
        members = quantities == quantity
        trivial[members] = sums_of_atoms(atoms[members], groups[members], reference[members])
    columns[baseline_column("error")] = trivial - reference
    for quantity, prefix in prefixes(quantities, where).items():
        if f"{prefix}count" in COUNTS.values():
            raise ValueError(f"{where}: quantity: {quantity}: has the name of a metric of this kind: rename it")
        columns[f"{prefix}count"] = (quantities == quantity).astype(np.float64)
    return columns, cause


def _terms(rows: Sequence[Difference], n_structures: int) -> ItemTerms | None:
    """The structures of the differences, which are the items after those of the structures."""
    if not rows:
        return None
    terms = terms_of(rows)
    return terms._replace(item=terms.item + n_structures)


def averages(columns: Mapping[str, Float], unit: str = "") -> list[Average]:
    """The metrics that are means over items.

    Args:
        unit: of the differences.
    """
    means = []
    if COUNTS[RMSD] in columns:
        distance, trivial = stored_column(columns, "rmsd"), columns.get(baseline_column("rmsd"))
        means.append(Average(RMSD, "Å", distance, columns[COUNTS[RMSD]], baseline=trivial))
    if COUNTS[VOLUME] in columns:
        error, trivial = stored_column(columns, "volume_error"), columns.get(baseline_column("volume_error"))
        trivial = None if trivial is None else np.abs(trivial)
        count = columns[COUNTS[VOLUME]]
        means.append(Average(VOLUME, "%", np.abs(error), count, errors=error, baseline=trivial))
    for extent, extent_unit in EXTENT_UNITS.items():
        name, taking_part = f"{extent}_mae", COUNTS[f"{extent}_mae"]
        if taking_part in columns:
            error = stored_column(columns, f"{extent}_extent_error")
            trivial = columns.get(baseline_column(f"{extent}_extent_error"))
            trivial = None if trivial is None else np.abs(trivial)
            signed = None if extent == "lattice_constant" else error
            means.append(
                Average(name, extent_unit, np.abs(error), columns[taking_part], errors=signed, baseline=trivial)
            )
    for name in sorted(filter(_COUNT.fullmatch, columns)):
        if name not in COUNTS.values():
            means += mean_errors(name.removesuffix("count"), columns, unit)
    off = stored_column(columns, "not_converged")
    return [*means, Average(NOT_CONVERGED, "%", off, stored_column(columns, COUNTS[NOT_CONVERGED]), scale=PERCENT)]


def metric_of(average: Average, stated: Mapping[str, float], where: str, *, published: bool = False) -> Metric:
    """The metric, with the baseline that the card states, or that of the model without forces.

    A geometry's baseline is at most what the start achieves, unless starts are as `published`. A relaxation that failed
    counts as one that did not converge.

    Raises:
        ValueError: the starts are the references, so that there is no baseline.
    """
    if average.baseline is None:
        return average.metric(None, PERCENT)
    achieved = achieved_at_start(average)
    baseline = stated.get(average.name, achieved)
    if average.name in COUNTS:
        baseline = baseline if published else min(baseline, achieved)
        if not baseline > SMALLEST_BASELINE:
            remedy = f"state {'rattle' if average.name == RMSD else 'strain'} in the task's parameters"
            if published:
                remedy = "state a baseline under [baselines] in card.toml"
            raise ValueError(
                f"{where}: {average.name}: the starts are the references, which a model without forces reaches: "
                f"{remedy}"
            )
    return average.metric(baseline)


def achieved_at_start(average: Average) -> float:
    """The metric of the model without forces, in its unit."""
    assert average.baseline is not None
    members = average.counts > 0
    mean = float(average.baseline[members].sum() / average.counts[members].sum())
    return float(mean ** (0.5 if average.root else 1.0))


def published_starts(averages: Sequence[Average], metrics: Mapping[str, Metric]) -> str:
    """What a model without forces and stress achieves from published starts, in one line."""
    shares = []
    for average in averages:
        baseline = metrics[average.name].baseline if average.name in metrics else None
        if average.name in COUNTS and average.baseline is not None and baseline is not None:
            achieved = achieved_at_start(average)
            shares.append(f"{average.name} {achieved:.3g} {average.unit}, {achieved / baseline:.2f} of the baseline")
    return f"as published: a model without forces and stress gets {'; '.join(shares)}" if shares else "as published"


def difference_statistics(
    items: Items, rows: Sequence[Difference], metrics: Mapping[str, Metric], asked: Sequence[Statistic], unit: Unit
) -> dict[str, Metric]:
    """The statistics of relaxed energies that a task asks for; the items of `rows` are the last ones."""
    if not rows or not asked:
        return {}
    first = len(items) - len(rows)
    columns = {name: items.columns[name][first:] for name in ("predicted", "reference", "error")}
    groups, quantities = np.array([row.group for row in rows]), np.array([row.quantity for row in rows])
    found: dict[str, Metric] = {}
    for quantity, prefix in prefixes(quantities, "differences").items():
        of_quantity = QuantityRows(prefix, rows, columns, groups, quantities == quantity, unit)
        found |= group_metrics(of_quantity, asked, None, metrics[f"{prefix}rmse"].failure_cost)
    return found


def kept_symmetry(ends: RelaxedEnds, dataset: Dataset, label_set: str) -> dict[str, Metric]:
    """The share of crystals that end in the space group of their reference; one that failed does not."""
    references, frames = dataset.geometries.get(label_set), dataset.frames
    if references is None or not (references.known & frames.periodic).any():
        return {}
    kept = []
    for index in np.flatnonzero(references.known & frames.periodic).tolist():
        atoms = frames.atom_slice(index)
        groups = [
            space_group(Atoms(frames.numbers[atoms], positions[atoms], cell=cell[index], pbc=True), SYMPREC)
            for positions, cell in ((references.positions, references.cell), (ends.positions, ends.cell))
            if ends.cause[index] == 0
        ]
        kept.append(PERCENT * float(groups[0] == groups[1]) if groups else np.nan)
    return {SYMMETRY: mean_with_worst(np.array(kept), 0.0, "%")}


def uncertain_metrics(
    metrics: Mapping[str, Metric], rows: Sequence[Difference], label_set: str, unit: Unit
) -> dict[str, Metric]:
    """The metrics of differences whose references state uncertainties, with these."""
    if not rows:
        return {}
    size, quantities = unit_size(unit, rows[0].area is not None), np.array([row.quantity for row in rows])
    uncertain: dict[str, Metric] = {}
    for quantity, prefix in prefixes(quantities, "differences").items():
        members = [row for row in rows if row.quantity == quantity]
        uncertain |= with_uncertainty(prefix, metrics, members, label_set, size)
    return uncertain


def mean_steps(ends: RelaxedEnds) -> Metric:
    """The mean number of steps of the relaxations that did not fail."""
    known = np.isfinite(ends.steps)
    value = float(ends.steps[known].mean()) if known.any() else None
    return Metric(value, "", len(known), int((~known).sum()))
