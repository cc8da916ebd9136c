"""What a submission says of itself, as stored: `submissions/<id>/submission.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, field_validator

SUBMISSION_ID = re.compile(r"^[a-z0-9][a-z0-9-]{0,62}-[0-9a-f]{12}$")
MAX_PARAMETERS = 10**15
Domain = Literal["Inorganic Materials", "Molecules", "Catalysis"]


def utc_now() -> datetime:
    """The present, in UTC."""
    return datetime.now(UTC)


Fields = dict[str, Any]


class Record(BaseModel):
    """A stored record: frozen, and nothing unknown in it.

    What was stored is never written again. A record whose fields change gets the next `schema_version`, and `upgrades`
    the pure function that makes the fields of the version after it from those of an older one.
    """

    # A field may have an `alias`: its name in the files, where that is older than its name here.
    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)
    upgrades: ClassVar[Mapping[int, Callable[[Fields], Fields]]] = {}

    @classmethod
    def read(cls, data: bytes) -> Self:
        """The record that `data` holds, whichever version of it was stored.

        Raises:
            pydantic.ValidationError: these are other bytes, or a version that this judge does not know.
        """
        if not cls.upgrades:
            return cls.model_validate_json(data)
        with suppress(ValidationError):  # of the present version nearly all are, and those need no second parsing
            record = cls.model_validate_json(data)
            if "schema_version" in record.model_fields_set:
                return record
        try:
            fields = json.loads(data)
        except (ValueError, RecursionError):
            return cls.model_validate_json(data)  # which says what is wrong with it
        while isinstance(fields, dict) and (upgrade := cls._upgrade_of(fields)):
            try:
                fields = upgrade(fields)
            except (KeyError, TypeError, AttributeError):
                break  # not what a record of that version looks like: validation names the field
        try:
            return cls.model_validate_json(json.dumps(fields))
        except RecursionError:  # nested deeper than the writer goes, though the reader did
            return cls.model_validate_json(data)

    @classmethod
    def _upgrade_of(cls, fields: Fields) -> Callable[[Fields], Fields] | None:
        version = fields.get("schema_version", 1)
        return cls.upgrades.get(version) if type(version) is int else None


def _web_address(value: str) -> str:
    if value and not value.startswith(("https://", "http://")):
        raise ValueError("must be a web address beginning with https://")
    return value


class StatedLabelSet(Record):
    """The level of theory that a model's energies belong to, in one domain.

    Args:
        dispersion: whether they contain it; None: not said, and then none is ever added.
    """

    name: str = Field(min_length=1, max_length=64)
    dispersion: bool | None = None


class TrainingSet(Record):
    """Data that a model was trained on.

    Args:
        level_of_theory: of its labels, such as `PBE+U`; empty: not said.
    """

    name: str = Field(min_length=1, max_length=200)
    level_of_theory: str = Field("", max_length=200)
    url: str = Field("", max_length=500)

    @field_validator("url")
    @classmethod
    def _is_web_address(cls, value: str) -> str:
        return _web_address(value)


class ModelCard(Record):
    """What the author states of the model: `lambench.toml`. Fixed for an image.

    Args:
        license: its name, or its address.
        open_weights: whether anybody may have them.
        dispersion: whether the energies contain it at all; `label_sets` says it for each domain.
        precision: in which the model computes.
        hardware: what it was made for and needs, in words.
    """

    name: str = Field(min_length=1, max_length=200)
    version: str = Field("", max_length=64)
    description: str = Field("", max_length=2000)
    authors: tuple[str, ...] = Field((), max_length=200)
    affiliation: str = Field("", max_length=500)
    license: str = Field("", max_length=200)
    paper: str = Field("", max_length=500)
    code: str = Field("", max_length=500)
    open_weights: bool | None = None
    n_parameters: int | None = Field(None, ge=0, le=MAX_PARAMETERS)
    conservative: bool | None = None
    dispersion: bool | None = None
    precision: Literal["", "float32", "float64", "mixed"] = ""
    elements: tuple[str, ...] = Field((), max_length=120)
    training: tuple[TrainingSet, ...] = Field((), max_length=100)
    hardware: str = Field("", max_length=2000)
    label_sets: dict[Domain, StatedLabelSet] = Field(default_factory=dict)

    @field_validator("paper", "code")
    @classmethod
    def _is_web_address(cls, value: str) -> str:
        return _web_address(value)


class ImageRecord(Record):
    """The image as it will be run: by `id`, whatever the tag points to later.

    Args:
        reference: as its author called it.
        mirror: `name@sha256:…` in the judge's own registry, from which it can be had again; empty where none was asked.
    """

    reference: str
    id: str
    mirror: str = ""
    digests: tuple[str, ...] = ()
    architecture: str = ""
    size_bytes: int = 0
    driver: Literal["docker", "process"] = "docker"


class Check(Record):
    """One line of the preflight table. Only `gating` checks can refuse a submission."""

    name: str
    passed: bool | None
    value: str
    gating: bool = False


class Timing(Record):
    """How long one structure took: energy, forces and stress, in a message of its own."""

    n_atoms: int
    seconds: float


class PreflightReport(Record):
    """What was measured on public structures before the submission was taken.

    Args:
        timings: of the public structures, and of a larger cell made of one of them; what hours are estimated from.
        startup_s: from the start of the container to the loaded model.
        n_parameters: that the guest counted; None: none were found, or nobody looked.
        answered_elements: of the public structures that got an answer; None: that was not recorded.
        unanswered_elements: of the others, as far as no answered structure has them.
    """

    checks: tuple[Check, ...]
    calculator: str = ""
    properties: tuple[str, ...] = ()
    batch: bool = False
    device: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    timings: tuple[Timing, ...] = ()
    startup_s: float | None = None
    n_parameters: int | None = Field(None, ge=0, le=MAX_PARAMETERS)
    answered_elements: tuple[str, ...] | None = None
    unanswered_elements: tuple[str, ...] | None = None


class Arrival(Record):
    """How a submission came.

    Args:
        by: `here` on the judge's own machine; else with an invitation, its image by `reference` or by `upload`.
        invitation: its name.
        slot: of the letter.
    """

    by: Literal["here", "reference", "upload"] = "here"
    invitation: str = ""
    slot: str = ""


def _submission_2(fields: Fields) -> Fields:
    """Version 2: how it came, and more that a card can say; all of it has a default."""
    return {**fields, "schema_version": 2}


class Submission(Record):
    """One image, submitted once."""

    upgrades: ClassVar[Mapping[int, Callable[[Fields], Fields]]] = {1: _submission_2}
    schema_version: Literal[2] = 2
    id: str
    created: AwareDatetime
    author: str = ""
    card: ModelCard
    image: ImageRecord
    contract: Literal[1] = 1
    arrival: Arrival = Arrival()
    preflight: PreflightReport

    @field_validator("id")
    @classmethod
    def _is_submission_id(cls, value: str) -> str:
        if not SUBMISSION_ID.match(value):
            raise ValueError("must be a lower-case name, a dash and twelve hexadecimal digits")
        return value


def submission_id(name: str, image_id: str) -> str:
    """The id of a submission: the model's name made plain, and the first twelve digits of the image ID."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:50].strip("-") or "model"
    return f"{slug}-{image_id.rpartition(':')[2][:12]}"
