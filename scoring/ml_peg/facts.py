"""The facts of ML-PEG's scores: the metrics of each benchmark, their good and bad thresholds, and all weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from pydantic import Field, model_validator

from scoring.metric_facts import MetricFacts, Name, Weight
from scoring.release_files import ReleasePart
from scoring.tree import Key


class BenchmarkFacts(ReleasePart):
    """A benchmark: its category, its weight there, and its metrics by name.

    Args:
        source: of thresholds, units and weights.
        cover: whether the judge measures it, in whole or in part; None: it is not said.
        kinds: of the tasks that measure it.
        importer: the format of `judge data import` that reads its files; empty: there is none.
        reason: what is missing, if it is not measured in full.
        remark: what is done otherwise than by ML-PEG, to measure the same.
        measured: by metric, that of the judge's tasks which is it; a metric without one is not scored from a store. It
            is `metric`, `metric:group` over one group, or `1 - metric` for what is left to the whole; `dataset|` is
            before it if several data sets have it.
    """

    category: Name
    weight: Weight = 1.0
    metrics: dict[str, MetricFacts] = Field(min_length=1)
    source: str = ""
    cover: Literal["full", "part", "no"] | None = None
    kinds: tuple[str, ...] = ()
    importer: str = ""
    reason: str = ""
    remark: str = ""
    measured: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _says_why(self) -> BenchmarkFacts:
        if unknown := sorted(self.measured.keys() - self.metrics.keys()):
            raise ValueError(f"measured: {unknown[0]}: there is no such metric")
        if self.cover in ("part", "no") and not self.reason:
            raise ValueError("reason: is missing: say what is not measured")
        return self


class AsPublished(ReleasePart):
    """What a fault does to a score.

    Args:
        signed: metrics of its benchmarks that keep their sign, where `corrected` takes the magnitude.
        preset: whose weights it changes.
        categories: by category, the weight in that preset.
    """

    signed: tuple[str, ...] = ()
    preset: str = ""
    categories: dict[str, Weight] = Field(default_factory=dict)


class MlPegSlip(ReleasePart):
    """A fault of ML-PEG.

    Args:
        benchmarks: that have it.
        text: what is done.
        corrected: what is done here.
        as_published: what it does to a score; nothing if it is one of the calculations, which the judge makes itself.
    """

    name: Name
    benchmarks: tuple[str, ...] = ()
    text: Name
    corrected: Name
    as_published: AsPublished = AsPublished()

    @property
    def acts(self) -> bool:
        """Whether it changes a score as published."""
        return self.as_published != AsPublished()


class Preset(ReleasePart):
    """A user's weights in place of those of the facts; parts that it does not name keep their weights.

    Args:
        categories: by category.
        others: weight of every other category; None: the others keep their weights.
        benchmarks: by benchmark.
        metrics: by benchmark and metric.
    """

    title: str = ""
    categories: dict[str, Weight] = Field(default_factory=dict)
    others: Weight | None = None
    benchmarks: dict[str, Weight] = Field(default_factory=dict)
    metrics: dict[str, dict[str, Weight]] = Field(default_factory=dict)


class Weights(NamedTuple):
    """Weights at all levels. None is negative, and the weights of siblings have a positive sum."""

    categories: Mapping[str, float]
    benchmarks: Mapping[str, float]
    metrics: Mapping[Key, float]


class MlPegFacts(ReleasePart):
    """A release: benchmarks by name, weights of categories, presets by name.

    Args:
        source: where the facts come from.
        category_weights: of categories whose weight is not 1.
    """

    name: Name
    title: str
    source: str
    benchmarks: dict[str, BenchmarkFacts] = Field(min_length=1)
    category_weights: dict[str, Weight] = Field(default_factory=dict)
    presets: dict[str, Preset] = Field(default_factory=dict)
    slips: tuple[MlPegSlip, ...] = ()

    @model_validator(mode="after")
    def _add_up(self) -> MlPegFacts:
        _known("category_weights", self.category_weights, self.categories, "category")
        if "" in self.presets:
            raise ValueError("presets: one has no name: the empty name stands for the weights of the facts")
        for name, preset in self.presets.items():
            _known(f"preset {name}: categories", preset.categories, self.categories, "category")
            _known(f"preset {name}: benchmarks", preset.benchmarks, self.benchmarks, "benchmark")
            _known(f"preset {name}: metrics", preset.metrics, self.benchmarks, "benchmark")
            for benchmark, metrics in preset.metrics.items():
                known = self.benchmarks[benchmark].metrics
                _known(f"preset {name}: benchmark {benchmark}: metrics", metrics, known, "metric")
        for slip in self.slips:
            self._check_slip(slip)
        for name in ("", *self.presets):
            self._check_sums(name)
        return self

    def _check_slip(self, slip: MlPegSlip) -> None:
        where, changes = f"slips: '{slip.name}'", slip.as_published
        _known(f"{where}: benchmarks", slip.benchmarks, self.benchmarks, "benchmark")
        metrics = {metric for name in slip.benchmarks for metric in self.benchmarks[name].metrics}
        _known(f"{where}: as_published: signed", changes.signed, metrics, "metric")
        _known(f"{where}: as_published: categories", changes.categories, self.categories, "category")
        if changes.preset:
            _known(f"{where}: as_published", [changes.preset], self.presets, "preset")

    @property
    def signed(self) -> frozenset[Key]:
        """The metrics, by benchmark, that keep their sign as published."""
        return frozenset(
            (b, metric) for slip in self.slips for b in slip.benchmarks for metric in slip.as_published.signed
        )

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories that have a benchmark, in alphabetical order."""
        return tuple(sorted({benchmark.category for benchmark in self.benchmarks.values()}))

    def in_category(self, category: str) -> tuple[str, ...]:
        """The names of a category's benchmarks, in alphabetical order."""
        return tuple(sorted(name for name, facts in self.benchmarks.items() if facts.category == category))

    def weights(self, preset: str = "", *, as_published: bool = False) -> Weights:
        """The weights of the facts, or of one of the `presets`, with its slips if `as_published`."""
        chosen = self.presets[preset] if preset else Preset()
        for slip in self.slips if as_published and preset else ():
            if slip.as_published.preset == preset:
                categories = {**chosen.categories, **slip.as_published.categories}
                chosen = chosen.model_copy(update={"categories": categories})
        categories = {}
        for category in self.categories:
            default = self.category_weights.get(category, 1.0) if chosen.others is None else chosen.others
            categories[category] = chosen.categories.get(category, default)
        return Weights(
            categories,
            {name: chosen.benchmarks.get(name, facts.weight) for name, facts in self.benchmarks.items()},
            {
                (name, metric): chosen.metrics.get(name, {}).get(metric, metric_facts.weight)
                for name, facts in self.benchmarks.items()
                for metric, metric_facts in facts.metrics.items()
            },
        )

    def _check_sums(self, preset: str) -> None:
        weights = self.weights(preset)
        where = f"preset {preset}: " if preset else ""
        for name, facts in self.benchmarks.items():
            _positive(f"{where}benchmark {name}: weight", (weights.metrics[name, m] for m in facts.metrics), "metrics")
        for category in self.categories:
            of_benchmarks = (weights.benchmarks[name] for name in self.in_category(category))
            _positive(f"{where}category {category}: weight", of_benchmarks, "benchmarks")
        _positive(f"{where}category_weights", weights.categories.values(), "categories")


def _known(where: str, named: Iterable[str], known: Iterable[str], kind: str) -> None:
    known = set(known)
    for name in named:
        if name not in known:
            raise ValueError(f"{where}: unknown {kind} {name}: name one of the facts")


def _positive(where: str, weights: Iterable[float], parts: str) -> None:
    if not sum(weights) > 0:
        raise ValueError(f"{where}: the weights of its {parts} sum to zero: give one of them a weight")
