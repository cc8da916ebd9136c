"""The summary of an import, in lines for a chemist to check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from statistics import median

from ase.units import GPa

from scoring.shared_structures import Terms, independent_items
from tasks.datasets.dataset import Dataset
from tasks.importing.import_summary import ImportSummary, LabelSummary, ValueRange
from tasks.kinds.energy_differences import terms_of

# With fewer clusters, the spread itself is uncertain.
FEW_CLUSTERS = 10


def cluster_lines(dataset: Dataset) -> list[str]:
    """A line with number, sizes and criterion of the clusters; a second line if they are few.

    They are clusters of items if there are items, else of frames.
    """
    items = [item.cluster or item.id for sort in dataset.table.items.values() for item in sort]
    what, column = ("items", "") if items else ("frames", dataset.card.cluster_column)
    sizes = Counter(items or dataset.clusters).values()
    by = f" (by {column})" if column else ""
    text = "each its own" if max(sizes) == 1 else f"median {median(sizes):g} {what}, largest {max(sizes)}"
    lines = [f"clusters of {what}{by}: {len(sizes)}, {text}"]
    differences = dataset.table.differences
    if differences and (terms := terms_of(differences)).shared([item.cluster or item.id for item in differences]):
        n = independent_items(Terms(*terms).matrix(len(differences)))
        lines.append(f"structures are shared: {len(differences)} items are as uncertain as {n:.1f} independent ones")
    if len(sizes) == 1:
        lines.append("DOUBTFUL  clusters: there is only one: it cannot be resampled, and intervals will be too narrow")
    elif len(sizes) < FEW_CLUSTERS:
        lines.append(f"DOUBTFUL  clusters: {len(sizes)} are fewer than {FEW_CLUSTERS}: intervals will be wide")
    return lines


def summary_lines(summary: ImportSummary, unused: Mapping[str, int]) -> list[str]:
    """Sizes, elements, states, ranges, fields that were not read, and then impossible and doubtful values.

    Args:
        unused: by numeric field that was not read, the number of frames with it.
    """
    items = f", {summary.n_items} items" if summary.n_items else ""
    groups = f", {summary.n_groups} groups" if summary.n_groups > 1 else ""
    lines = [
        f"{summary.n_structures} structures of {_sizes(summary.atoms)} atoms, {summary.n_atoms} in all{items}{groups}",
        "elements (in structures): " + ", ".join(f"{symbol} {n}" for symbol, n in summary.elements.items()),
        f"periodic: {summary.n_periodic}; molecules: {summary.n_molecules}",
        f"charge: {_counts(summary.charges, '+d')}; 2S+1: {_counts(summary.multiplicities, 'd')}",
    ]
    if summary.n_magnetic:
        lines.append(f"initial magnetic moments: {summary.n_magnetic} structures")
    if summary.distance is not None:
        lines.append(f"shortest distance [Å]: {_range(summary.distance)}")
    if summary.volume_per_atom is not None:
        lines.append(f"volume per atom [Å³]: {_range(summary.volume_per_atom)}")
    for name, labels in summary.labels.items():
        lines += [f"label set {name}", *(f"  {line}" for line in _label_lines(labels))]
    lines += [f"reference of {what}: {_range(values)}" for what, values in summary.references.items()]
    if unused:
        lines.append("not used: " + ", ".join(f"{name} ({n} frames)" for name, n in unused.items()))
    lines += [f"IMPOSSIBLE  {line}" for line in summary.impossible]
    return lines + [f"DOUBTFUL  {line}" for line in summary.doubtful]


def _label_lines(labels: LabelSummary) -> list[str]:
    counts = {"energy": labels.n_energy, "forces": labels.n_forces, "stress": labels.n_stress}
    lines = ["labelled frames: " + ", ".join(f"{name} {n}" for name, n in counts.items())]
    ranges = {
        "energy [eV/atom]": labels.energy_per_atom,
        "energy beyond composition, size [eV/atom]": labels.energy_spread,
        "|force| [eV/Å]": labels.force,
        "stress, positive in tension [eV/Å³]": labels.stress,
        "stress [GPa]": _in_gpa(labels.stress),
        "size of a stress component [GPa]": _in_gpa(labels.stress_size),
    }
    return lines + [f"{name}: {_range(values)}" for name, values in ranges.items() if values is not None]


def _in_gpa(stress: ValueRange | None) -> ValueRange | None:
    return None if stress is None else ValueRange(*(value / GPa for value in stress))


def _range(values: ValueRange) -> str:
    return f"{values.low:.4g} to {values.high:.4g}, median {values.median:.4g}"


def _sizes(atoms: ValueRange) -> str:
    return f"{atoms.low:g}" if atoms.low == atoms.high else f"{atoms.low:g} to {atoms.high:g}"


def _counts(values: Mapping[int, int], sign: str) -> str:
    """`0 × 12, +1 × 3`; a multiplicity of 0 means that it is not stated."""
    named = {value: "not stated" if sign == "d" and value == 0 else f"{value:{sign}}" for value in values}
    return ", ".join(f"{'0' if named[value] == '+0' else named[value]} × {n}" for value, n in values.items())
