"""What a dataset says of itself: `card.toml`, and `table.json` beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

Domain = Literal["Inorganic Materials", "Molecules", "Catalysis"]
UNITS: Mapping[str, str] = {"energy": "eV", "length": "Å", "forces": "eV/Å", "stress": "eV/Å³", "charge": "e"}
DATASET_NAME = r"^[a-z0-9][a-z0-9-]{0,62}$"
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Index = Annotated[int, Field(ge=0)]


class DatasetError(ValueError):
    """A dataset that cannot be used: one line naming file and field."""


class Entry(BaseModel):
    """A part of a card or a table: frozen, and nothing unknown in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class LabelSet(Entry):
    """One level of theory at which the structures are labelled.

    Args:
        theory: in words, for readers.
        dispersion: whether the labels contain dispersion.
    """

    theory: str = Field(min_length=1)
    dispersion: bool


class Card(Entry):
    """A dataset's card.

    Args:
        label_sets: by the name that a submission declares; empty where there are no labels (dynamics, timing).
        default_label_set: what a submission that declares none of them is held against.
        periodic: whether every structure is periodic in all three directions.
        units: of every number in the files; there is one choice only, stated so that nobody need guess.
        public_since: the date since which the structures and labels are public, or empty if they are not.
        cluster_column: which column of `table.json` groups frames that are correlated; None: each stands for itself.
        baselines: by label set and metric, in the metric's unit: takes the place of the baseline that is computed.
        sha256: of every other file of the dataset.
    """

    schema_version: Literal[1] = 1
    name: str = Field(pattern=DATASET_NAME)
    version: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]*$")
    title: str = Field(min_length=1)
    domain: Domain
    periodic: bool
    default_label_set: str | None = None
    citation: str = ""
    licence: str = ""
    public_since: str = ""
    cluster_column: Literal["group", "cluster"] | None = None
    units: dict[str, str] = Field(default_factory=lambda: dict(UNITS))
    label_sets: dict[str, LabelSet] = Field(default_factory=dict)
    baselines: dict[str, dict[str, Positive]] = Field(default_factory=dict)
    sha256: dict[str, Sha256] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.units != UNITS:
            raise ValueError(f"units must be {dict(UNITS)}")
        if self.label_sets and self.default_label_set not in self.label_sets:
            raise ValueError(f"default_label_set must be one of {sorted(self.label_sets)}")
        if not self.label_sets and self.default_label_set is not None:
            raise ValueError("default_label_set names a label set that is not in label_sets")
        for name in self.baselines:
            if name not in self.label_sets:
                raise ValueError(f"baselines.{name} is not in label_sets")
        return self

    @property
    def full_name(self) -> str:
        """name@version: the dataset's folder, and how suites name it."""
        return f"{self.name}@{self.version}"


class Term(Entry):
    """A structure in a sum of energies.

    Args:
        structure: index of the structure.
    """

    structure: Index
    coefficient: FiniteFloat


class Difference(Entry):
    """An energy difference: Σ coefficient × E(structure), with its reference [eV] by label set."""

    id: str = Field(min_length=1)
    group: str = ""
    cluster: str = ""
    terms: tuple[Term, ...] = Field(min_length=1)
    reference: dict[str, FiniteFloat]


class CurveReference(Entry):
    """Parameters of an equation of state at zero pressure.

    Args:
        v0_per_atom: equilibrium volume [Å³/atom].
        b0_gpa: bulk modulus [GPa].
        b0_prime: its pressure derivative.
    """

    v0_per_atom: Positive
    b0_gpa: Positive
    b0_prime: FiniteFloat


class Curve(Entry):
    """An equation of state: the structures along the curve, and its parameters by label set."""

    id: str = Field(min_length=1)
    group: str = ""
    cluster: str = ""
    structures: tuple[Index, ...] = Field(min_length=5)
    reference: dict[str, CurveReference]


class Table(Entry):
    """What is known of the structures beside their labels. Nothing of it enters a container.

    Args:
        id: by structure: its name, each once.
        group: by structure: what it is reported under.
        cluster: by structure: those of one cluster are correlated.
        differences: items of the kind *energy differences*.
        curves: items of the kind *equation of state*.
    """

    id: tuple[str, ...]
    group: tuple[str, ...]
    cluster: tuple[str, ...]
    differences: tuple[Difference, ...] = ()
    curves: tuple[Curve, ...] = ()


def one_line(error: ValidationError) -> str:
    """The first problem of a record as `field: what is wrong`."""
    problem = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in problem["loc"])
    text = problem["msg"].removeprefix("Value error, ")
    return f"{field}: {text}" if field else text


def card_toml(card: Card) -> str:
    """`card` as TOML."""
    values = card.model_dump(mode="json", exclude_none=True)
    lines = [f"{name} = {_toml(value)}" for name, value in values.items() if not isinstance(value, dict)]
    for name in ("units", "label_sets", "baselines", "sha256"):
        table = values[name]
        if not table:
            continue
        nested = {key: value for key, value in table.items() if isinstance(value, dict)}
        if not nested:
            lines += ["", f"[{name}]", *(f"{_toml(k)} = {_toml(v)}" for k, v in table.items())]
        for key, entries in nested.items():
            lines += ["", f"[{name}.{_toml(key)}]", *(f"{_toml(k)} = {_toml(v)}" for k, v in entries.items())]
    return "\n".join(lines) + "\n"


def _toml(value: str | float | bool) -> str:
    # TOML's basic strings, numbers and booleans are written as JSON writes them, but for the character DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
