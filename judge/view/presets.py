"""Presets: named weights that a reader can choose, made for the tasks of the suite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import lcm

from judge.view.leaderboard_schema import NodeFile, PresetFile, SchemeFile
from scoring.ml_peg import load_facts
from scoring.ml_peg.facts import Preset
from scoring.names import ERRORS, FORCE_FIELD, LAMBENCH, ML_PEG, PROPERTY_ERROR, Variant

Weights = dict[tuple[str, ...], float]

_TYPES = {"energy": "Energies", "force": "Forces", "virial": "Virials"}
_MOST = 1000  # the largest factor that a reader may set: js/settings_numbers.js


def presets_of(schemes: Iterable[SchemeFile]) -> tuple[PresetFile, ...]:
    """The presets of all schemes, made from their corrected scores. A preset that changes nothing is left out.

    A factor of 0 leaves a part out. A preset serves both variants: a path that a score does not have is ignored.
    """
    presets: list[PresetFile] = []
    for scheme in schemes:
        if scheme.variant == Variant.CORRECTED.value:
            # The tree with the most nodes: models with fewer tasks have smaller trees.
            trees = {score.key: max(score.trees, key=_size) for score in scheme.scores if score.models}
            presets += [preset for preset in _all(scheme.key, trees) if preset.weights]
    return tuple(presets)


def _all(scheme: str, trees: Mapping[str, NodeFile]) -> Iterator[PresetFile]:
    if scheme == LAMBENCH:
        by_domain = {key: tree for key, tree in trees.items() if key in ERRORS}
        yield from _each_alone(scheme, by_domain)
        yield from _types_alone(scheme, trees.get(FORCE_FIELD))
        yield _preset(scheme, "Tasks alike", "Every task of a domain has the same weight.", _alike(trees))
    else:
        yield from _each_alone(scheme, trees)
    if scheme == ML_PEG:
        for name, preset in load_facts().presets.items():
            about = f"ML-PEG’s own preset: {', '.join(preset.categories)}."
            yield _preset(scheme, f"ML-PEG: {name}", about, _of_facts(trees, preset))


def _preset(scheme: str, name: str, about: str, weights: Weights) -> PresetFile:
    changing = tuple((path, factor) for path, factor in weights.items() if factor != 1.0)
    return PresetFile(name=name, about=about, scheme=scheme, weights=changing)


def _size(node: NodeFile) -> int:
    return 1 + sum(_size(part) for part in node.parts)


def _each_alone(scheme: str, trees: Mapping[str, NodeFile]) -> Iterator[PresetFile]:
    """A preset for each domain or category alone. Under it, a score without that part has no value."""
    names = list(dict.fromkeys(part.name for tree in trees.values() for part in tree.parts if part.weight > 0))
    for name in names:
        others: Weights = {
            (key, part.name): 0.0 for key, tree in trees.items() for part in tree.parts if part.name != name
        }
        yield _preset(scheme, f"{name} alone", f"Of all tasks, those of {name}.", others)


def _types_alone(scheme: str, tree: NodeFile | None) -> Iterator[PresetFile]:
    """A preset for each label type alone, in the domains that have it."""
    domains = () if tree is None else tree.parts
    for label, words in _TYPES.items():
        labelled = [domain for domain in domains if any(part.name == label for part in domain.parts)]
        others = [(domain.name, part.name) for domain in labelled for part in domain.parts if part.name != label]
        weights: Weights = {(FORCE_FIELD, *path): 0.0 for path in others}
        without: Weights = {(FORCE_FIELD, domain.name): 0.0 for domain in domains if domain not in labelled}
        if weights:
            about = f"Of the force-field error, {words.lower()} alone, in the domains that have them."
            yield _preset(scheme, f"{words} alone", about, weights | without)


def _alike(trees: Mapping[str, NodeFile]) -> Weights:
    """Factors that give all tasks of a domain of the property error one weight; else it is their number of metrics."""
    tree = trees.get(PROPERTY_ERROR)
    weights: Weights = {}
    for domain in () if tree is None else tree.parts:
        factors = _levelling([part.weight for part in domain.parts])
        for part, factor in zip(domain.parts, factors, strict=True):
            weights[PROPERTY_ERROR, domain.name, part.name] = factor
    return weights


def _levelling(weights: Sequence[float]) -> list[float]:
    """Factors that make all weights equal, integers if possible; 1 if the weights are equal or one is 0."""
    if not weights or min(weights) <= 0 or len(set(weights)) == 1:
        return [1.0] * len(weights)
    if all(weight.is_integer() for weight in weights) and (whole := lcm(*map(int, weights))) <= _MOST:
        return [whole / weight for weight in weights]
    return [max(weights) / weight for weight in weights]


def _of_facts(trees: Mapping[str, NodeFile], preset: Preset) -> Weights:
    """Factors of the suite's categories; empty for a score without a category that the preset names."""
    weights: Weights = {}
    for key, tree in trees.items():
        if not {part.name for part in tree.parts if part.weight > 0} & set(preset.categories):
            continue
        for part in tree.parts:
            weight = preset.categories.get(part.name, preset.others)
            if weight is not None and part.weight > 0:
                weights[key, part.name] = weight / part.weight
    return weights
