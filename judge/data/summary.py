"""The summary of an import in lines that a chemist can check at a glance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from statistics import median

from ase.units import GPa

from tasks.datasets.dataset import Dataset
from tasks.importing.import_summary import ImportSummary, LabelSummary, Span

# Of fewer, the spread itself is hardly known.
FEW_CLUSTERS = 10


def cluster_lines(dataset: Dataset) -> list[str]:
    """How many clusters are resampled, of which sizes, and what makes them; a second line where they are few.

    Clusters are of items where there are any, else of frames.
    """
    items = [item.cluster or item.id for several in dataset.table.items.values() for item in several]
    what, column = ("items", "") if items else ("frames", dataset.card.cluster_column)
    sizes = Counter(items or dataset.clusters).values()
    by = f" (by {column})" if column else ""
    alone = max(sizes) == 1
    text = "each its own" if alone else f"median {median(sizes):g} {what}, largest {max(sizes)}"
    lines = [f"clusters of {what}{by}: {len(sizes)}, {text}"]
    if len(sizes) == 1:
        lines.append("DOUBTFUL  clusters: there is one alone: it cannot be resampled, and intervals will be too narrow")
    elif len(sizes) < FEW_CLUSTERS:
        lines.append(f"DOUBTFUL  clusters: {len(sizes)} are fewer than {FEW_CLUSTERS}: intervals will be wide")
    return lines


def summary_lines(found: ImportSummary, unused: Mapping[str, int]) -> list[str]:
    """Sizes, elements, states, ranges, fields that were not read, and then what is impossible or doubtful.

    Args:
        unused: numeric fields by name, and how many frames have them.
    """
    items = f", {found.n_items} items" if found.n_items else ""
    groups = f", {found.n_groups} groups" if found.n_groups > 1 else ""
    lines = [
        f"{found.n_structures} structures of {_sizes(found.atoms)} atoms, {found.n_atoms} in all{items}{groups}",
        "elements (in structures): " + ", ".join(f"{symbol} {n}" for symbol, n in found.elements.items()),
        f"periodic: {found.n_periodic}; molecules: {found.n_molecules}",
        f"charge: {_counts(found.charges, '+d')}; 2S+1: {_counts(found.multiplicities, 'd')}",
    ]
    if found.distance is not None:
        lines.append(f"shortest distance [Å]: {_span(found.distance)}")
    if found.volume_per_atom is not None:
        lines.append(f"volume per atom [Å³]: {_span(found.volume_per_atom)}")
    for name, labels in found.labels.items():
        lines += [f"label set {name}", *(f"  {line}" for line in _label_lines(labels))]
    lines += [f"reference of {what}: {_span(span)}" for what, span in found.references.items()]
    if unused:
        lines.append("not used: " + ", ".join(f"{name} ({n} frames)" for name, n in unused.items()))
    lines += [f"IMPOSSIBLE  {line}" for line in found.impossible]
    return lines + [f"DOUBTFUL  {line}" for line in found.doubtful]


def _label_lines(labels: LabelSummary) -> list[str]:
    counts = {"energy": labels.n_energy, "forces": labels.n_forces, "stress": labels.n_stress}
    lines = ["labelled frames: " + ", ".join(f"{name} {n}" for name, n in counts.items())]
    spans = {
        "energy [eV/atom]": labels.energy_per_atom,
        "energy beyond composition, size [eV/atom]": labels.energy_spread,
        "|force| [eV/Å]": labels.force,
        "stress, positive in tension [eV/Å³]": labels.stress,
        "stress [GPa]": _in_gpa(labels.stress),
        "size of a stress component [GPa]": _in_gpa(labels.stress_size),
    }
    return lines + [f"{name}: {_span(span)}" for name, span in spans.items() if span is not None]


def _in_gpa(stress: Span | None) -> Span | None:
    return None if stress is None else Span(*(value / GPa for value in stress))


def _span(span: Span) -> str:
    return f"{span.low:.4g} to {span.high:.4g}, median {span.median:.4g}"


def _sizes(atoms: Span) -> str:
    return f"{atoms.low:g}" if atoms.low == atoms.high else f"{atoms.low:g} to {atoms.high:g}"


def _counts(values: Mapping[int, int], sign: str) -> str:
    """`0 × 12, +1 × 3`; a multiplicity of 0 is one that is not stated."""
    named = {value: "not stated" if sign == "d" and value == 0 else f"{value:{sign}}" for value in values}
    return ", ".join(f"{'0' if named[value] == '+0' else named[value]} × {n}" for value, n in values.items())
