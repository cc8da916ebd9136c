"""The facts of one release of a scoring scheme, read from a TOML file: the code is one, the facts differ."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from importlib import resources
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class ScoringError(ValueError):
    """Facts or metrics that cannot be added up; one line naming the release or task and the field."""


class _Facts(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ForceFieldRule(_Facts):
    """How errors of energy, force and virial become one.

    Args:
        cap: the worst a normalised error counts, None for no limit.
        floor: the best it counts.
        columns: by label type, the metric that is scored.
        weights_with_virial: by label type, in a domain of which any task has a virial.
        weights_without_virial: by label type, in any other domain.
    """

    cap: Positive | None
    floor: Positive
    columns: dict[str, str]
    weights_with_virial: dict[str, Positive]
    weights_without_virial: dict[str, Positive]

    @model_validator(mode="after")
    def _weighs_what_it_scores(self) -> Self:
        for weights in (self.weights_with_virial, self.weights_without_virial):
            if unknown := set(weights) - set(self.columns):
                raise ValueError(f"weights for {sorted(unknown)}, of which columns says nothing")
        if self.cap is not None and self.cap < self.floor:
            raise ValueError(f"cap {self.cap} is below floor {self.floor}")
        return self


class PropertyRule(_Facts):
    """How domain-specific errors become one.

    Args:
        cap: the worst a normalised error counts.
        columns: by task kind, patterns of the metrics that count: names in which * stands for any text, as in a shell
            (`mae`, `*_mae`). So the quantities of a data set are scored whatever it calls them. A metric of one group
            (`off_percent:<group>`) is a part of another and matches none.
    """

    cap: Positive
    columns: dict[str, Annotated[tuple[str, ...], Field(min_length=1)]]

    def scored(self, kind: str, metrics: Iterable[str]) -> tuple[str, ...]:
        """Those of `metrics` that count for a task of `kind`: by the first pattern that each matches, then by name."""
        patterns = self.columns.get(kind, ())
        whole = {name for name in metrics if ":" not in name}
        first = {name: next((i for i, p in enumerate(patterns) if fnmatchcase(name, p)), None) for name in whole}
        return tuple(name for _, name in sorted((i, name) for name, i in first.items() if i is not None))


class EfficiencyRule(_Facts):
    """`reference_us_per_atom` is the speed [µs/atom] that scores 1."""

    reference_us_per_atom: Positive


class InstabilityRule(_Facts):
    """Drift that counts as none [eV/atom/ps], the first as the default, and the score of a failed run [decades]."""

    tolerances_ev_per_atom_ps: tuple[Positive, ...] = Field(min_length=1)
    worst_decades: Positive


class Release(_Facts):
    """One release: which metrics count, how much, and where they end."""

    name: str
    title: str
    source: str
    force_field: ForceFieldRule
    property_error: PropertyRule
    efficiency: EfficiencyRule
    instability: InstabilityRule


def parse_release(text: str, name: str) -> Release:
    """The release that a TOML text states.

    Raises:
        ScoringError: naming the release and the field.
    """
    try:
        return Release.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ScoringError(f"release {name}: not TOML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "file"
        raise ScoringError(f"release {name}: {field}: {first['msg']}") from None


def load_release(name: str = "corrected") -> Release:
    """A release packaged with the judge.

    Raises:
        ScoringError: there is none of that name, or it cannot be read.
    """
    folder = resources.files("scoring.releases")
    known = sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))
    if name not in known:
        raise ScoringError(f"release {name}: not known; one of {', '.join(known)}")
    return parse_release((folder / f"{name}.toml").read_text(encoding="utf-8"), name)
