"""The task kinds, by the name that suites use: those of the judge, and those of installed packages.

A package brings a kind through an entry point of the group `lambench.kinds`, which names an object with the attributes
of `tasks.kind.Kind`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points

from tasks.kind import Kind, Parameters, ScoreFamily, Traits
from tasks.kinds.compression import Compression
from tasks.kinds.cross_molecule import CrossMolecule
from tasks.kinds.diatomics import Diatomics
from tasks.kinds.dynamics import Dynamics
from tasks.kinds.elasticity import Elasticity
from tasks.kinds.energy_differences import EnergyDifferences
from tasks.kinds.energy_profiles import EnergyProfiles
from tasks.kinds.equation_of_state import EquationOfStateKind
from tasks.kinds.labelled_frames import LabelledFrames
from tasks.kinds.nve import Nve
from tasks.kinds.phonons import Phonons
from tasks.kinds.reaction_paths import ReactionPaths
from tasks.kinds.relaxed_structures import RelaxedStructures
from tasks.kinds.sample_efficiency import SampleEfficiency
from tasks.kinds.thermal_conductivity import ThermalConductivity
from tasks.kinds.time_extrapolation import TimeExtrapolation
from tasks.metrics.kind_metric import Better
from tasks.physicality.kind import Physicality
from tasks.timing.efficiency import Efficiency

GROUP = "lambench.kinds"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


class KindError(ValueError):
    """A kind that cannot be used: one line that names it."""


class KindRegistry(Mapping[str, Kind]):
    """Kinds by name. The entry points are read when a kind is first asked for.

    Raises:
        KindError: on first use: an installed kind is broken, or has the name of another one.
    """

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds: dict[str, Kind] = {}
        self._labels: dict[str, str] = {}
        self._complete = False
        for kind in kinds:
            self.register(kind, f"kind {kind.name}")
        self.built_in = frozenset(self._kinds)

    def __getitem__(self, name: str) -> Kind:
        return self._loaded()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded())

    def __len__(self) -> int:
        return len(self._loaded())

    @property
    def labels(self) -> Mapping[str, str]:
        """The stated labels of metrics, by name; if two kinds label one metric, the first counts."""
        self._loaded()
        return self._labels

    def traits(self, name: str) -> Traits:
        """The traits of a kind; only a name for a kind of a stored result that is not installed here."""
        kind = self._loaded().get(name)
        return kind.traits if kind else Traits(name.replace("_", " "))

    def register(self, kind: Kind, source: str) -> None:
        """Adds a kind.

        Args:
            source: names the kind in errors.

        Raises:
            KindError: it is no kind, its traits contradict each other, or another kind has its name.
        """
        if problem := _problem(kind):
            raise KindError(f"{source}: {problem}")
        if kind.name in self._kinds:
            raise KindError(f"{source}: there is another kind {kind.name}")
        self._kinds[kind.name] = kind
        for metric in kind.traits.metrics:
            if metric.label:
                self._labels.setdefault(metric.name, metric.label)

    @contextmanager
    def also(self, kind: Kind) -> Iterator[None]:
        """Adds a kind for as long as the context lasts: for tests of a kind that is not installed."""
        kinds, labels = dict(self._loaded()), dict(self._labels)
        try:
            self.register(kind, f"kind {getattr(kind, 'name', kind)}")
            yield
        finally:
            self._kinds, self._labels = kinds, labels

    def _loaded(self) -> Mapping[str, Kind]:
        if not self._complete:
            kinds, labels = dict(self._kinds), dict(self._labels)
            try:
                for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
                    source = f"entry point {entry.name} of {GROUP} ({entry.value}{_package(entry)})"
                    self.register(_load(entry, source), source)
            except KindError:
                self._kinds, self._labels = kinds, labels
                raise
            self._complete = True
        return self._kinds


def _package(entry: EntryPoint) -> str:
    return f", package {entry.dist.name} {entry.dist.version}" if entry.dist else ""


def _load(entry: EntryPoint, source: str) -> Kind:
    """The object that an entry point names; an instance if it names a class."""
    try:
        loaded = entry.load()
        kind: Kind = loaded() if isinstance(loaded, type) else loaded
    except Exception as error:
        text = " ".join(str(error).split())
        raise KindError(f"{source}: cannot be loaded: {type(error).__name__}: {text}") from error
    return kind


def _problem(kind: Kind) -> str:
    """Why an object cannot be a kind; empty if it can."""
    methods = ("observe", "work", "measure")
    for name in ("name", "observe_version", "measure_version", "parameters", "traits", *methods):
        if not hasattr(kind, name):
            return f"is no kind: it has no {name}"
        if name in methods and not callable(getattr(kind, name)):
            return f"{name}: cannot be called"
    traits = kind.traits
    if not isinstance(kind.name, str) or not _NAME.fullmatch(kind.name):
        return f"name: {kind.name!r} must be lower-case letters, digits and _"
    if not (isinstance(kind.parameters, type) and issubclass(kind.parameters, Parameters)):
        return "parameters: must be a class derived from tasks.kind.Parameters"
    if not isinstance(traits, Traits):
        return "traits: must be a tasks.kind.Traits"
    if bool(traits.scored_names) != (traits.score is ScoreFamily.PROPERTY):
        return "traits: score is the property error if, and only if, a metric is scored"
    if any(metric.scored and metric.better is not Better.LOWER for metric in traits.metrics):
        return "traits: metrics: lower must be better of one that is scored"
    return ""


KINDS = KindRegistry(
    (
        LabelledFrames(),
        EnergyDifferences(),
        EnergyProfiles(),
        EquationOfStateKind(),
        Elasticity(),
        Phonons(),
        ThermalConductivity(),
        Compression(),
        RelaxedStructures(),
        Dynamics(),
        ReactionPaths(),
        Diatomics(),
        SampleEfficiency(),
        TimeExtrapolation(),
        CrossMolecule(),
        Nve(),
        Efficiency(),
        Physicality(),
    )
)
