"""Releases of schemes from TOML: the files in `scoring/releases`, and any other text."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from scoring.errors import ScoringError


class ReleasePart(BaseModel):
    """A part of a release: frozen, without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Facts = TypeVar("Facts", bound=ReleasePart)


def parse(kind: type[Facts], text: str, name: str) -> Facts:
    """The release that a TOML text states.

    Raises:
        ScoringError: naming the release and the field.
    """
    try:
        return kind.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ScoringError(f"release {name}: not TOML: {error}") from None
    except ValidationError as error:
        raise ScoringError(f"release {name}: {first_fault(error)}") from None


def first_fault(error: ValidationError) -> str:
    """The first field with a fault, and the fault."""
    first = error.errors()[0]
    fault = " ".join(first["msg"].removeprefix("Value error, ").split())
    return ": ".join([".".join(map(str, first["loc"]))] * bool(first["loc"]) + [fault])


def packaged(beginning: str) -> tuple[str, ...]:
    """The names of the packaged releases that have this beginning."""
    files = [entry.name for entry in resources.files("scoring.releases").iterdir()]
    return tuple(sorted(f.removesuffix(".toml") for f in files if f.startswith(beginning) and f.endswith(".toml")))


def load(kind: type[Facts], name: str, known: tuple[str, ...]) -> Facts:
    """A packaged release.

    Raises:
        ScoringError: the name is not one of `known`, or the file cannot be read.
    """
    if name not in known:
        raise ScoringError(f"release {name}: not known; one of {', '.join(known)}")
    return parse(kind, (resources.files("scoring.releases") / f"{name}.toml").read_text("utf-8"), name)
