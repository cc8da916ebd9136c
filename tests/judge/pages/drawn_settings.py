"""Weights and thresholds that a reader may set, drawn at random, and the scores that Python computes with them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from judge.view.leaderboard_schema import SchemeFile
from scoring import Node
from scoring.evaluation import Draw
from scoring.tree import AsItIs, Key, Leaf
from scoring.tree import Path as NamePath
from tests.world.leaderboard_reader import score_of_file
from tests.world.one_tree import score
from tests.world.reader_settings import Settings, Threshold, with_settings

EDITABLE = ("baseline", "cap", "floor", "good", "bad", "tolerance", "worst", "reference")


@dataclass(frozen=True)
class DrawnSettings:
    """A reader's settings of a scheme; paths begin with the key of a score."""

    weights: Mapping[NamePath, float]
    thresholds: Mapping[Threshold, float]

    def of(self, key: str) -> Settings:
        """The settings of one score."""
        return Settings({path[1:]: w for path, w in self.weights.items() if path[0] == key}, self.thresholds)

    def data(self) -> dict[str, list[tuple[str, float]]]:
        """The settings as the script reads them."""
        return {
            "weights": [(path_key(path), factor) for path, factor in self.weights.items()],
            "thresholds": [(path_key(key), number) for key, number in self.thresholds.items()],
        }


def path_key(names: Sequence[str]) -> str:
    return "/".join(name.replace("%", "%25").replace("/", "%2F") for name in names)


class Settable:
    """What a reader may set in a scheme: weights by path, and numbers with their defaults."""

    def __init__(self, scheme: SchemeFile) -> None:
        self.paths: dict[NamePath, None] = {}
        self.numbers: dict[Threshold, float] = {}
        for score_file in scheme.scores:
            for model in score_file.models:
                tree = score_of_file(score_file, model)
                assert tree is not None
                for path, node in tree.walk():
                    if len(path) > 1:
                        self.paths[score_file.key, *path[1:]] = None
                    for name, value in _numbers(node).items():
                        self.numbers[(*node.leaf.key, name)] = value  # type: ignore[union-attr]

    def draw(self, rng: np.random.Generator) -> DrawnSettings:
        """Weights from 0 to 4 at every level, and thresholds over decades; sometimes many, sometimes a few."""
        share = rng.choice([0.02, 0.1, 0.3])
        paths = [path for path in self.paths if rng.random() < share]
        numbers = [key for key in self.numbers if rng.random() < share]
        return DrawnSettings(
            {path: max(0.0, rng.uniform(-1, 4)) for path in paths},
            {key: _drawn(key[2], self.numbers[key], rng) for key in numbers},
        )


def _numbers(node: Node) -> dict[str, float]:
    if node.leaf is None:
        return {}
    return {k: v for k, v in node.leaf.scale.numbers().items() if k in EDITABLE and not isinstance(v, str)}


def _drawn(name: str, default: float, rng: np.random.Generator) -> float:
    if name == "cap" and rng.uniform() < 0.2:
        return 1e300
    start = default if 0 < default < math.inf else 1e-3 if name == "floor" else 1.0
    return float(start * 10 ** rng.uniform(-3, 3))


class SettingsArrays:
    """Settings as arrays (B,): factors by path, and numbers by threshold; NaN: not set."""

    def __init__(self, given: Sequence[DrawnSettings]) -> None:
        self.n = len(given)
        self.factors: dict[NamePath, NDArray[np.float64]] = {}
        self.numbers: dict[Threshold, NDArray[np.float64]] = {}
        for b, settings in enumerate(given):
            for path, factor in settings.weights.items():
                self.factors.setdefault(path, np.ones(self.n))[b] = factor
            for key, number in settings.thresholds.items():
                self.numbers.setdefault(key, np.full(self.n, np.nan))[b] = number

    def score(self, tree: Node, key: str) -> NDArray[np.float64]:
        """(B,) the score of a tree under each of the settings. The leaves are scaled here, with arrays of numbers."""
        weights = {}
        metrics: dict[Key, NDArray[np.float64]] = {}
        for path, node in tree.walk():
            if (factor := self.factors.get((key, *path[1:]))) is not None:
                weights[path] = node.weight * factor
            if node.leaf is not None and node.leaf.raw.value is not None:
                metrics[node.leaf.key] = self._scaled(node.leaf, node.leaf.raw.value)
        return np.broadcast_to(score(_unscaled(tree), Draw(weights=weights), metrics), self.n)

    def _scaled(self, leaf: Leaf, value: float) -> NDArray[np.float64]:
        """(B,) the scaled value of a metric."""
        numbers = {}
        for name, default in leaf.scale.numbers().items():
            number = self.numbers.get((*leaf.key, name))
            if number is not None and name in EDITABLE:
                numbers[name] = np.where(np.isnan(number), default, number)
        return np.broadcast_to(replace(leaf.scale, **numbers)(np.full(self.n, value)), self.n)


def _unscaled(node: Node) -> Node:
    leaf = node.leaf and replace(node.leaf, scale=AsItIs())
    return replace(node, leaf=leaf, parts=tuple(map(_unscaled, node.parts)))


def by_python(scheme: SchemeFile, models: Sequence[str], given: Sequence[DrawnSettings]) -> NDArray[np.float64]:
    """(B, M, S) the scores of all models under all settings; NaN if there is none."""
    arrays = SettingsArrays(given)
    scores = np.full((len(given), len(models), len(scheme.scores)), np.nan)
    for s, score_file in enumerate(scheme.scores):
        for m, model in enumerate(models):
            tree = score_of_file(score_file, model)
            if tree is not None:
                value = arrays.score(tree, score_file.key)
                scores[:, m, s] = np.where(
                    np.isnan(value), np.nan if score_file.nothing is None else score_file.nothing, value
                )
    return scores


def one_by_one(tree: Node, mine: Settings) -> Node:
    """The tree under one reader's settings. The leaf of a failed task has another scale, without such numbers."""
    known = {(*node.leaf.key, name) for _, node in tree.walk() if node.leaf for name in _numbers(node)}
    return with_settings(tree, Settings(mine.weights, {k: v for k, v in mine.thresholds.items() if k in known}))
