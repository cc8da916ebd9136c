"""The stored record of a submission, `submissions/<id>/submission.json`, and the base class of all stored records."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, field_validator

SUBMISSION_ID = re.compile(r"^[a-z0-9][a-z0-9-]{0,62}-[0-9a-f]{12}$")
MAX_PARAMETERS = 10**15
Domain = Literal["Inorganic Materials", "Molecules", "Catalysis"]


def utc_now() -> datetime:
    """The present time, in UTC."""
    return datetime.now(UTC)


Fields = dict[str, Any]
Upgrades = Mapping[int, Callable[[Fields], Fields]]
"""By version, a pure function from the fields of that version to those of the next."""


class Record(BaseModel):
    """A stored record. It is immutable, and has no unknown fields.

    A stored record is never rewritten. If the fields of a record change, it gets the next `schema_version`, and
    `upgrades` gets a pure function from the fields of the old version to those of the next.
    """

    # A field may have an `alias`: its name in the files, where that is older than its name here.
    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)
    upgrades: ClassVar[Upgrades] = {}

    @classmethod
    def read(cls, data: bytes) -> Self:
        """The record in `data`, of any version.

        Raises:
            pydantic.ValidationError: it is no such record, or of an unknown version.
        """
        if not cls.upgrades:
            return cls.model_validate_json(data)
        with suppress(ValidationError):  # nearly all have the present version, which needs one parsing
            record = cls.model_validate_json(data)
            if "schema_version" in record.model_fields_set:
                return record
        try:
            fields = json.loads(data)
        except (ValueError, RecursionError):
            return cls.model_validate_json(data)  # raises the error that says what is wrong
        while isinstance(fields, dict) and (upgrade := cls._upgrade_of(fields)):
            try:
                fields = upgrade(fields)
            except (KeyError, TypeError, AttributeError):
                break  # no record of that version: validation names the field
        try:
            return cls.model_validate_json(json.dumps(fields))
        except RecursionError:  # nested deeper than json.dumps allows
            return cls.model_validate_json(data)

    @classmethod
    def _upgrade_of(cls, fields: Fields) -> Callable[[Fields], Fields] | None:
        version = fields.get("schema_version", 1)
        return cls.upgrades.get(version) if type(version) is int else None


def _web_address(value: str) -> str:
    if value and not value.startswith(("https://", "http://")):
        raise ValueError("must be a web address beginning with https://")
    return value


WebAddress = Annotated[str, Field(max_length=500), AfterValidator(_web_address)]


class StatedLabelSet(Record):
    """The level of theory of a model's energies in one domain.

    Args:
        dispersion: whether the energies contain it; None if not stated: then none is added.
    """

    name: str = Field(min_length=1, max_length=64)
    dispersion: bool | None = None


class TrainingSet(Record):
    """A data set that a model was trained on.

    Args:
        level_of_theory: of its labels, such as `PBE+U`; empty if not stated.
    """

    name: str = Field(min_length=1, max_length=200)
    level_of_theory: str = Field("", max_length=200)
    url: WebAddress = ""


class ModelCard(Record):
    """What the author states about the model, in `lambench.toml`. It is fixed for an image.

    Args:
        license: of the weights: a name, or an address.
        open_weights: whether anybody may have the weights.
        dispersion: whether the energies contain it at all; `label_sets` states it for each domain.
        precision: of the computation.
        hardware: that the model was made for and needs, in words.
    """

    name: str = Field(min_length=1, max_length=200)
    version: str = Field("", max_length=64)
    description: str = Field("", max_length=2000)
    authors: tuple[str, ...] = Field((), max_length=200)
    affiliation: str = Field("", max_length=500)
    license: str = Field("", max_length=200)
    paper: WebAddress = ""
    code: WebAddress = ""
    open_weights: bool | None = None
    n_parameters: int | None = Field(None, ge=0, le=MAX_PARAMETERS)
    conservative: bool | None = None
    dispersion: bool | None = None
    precision: Literal["", "float32", "float64", "mixed"] = ""
    elements: tuple[str, ...] = Field((), max_length=120)
    training: tuple[TrainingSet, ...] = Field((), max_length=100)
    hardware: str = Field("", max_length=2000)
    label_sets: dict[Domain, StatedLabelSet] = Field(default_factory=dict)


class ImageRecord(Record):
    """The image as it will be run: by `id`, even if the tag moves.

    Args:
        reference: the author's name for it.
        mirror: `name@sha256:…` in the judge's own registry, from which it can be pulled; empty for local images.
        trainer: `module:train`, from its label; empty if it cannot be trained.
    """

    reference: str
    id: str
    mirror: str = ""
    digests: tuple[str, ...] = ()
    architecture: str = ""
    size_bytes: int = 0
    driver: Literal["docker", "process"] = "docker"
    trainer: str = ""


class Check(Record):
    """One row of the preflight table. Only `gating` checks can refuse a submission."""

    name: str
    passed: bool | None
    value: str
    gating: bool = False


class Timing(Record):
    """Time of energy, forces and stress of one structure, asked alone [s].

    Args:
        density: atoms per Å³ of a structure with three periodic directions, 0 of others; None if it was not recorded.
    """

    n_atoms: int
    seconds: float
    density: float | None = None


class PreflightReport(Record):
    """What the preflight measured on public structures, before the submission was taken.

    Args:
        timings: of the public structures and of larger cells; `judge plan` estimates from them.
        startup_s: from the start of the container to the loaded model [s].
        session_s: of a container that is started, asked nothing and removed [s].
        n_parameters: counted by the guest; None if it found none, or did not count.
        answered_elements: of the public structures that got an answer; None if that was not recorded.
        unanswered_elements: the other elements of the public structures.
    """

    checks: tuple[Check, ...]
    calculator: str = ""
    properties: tuple[str, ...] = ()
    batch: bool = False
    device: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    timings: tuple[Timing, ...] = ()
    startup_s: float | None = None
    session_s: float | None = None
    n_parameters: int | None = Field(None, ge=0, le=MAX_PARAMETERS)
    answered_elements: tuple[str, ...] | None = None
    unanswered_elements: tuple[str, ...] | None = None


class Arrival(Record):
    """How a submission arrived.

    Args:
        by: `here` on the judge's own machine; with an invitation, its image by `reference` or by `upload`.
        invitation: its name.
        slot: of the submission request.
    """

    by: Literal["here", "reference", "upload"] = "here"
    invitation: str = ""
    slot: str = ""


def _submission_2(fields: Fields) -> Fields:
    """Version 2 adds the arrival and fields of the card, which have defaults."""
    return {**fields, "schema_version": 2}


def _submission_3(fields: Fields) -> Fields:
    """Version 3 adds the density of timed structures and the time of a session, which have defaults."""
    return {**fields, "schema_version": 3}


def _submission_4(fields: Fields) -> Fields:
    """Version 4 adds the image's trainer, which has a default."""
    return {**fields, "schema_version": 4}


class Submission(Record):
    """One image, submitted once."""

    upgrades: ClassVar[Upgrades] = {1: _submission_2, 2: _submission_3, 3: _submission_4}
    schema_version: Literal[4] = 4
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
    """The ID of a submission: the model's name in plain letters, and the first twelve digits of the image ID."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:50].strip("-") or "model"
    return f"{slug}-{image_id.rpartition(':')[2][:12]}"
