"""Labels against a model that is known to be right in unit and sign: mistakes that no range shows.

Labels l and predictions p are compared about zero:

    correlation  Σ l p / √(Σ l² Σ p²)
    slope        Σ l p / Σ p²            labels = slope × predictions, least squares through the origin
    ratio        √(Σ l² / Σ p²)          the size of the labels in that of the predictions, without attenuation by noise

of forces and stress as they are, and of energies per atom after a fit of a constant per element on each side. A mistake
of unit is a ratio; a mistake of sign is a correlation below zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from tasks.importing.import_checks import energy_spread
from tasks.importing.label_units import parse_units
from tasks.structures.frames import Bool, Float, Frames
from tasks.structures.predictions import ALL_PROPERTIES, Labels, Predictions, Property
from tasks.structures.units import ENERGY_UNITS, SURFACE_UNITS

# In ln: a model within 25 % of the labels agrees with them.
TOLERANCE = math.log(1.25)
# Beyond this factor a ratio is wrong even if no unit explains it.
UNEXPLAINED = math.log(3.0)
# Below this correlation the reference model shows nothing about the labels, or the labels are of other structures.
TOO_WEAK = 0.3
# The rounding of energies that the composition alone explains [eV/atom].
NOTHING = 1e-8

Pair = tuple[str, str]


def _factors(size: Callable[[str], float], *mistakes: Pair) -> dict[Pair, float]:
    """By units of which the first is taken for the second: the factor by which the numbers are then too large.

    Args:
        size: of a unit, in the judge's own.
    """
    return {(wrong, right): size(right) / size(wrong) for wrong, right in mistakes}


def _size_of(quantity: str) -> Callable[[str], float]:
    return lambda unit: parse_units(f"length=angstrom,{quantity}={unit}").factor(quantity, unit)


# By quantity. The file may have either unit of a pair.
_OF_ENERGIES = _factors(
    _size_of("energy"), ("eV", "hartree"), ("eV", "rydberg"), ("kcal/mol", "eV"), ("kJ/mol", "eV"), ("meV", "eV")
)
_OF_SUMS = _OF_ENERGIES | _factors(
    ENERGY_UNITS.__getitem__,
    ("kcal/mol", "hartree"),
    ("kJ/mol", "kcal/mol"),
    ("meV", "kcal/mol"),
    ("meV", "hartree"),
)
_PER_AREA = _factors(
    SURFACE_UNITS.__getitem__, ("mJ/m²", "J/m²"), ("meV/Å²", "eV/Å²"), ("J/m²", "eV/Å²"), ("mJ/m²", "meV/Å²")
) | {("the area of one surface", "that of both"): 2.0}
MISTAKES: Mapping[str, Mapping[Pair, float]] = {
    "energy": _OF_ENERGIES,
    "differences": _OF_SUMS,
    "scans": _OF_SUMS,
    "differences per area": _PER_AREA,
    "scans per area": _PER_AREA,
    "forces": _factors(
        _size_of("forces"),
        ("eV/Å", "hartree/bohr"),
        ("eV/Å", "rydberg/bohr"),
        ("eV/Å", "hartree/Å"),
        ("eV/Å", "eV/bohr"),
        ("kcal/mol/Å", "eV/Å"),
        ("kJ/mol/Å", "eV/Å"),
        ("kJ/mol/nm", "eV/Å"),
        ("meV/Å", "eV/Å"),
    ),
    "stress": _factors(
        _size_of("stress"), ("GPa", "eV/Å³"), ("kbar", "eV/Å³"), ("kbar", "GPa"), ("eV/Å³", "hartree/bohr³")
    ),
}

_TURNED = {
    "energy": "a sign in the file",
    "forces": "gradients taken for forces, or a sign in the file",
    "stress": "import again with the other sign of stress in --units",
    "scans": "correct the references",
    "scans per area": "correct the references",
}
_CONFUSED: Mapping[str, str] = dict.fromkeys(ALL_PROPERTIES, "another order of atoms")
_ITEMS = "references of other items"


class LabelComparison(NamedTuple):
    """Labels of one property, or references of one sort of items, against the predictions of a model.

    Args:
        property: a property of `tasks.structures.predictions`, or a sort of items of `item_comparison`.
        n_frames, n_labelled: frames (or items) that were compared, and those that have the label.
        correlation, slope, ratio: as above; NaN if there is nothing to compare.
        findings: a line each for what is wrong; empty if the labels agree in unit and sign.
    """

    property: str
    n_frames: int
    n_labelled: int
    correlation: float
    slope: float
    ratio: float
    findings: tuple[str, ...]


def compare(labels: Labels, predictions: Predictions, frames: Frames) -> list[LabelComparison]:
    """Correlation, slope, and the mistakes that they show, for each property that has labels."""
    return [_compare(name, array, getattr(predictions, name), frames) for name, array in labels.arrays.items()]


def _compare(name: Property, labels: Float, predicted: Float | None, frames: Frames) -> LabelComparison:
    labelled = _finite(labels)
    both = labelled & (_finite(predicted) if predicted is not None else False)
    frame_of = frames.frame_index if name == "forces" else np.arange(len(frames))
    n_labelled, n_frames = len(np.unique(frame_of[labelled])), len(np.unique(frame_of[both]))
    nothing = LabelComparison(name, n_frames, n_labelled, math.nan, math.nan, math.nan, ())
    if predicted is None:
        return nothing  # the model has no such property, which is no fault of the labels
    if not n_frames:
        return nothing._replace(findings=("the model answered none of these frames",))
    if name == "energy":
        labels, predicted = (energy_spread(frames, np.where(both, e, np.nan)) for e in (labels, predicted))
    beyond = " beyond what the composition explains: take more frames" if name == "energy" else ""
    return about_zero(nothing, labels[both].ravel(), predicted[both].ravel(), beyond)


def about_zero(counted: LabelComparison, labels: Float, predicted: Float, beyond: str = "") -> LabelComparison:
    """`counted` with correlation, slope and ratio about zero of `labels` and `predicted` (k,), and their findings.

    Args:
        beyond: added to the finding that all numbers are zero.
    """
    ll, lp, pp = float(labels @ labels), float(labels @ predicted), float(predicted @ predicted)
    if not (ll > NOTHING**2 * counted.n_frames and pp > NOTHING**2 * counted.n_frames):
        side = "labels" if pp > ll else "predictions"
        return counted._replace(findings=(f"the {side} are zero everywhere{beyond}",))
    correlation, ratio = lp / math.sqrt(ll * pp), math.sqrt(ll / pp)
    return counted._replace(
        correlation=correlation, slope=lp / pp, ratio=ratio, findings=findings(counted.property, correlation, ratio)
    )


def _finite(values: Float) -> Bool:
    """(rows,) whether all numbers of a row are finite."""
    return np.asarray(np.isfinite(values.reshape(len(values), -1)).all(axis=1))


def findings(name: str, correlation: float, ratio: float) -> tuple[str, ...]:
    """The mistakes that a correlation and a ratio show: a sign, a unit, or labels that are unrelated to the model.

    Args:
        ratio: size of the labels over that of the predictions.
    """
    if not abs(correlation) >= TOO_WEAK:
        return (
            f"correlation {correlation:.2f}: labels and model have nothing in common: {_CONFUSED.get(name, _ITEMS)}, "
            "or a reference model that does not fit",
        )
    mistakes = []
    if correlation < 0:
        opposite = "negative correlation: their sign is the opposite of the model's"
        mistakes.append(f"{opposite}: {_TURNED.get(name, 'turn the coefficients or the references')}")
    if unit := unit_mistake(name, ratio):
        mistakes.append(unit)
    return tuple(mistakes)


def unit_mistake(name: str, ratio: float) -> str | None:
    """The mistakes of unit that explain labels `ratio` times as large as the model's, the likeliest first.

    None if both have one size, or differ as models do.
    """
    size = math.log(ratio)
    known = [(value, wrong, right) for (wrong, right), value in MISTAKES[name].items()]
    known += [(1 / value, right, wrong) for value, wrong, right in known]
    known.sort(key=lambda mistake: abs(size - math.log(mistake[0])))
    likely = [_in_words(*mistake) for mistake in known if abs(size - math.log(mistake[0])) <= TOLERANCE]
    begin = f"labels are {ratio:.4g} times the model's"
    if abs(size) <= TOLERANCE or (not likely and abs(size) < UNEXPLAINED):
        return None
    if not likely:
        return f"{begin}, which no unit explains; the nearest is {_in_words(*known[0])}"
    return f"{begin}: {', or '.join(likely)}"


def _in_words(factor: float, wrong: str, right: str) -> str:
    shown = f"{factor:.6g}" if factor >= 1 else f"1/{1 / factor:.6g}"
    return f"{wrong} taken for {right} ({shown})"
