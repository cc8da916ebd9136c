"""The facts of one release of LAMBench's scores, read from a TOML file: the code is one, the facts differ."""

from __future__ import annotations

from pydantic import Field, model_validator

from scoring.lambench.rules import (
    EfficiencyRule,
    ForceFieldRule,
    InstabilityRule,
    Positive,
    PropertyRule,
)
from scoring.names import Variant
from scoring.release_files import ReleasePart, load, packaged, parse

LABEL_TYPES = ("energy", "force", "virial")
Baseline = Positive | dict[str, Positive | None]


class ForceFieldTask(ReleasePart):
    """What a published force-field task is held against.

    Args:
        energy: error of the composition-only model [eV/atom]; one for each label set where the task has several; None
            where it has no such labels.
        force: the same [eV/Å].
        virial: the same [eV/atom].
    """

    domain: str
    energy: Baseline | None = None
    force: Baseline | None = None
    virial: Baseline | None = None

    def baseline(self, label: str, label_set: str) -> float | None:
        """The baseline of a label type for a model of `label_set`; None where it has no such labels."""
        stated: float | dict[str, float | None] | None = getattr(self, label)
        return stated.get(label_set) if isinstance(stated, dict) else stated


class PropertyTask(ReleasePart):
    """What a published property task is held against.

    Args:
        baselines: by metric column, in the unit of the column, the error of the trivial model; None where the release
            states none and takes the error as it is.
        success_rate: the column with the share of items that succeeded, where the release divides by it.
    """

    domain: str
    baselines: dict[str, Positive | None] = Field(min_length=1)
    success_rate: str = ""


class PublishedTables(ReleasePart):
    """How the tables that a release publishes are to be read.

    Args:
        force_field_unit_ev: eV (and eV/Å) per unit of its force-field errors.
        label_sets: of tasks with several: the first for models that support OMol25's level of theory, the second
            for all others.
        n_runs: trajectories of constant-energy dynamics.
        n_steps: a run of fewer has failed.
        ranking_decimals: to which scores are rounded; None: not at all.
    """

    force_field_unit_ev: Positive = 1e-3
    label_sets: tuple[str, str] = ("wB97", "PBE")
    n_runs: int = Field(9, gt=0)
    n_steps: int = Field(10_000, gt=0)
    ranking_decimals: int | None = 3


class Release(ReleasePart):
    """One release: which metrics count, how much, and where they end.

    Args:
        variant: `as_published` reproduces what was printed; `corrected` obeys one law: nothing that a model can do by
            failing, skipping or answering NaN improves its score.
        force_field_tasks: of a release with published tables, by name.
        property_tasks: of a release with published tables, by name.
    """

    name: str
    title: str
    source: str
    variant: Variant
    force_field: ForceFieldRule
    property_error: PropertyRule
    efficiency: EfficiencyRule
    instability: InstabilityRule
    force_field_tasks: dict[str, ForceFieldTask] = Field(default_factory=dict)
    property_tasks: dict[str, PropertyTask] = Field(default_factory=dict)
    published: PublishedTables = PublishedTables()

    @model_validator(mode="after")
    def _corrected_is_lawful(self) -> Release:
        if self.variant is Variant.CORRECTED:
            lawless = {
                "force_field.missing": self.force_field.missing != "worst",
                "property_error.missing": self.property_error.missing != "worst",
                "property_error.missing_domain": self.property_error.missing_domain != "worst",
                "efficiency.missing": self.efficiency.missing != "worst",
                "instability.clipped": not self.instability.clipped,
            }
            if found := [field for field, is_so in lawless.items() if is_so]:
                raise ValueError(f"corrected, but {', '.join(found)} would let a model gain by failing")
        return self

    @property
    def missing_is_worst(self) -> bool:
        """Whether a run or a timing that a table leaves out is held against its model."""
        return self.variant is Variant.CORRECTED

    def corrected(self) -> Release:
        """The tasks and baselines of this release under the rules of `corrected`."""
        rules = load_release("corrected")
        columns = {
            "columns": self.force_field.columns,
            "weights_with_virial": self.force_field.weights_with_virial,
            "weights_without_virial": self.force_field.weights_without_virial,
        }
        return rules.model_copy(
            update={
                "name": f"{self.name}, corrected",
                "title": f"{self.title.removesuffix(', as published')}, corrected",
                "source": self.source,
                "force_field": rules.force_field.model_copy(update=columns),
                "efficiency": self.efficiency.model_copy(update={"missing": rules.efficiency.missing}),
                "force_field_tasks": self.force_field_tasks,
                "property_tasks": self.property_tasks,
                "published": self.published,
            }
        )


def parse_release(text: str, name: str) -> Release:
    """The release that a TOML text states.

    Raises:
        ScoringError: naming the release and the field.
    """
    return parse(Release, text, name)


def packaged_releases() -> tuple[str, ...]:
    """The names of LAMBench's releases that come with the judge."""
    return (*packaged("corrected"), *packaged("lambench-"))


def load_release(name: str = "corrected") -> Release:
    """A release that comes with the judge.

    Raises:
        ScoringError: there is no release of that name, or it cannot be read.
    """
    return load(Release, name, packaged_releases())
