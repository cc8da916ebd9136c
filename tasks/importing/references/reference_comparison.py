"""Labels against a model that is known to be right in unit and sign: mistakes that no range shows.

Labels l and predictions p are compared about zero (`tasks.structures.known_mistakes.fit`):

    correlation  Σ l p / √(Σ l² Σ p²)
    slope        Σ l p / Σ p²            labels = slope × predictions, least squares through the origin
    ratio        √(Σ l² / Σ p²)          the size of the labels in that of the predictions, without attenuation by noise

of forces and stress as they are, and of energies per atom after a fit of a constant per element on each side. A mistake
of unit is a ratio; a mistake of sign is a correlation below zero. Energies per atom and virials have a factor for each
frame: labels that correlate better without it show that mistake. An order of components shows in those that it moves.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import product
from typing import NamedTuple

import numpy as np

from tasks.importing.import_checks import energy_spread
from tasks.structures.frames import Bool, Float, Frames
from tasks.structures.known_mistakes import (
    AS_ASKED,
    ASE_UNITS,
    SIZE_MISTAKES,
    STRESS_ORDERS,
    FactorFit,
    Order,
    SizeMistake,
    UnitMistake,
    both_ways,
    fit,
    nearest,
    order_words,
    values_by_order,
)
from tasks.structures.predictions import ALL_PROPERTIES, Labels, Predictions, Property

# In ln: a model within 25 % of the labels agrees with them.
TOLERANCE = math.log(1.25)
# Beyond this factor a ratio is wrong even if no unit explains it.
UNEXPLAINED = math.log(3.0)
# Below this correlation the reference model shows nothing about the labels, or the labels are of other structures.
TOO_WEAK = 0.3
# The rounding of energies that the composition alone explains [eV/atom].
NOTHING = 1e-8
# A correlation that shows what labels are, and what it gains over the labels as they are.
CLEAR, GAIN, LARGE_GAIN = 0.7, 0.05, 0.2
# The same of an order of components: frames, and the share of the labels that it moves.
CLEAR_ORDER, GAIN_OF_ORDER, FRAMES_OF_ORDER, MOVED = 0.8, 0.4, 4, 0.02

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
    beyond = " beyond what the composition explains: take more frames" if name == "energy" else ""
    shown, expected = (_comparable(name, values, frames, both) for values in (labels, predicted))
    as_they_are = about_zero(nothing, shown, expected, beyond)
    if not math.isfinite(as_they_are.correlation):
        return as_they_are
    order = component_order(shown, expected) if name == "stress" else AS_ASKED
    if order != AS_ASKED:
        labels, shown = values_by_order(labels, order), values_by_order(shown, order)
    without = {
        mistake: fit(_comparable(name, _without(mistake, labels, frames), frames, both), expected)
        for mistake in SIZE_MISTAKES.get(name, ())
    }
    found = named_mistakes(name, fit(shown, expected), without)
    if order != AS_ASKED:
        found = (f"their components come in {order_words(order)}", *found)
    return as_they_are._replace(findings=found)


def _comparable(name: Property, values: Float, frames: Frames, chosen: Bool) -> Float:
    """The chosen rows; of energies, what the composition does not explain [eV/atom]."""
    return (energy_spread(frames, np.where(chosen, values, np.nan)) if name == "energy" else values)[chosen]


def _without(mistake: SizeMistake, labels: Float, frames: Frames) -> Float:
    """The labels (n, …) as they are if they have that mistake, put right."""
    factors = mistake.factors(frames)
    return labels / factors.reshape(len(labels), *[1] * (labels.ndim - 1))


def about_zero(counted: LabelComparison, labels: Float, predicted: Float, beyond: str = "") -> LabelComparison:
    """`counted` with correlation, slope and ratio about zero of `labels` and `predicted` (k, …), and their findings.

    Args:
        beyond: added to the finding that all numbers are zero.
    """
    ll, pp = float(np.sum(labels**2)), float(np.sum(predicted**2))
    if not (ll > NOTHING**2 * counted.n_frames and pp > NOTHING**2 * counted.n_frames):
        side = "labels" if pp > ll else "predictions"
        return counted._replace(findings=(f"the {side} are zero everywhere{beyond}",))
    found = fit(labels, predicted)
    return counted._replace(
        correlation=found.correlation,
        slope=found.slope,
        ratio=found.ratio,
        findings=findings(counted.property, found.correlation, found.ratio),
    )


def component_order(labels: Float, predicted: Float) -> Order:
    """The order in which the components of stress labels (k, 6) come, if another than the right one explains them.

    An order is believed if the components that it moves are no rounding, correlate with the model's in that order, and
    hardly do as they are.
    """
    best, correlation = AS_ASKED, 0.0
    for order in STRESS_ORDERS[1:]:
        moved = [place for place, component in enumerate(order) if place != component]
        reordered, total = fit(labels[:, moved], predicted[:, np.array(order)[moved]]), fit(labels, predicted[:, order])
        clear = abs(reordered.correlation) >= CLEAR_ORDER
        gain = abs(reordered.correlation) - abs(fit(labels[:, moved], predicted[:, moved]).correlation)
        small = any(np.linalg.norm(some[:, moved]) < MOVED * np.linalg.norm(some) for some in (labels, predicted))
        if clear and gain >= GAIN_OF_ORDER and not small and abs(total.correlation) > correlation:
            best, correlation = order, abs(total.correlation)
    return best if len(labels) >= FRAMES_OF_ORDER else AS_ASKED


def _finite(values: Float) -> Bool:
    """(rows,) whether all numbers of a row are finite."""
    return np.asarray(np.isfinite(values.reshape(len(values), -1)).all(axis=1))


def named_mistakes(name: str, as_they_are: FactorFit, without: Mapping[SizeMistake, FactorFit]) -> tuple[str, ...]:
    """The mistakes that labels show: that of size which explains them best, or else those of `findings`.

    Args:
        without: by mistake, the fit of the labels without it.
    """
    least = GAIN if findings(name, as_they_are.correlation, as_they_are.ratio) else LARGE_GAIN
    also = []
    for mistake, put_right in without.items():
        if not abs(put_right.correlation) >= TOO_WEAK:
            continue
        gain = abs(put_right.correlation) - abs(as_they_are.correlation)
        units = unit_mistake(name, put_right.ratio)
        if abs(put_right.correlation) >= CLEAR and gain > least and (units is None or NO_UNIT not in units):
            correlations = f"{as_they_are.correlation:.2f} as they are, and {put_right.correlation:.2f} put right"
            return (
                f"labels are {mistake.wrong} taken for {mistake.right}: correlation {correlations}",
                *findings(name, put_right.correlation, put_right.ratio),
            )
        if gain > -GAIN:  # of frames of one size: a factor like those of units
            also.append(UnitMistake(mistake.wrong, mistake.right, as_they_are.ratio / put_right.ratio))
    return findings(name, as_they_are.correlation, as_they_are.ratio, also)


def findings(name: str, correlation: float, ratio: float, also: Collection[UnitMistake] = ()) -> tuple[str, ...]:
    """The mistakes that a correlation and a ratio show: a sign, a unit, or labels that are unrelated to the model.

    Args:
        ratio: size of the labels over that of the predictions.
        also: further mistakes that may explain the ratio.
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
    if unit := unit_mistake(name, ratio, also):
        mistakes.append(unit)
    return tuple(mistakes)


NO_UNIT = "which no unit explains"


def unit_mistake(name: str, ratio: float, also: Collection[UnitMistake] = ()) -> str | None:
    """The mistakes of unit that explain labels `ratio` times as large as the model's, the likeliest first.

    None if both have one size, or differ as models do.
    """
    size = abs(math.log(ratio))
    known = nearest((*both_ways(name), *also), ratio)
    likely = _within(known)
    begin = f"labels are {ratio:.4g} times the model's"
    if size <= TOLERANCE or (not likely and size < UNEXPLAINED):
        return None
    likely = likely or _within(nearest(_in_other_units(name, also), ratio))
    if not likely:
        return f"{begin}, {NO_UNIT}; the nearest is {known[0][1].words()}"
    return f"{begin}: {', or '.join(likely)}"


def _within(known: Iterable[tuple[float, UnitMistake]]) -> list[str]:
    return [mistake.words() for distance, mistake in known if distance <= TOLERANCE]


def _in_other_units(name: str, mistakes: Iterable[UnitMistake]) -> Iterator[UnitMistake]:
    """Each of `mistakes` together with each unit that is taken for the judge's own."""
    for (wrong, right, factor), unit in product(mistakes, both_ways(name)):
        if unit.right in ASE_UNITS:
            yield UnitMistake(f"{wrong} in {unit.wrong}", f"{right} in {unit.right}", factor * unit.factor)
