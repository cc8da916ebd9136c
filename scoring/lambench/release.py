"""The facts of one release of LAMBench's scores, from a TOML file. All releases share the code."""

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
    """The baselines of a published force-field task.

    Args:
        energy: error of the composition-only model [eV/atom], or one error for each label set; None if the task has no
            such labels.
        force: the same [eV/Å].
        virial: the same [eV/atom].
    """

    domain: str
    energy: Baseline | None = None
    force: Baseline | None = None
    virial: Baseline | None = None

    def baseline(self, label: str, label_set: str) -> float | None:
        """The baseline of a label type for a model of `label_set`; None if the task has no such labels."""
        stated: float | dict[str, float | None] | None = getattr(self, label)
        return stated.get(label_set) if isinstance(stated, dict) else stated


class PropertyTask(ReleasePart):
    """The baselines of a published property task.

    Args:
        baselines: by metric column, in the unit of the column, the error of the trivial model; None if the release
            states none and does not divide the error.
        success_rate: the column with the share of items that succeeded, if the release divides by it.
    """

    domain: str
    baselines: dict[str, Positive | None] = Field(min_length=1)
    success_rate: str = ""


class PublishedTables(ReleasePart):
    """How to read the tables that a release publishes.

    Args:
        force_field_unit_ev: eV (and eV/Å) per unit of its force-field errors.
        label_sets: the two of tasks with several: the first for models that support OMol25's level of theory, the
            second for all others.
        n_runs: number of trajectories of constant-energy dynamics.
        n_steps: a run with fewer steps has failed.
        ranking_decimals: number of decimals of scores; None: no rounding.
    """

    force_field_unit_ev: Positive = 1e-3
    label_sets: tuple[str, str] = ("wB97", "PBE")
    n_runs: int = Field(9, gt=0)
    n_steps: int = Field(10_000, gt=0)
    ranking_decimals: int | None = 3


class Release(ReleasePart):
    """One release: the metrics that count, their weights and their limits.

    Args:
        variant: `as_published` reproduces the published scores; `corrected` obeys one law: nothing that a model can do
            by failing, skipping or answering NaN improves its score.
        force_field_tasks: by name, if the release has published tables.
        property_tasks: by name, if the release has published tables.
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
            if fields := [field for field, is_lawless in lawless.items() if is_lawless]:
                raise ValueError(f"corrected, but {', '.join(fields)} would let a model gain by failing")
        return self

    @property
    def missing_is_worst(self) -> bool:
        """Whether a run or a time that a table leaves out counts as worst."""
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
    """A release from `scoring/releases`.

    Raises:
        ScoringError: the name is unknown, or the file cannot be read.
    """
    return load(Release, name, packaged_releases())
