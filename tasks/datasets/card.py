"""The description of a data set: `card.toml`, and `table.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import Field, FiniteFloat, field_validator, model_validator

from tasks.datasets.card_parts import CardPart as CardPart
from tasks.datasets.card_parts import Index, TableItem, later
from tasks.datasets.card_parts import Positive as Positive
from tasks.datasets.crystal_items import Bands as Bands
from tasks.datasets.crystal_items import Conductivity as Conductivity
from tasks.datasets.crystal_items import ConductivityReference as ConductivityReference
from tasks.datasets.crystal_items import Crystal as Crystal
from tasks.datasets.crystal_items import Curve as Curve
from tasks.datasets.crystal_items import CurveReference as CurveReference
from tasks.datasets.dataset_errors import DatasetError as DatasetError
from tasks.datasets.dataset_errors import dataset_faults as dataset_faults
from tasks.datasets.diatomic_pairs import Diatomic
from tasks.datasets.simulated_systems import SimulatedSystem
from tasks.structures.validation_errors import SLUG
from tasks.structures.validation_errors import one_line as one_line

Domain = Literal["Inorganic Materials", "Molecules", "Catalysis"]
UNITS: Mapping[str, str] = {"energy": "eV", "length": "Å", "forces": "eV/Å", "stress": "eV/Å³", "charge": "e"}
# Frames with one value of this are correlated. `cluster` is the table's column of that name, without a statement of its
# meaning; `composition` and `info:FIELD` state it.
CLUSTER_COLUMN = r"^(group|cluster|composition|info:\S.*)$"
# Fields of `Table` that the first data sets did not have.
LATER_ITEMS = ("systems", "paths", "pairs", "conductivities")
ITEMS = ("differences", "curves", "scans", "crystals", *LATER_ITEMS)
_DATE = re.compile(r"[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?")
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class D3(CardPart):
    """The DFT-D3 correction that belongs to a level of theory.

    Args:
        functional: whose parameters, as simple-dftd3 names it (`pbe`).
        damping: `bj` (rational, Becke–Johnson) or `zero`.
    """

    functional: str = Field(min_length=1)
    damping: Literal["bj", "zero"] = "bj"


class LabelSet(CardPart):
    """One level of theory at which the structures are labelled.

    Args:
        theory: in words, for readers.
        dispersion: whether the labels contain dispersion.
        d3: the correction for a model without dispersion, if the labels contain it; None: none can be added.
    """

    theory: str = Field(min_length=1)
    dispersion: bool
    d3: D3 | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.d3 is not None and not self.dispersion:
            raise ValueError("d3 is stated for labels without dispersion")
        return self


class Card(CardPart):
    """The card of a data set.

    Args:
        label_sets: by the name that a submission declares; empty if there are no labels (dynamics, timing).
        default_label_set: the label set for a submission that declares none of them.
        periodic: whether every structure is periodic in all three directions.
        units: of every number in the files; only one choice is valid, and is stated for readers.
        public_since: the date since which structures and labels are public (2014, 2014-05 or 2014-05-01), or empty if
            they are not. A future date matters to pages and authors only, which see less until then: observing does
            not depend on the calendar, and memorisation probes are sent only for a set that states no date.
        cluster_column: the common property of correlated frames: `group`, the column of `table.json`; or, in its column
            `cluster`, their `composition`, the field `info:FIELD` of the imported file (`info:trajectory`), or any
            other name (`cluster`). None: each frame stands for itself.
        baselines: by label set and metric, in the unit of the metric, in place of the computed baseline.
        settings: by name, parameters of the kind with which the references were made: a task must have the same.
        sha256: of every other file of the data set.
        origin: how the judge made structures and labels, with the seeds. Who knows it can make hidden data again, so
            no page, record or container has it; empty: they were imported.
    """

    schema_version: Literal[1] = 1
    name: str = Field(pattern=SLUG)
    version: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]*$")
    title: str = Field(min_length=1)
    domain: Domain
    periodic: bool
    default_label_set: str | None = None
    citation: str = ""
    licence: str = ""
    public_since: str = ""
    cluster_column: str | None = Field(default=None, pattern=CLUSTER_COLUMN)
    units: dict[str, str] = Field(default_factory=lambda: dict(UNITS))
    label_sets: dict[str, LabelSet] = Field(default_factory=dict)
    baselines: dict[str, dict[str, Positive]] = Field(default_factory=dict)
    settings: dict[str, FiniteFloat] = Field(default_factory=dict)
    sha256: dict[str, Sha256] = Field(default_factory=dict)
    origin: str = later("")

    @field_validator("public_since")
    @classmethod
    def _is_date(cls, stated: str) -> str:
        if stated and not _DATE.fullmatch(stated):
            raise ValueError("must be a date (2014, 2014-05 or 2014-05-01), or empty where the data are not public")
        return stated

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
        """name@version: the folder of the data set, and its name in suites."""
        return f"{self.name}@{self.version}"

    @property
    def hidden(self) -> bool:
        """Whether the card states no date since which structures and labels are public, past or future."""
        return not self.public_since


class Summand(CardPart):
    """A structure in a sum of energies.

    Args:
        structure: index of the structure.
        alternatives: other structures, of which the lowest in energy takes part: the conformers of a molecule.
    """

    structure: Index
    coefficient: FiniteFloat
    alternatives: tuple[Index, ...] = later(())


class Difference(TableItem):
    """An energy difference: Σ coefficient × E(structure), with its reference by label set.

    Args:
        quantity: its name, if a data set has several quantities (`barrier`, `reaction energy`).
        area: [Å²] by which the sum is divided (interfaces, surfaces); None: it is not.
        unbalanced: whether atoms or charges appear or vanish on purpose.
        weight: of its absolute error in a weighted mean; None: it has none.
        reference: [eV], or [eV/Å²] if there is an area.
        uncertainty: of the reference, in its unit, as its authors state it; absent for a label set: it is not known.
    """

    quantity: str = ""
    area: Positive | None = None
    unbalanced: bool = later(False)
    weight: Positive | None = later(None)
    terms: tuple[Summand, ...] = Field(min_length=1)
    reference: dict[str, FiniteFloat]
    uncertainty: dict[str, Positive] = later({})


class Scan(TableItem):
    """An energy profile: the structures along a scan, and their energies at the reference.

    Args:
        structures: in the order of `x`.
        x: the position along the scan, increasing: an angle [°], or a displacement as a share of the whole.
        area: [Å²] by which energies are divided (stacking faults); None: they are not.
        extremum: of the energy, which an interaction energy is taken at: a maximum if two molecules repel each other.
        reference: [eV] by label set, one a structure, counted from any zero.
    """

    structures: tuple[Index, ...] = Field(min_length=2)
    x: tuple[FiniteFloat, ...]
    area: Positive | None = None
    extremum: Literal["minimum", "maximum"] = later("minimum")
    reference: dict[str, tuple[FiniteFloat, ...]]

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if len(self.x) != len(self.structures):
            raise ValueError(f"x has {len(self.x)} entries for {len(self.structures)} structures")
        if any(b <= a for a, b in pairwise(self.x)):
            raise ValueError("x must increase from each structure to the next")
        for name, energies in self.reference.items():
            if len(energies) != len(self.structures):
                raise ValueError(f"reference.{name} has {len(energies)} entries for {len(self.structures)} structures")
        return self


class PathReference(CardPart):
    """A reaction at the reference, from the relaxed reactant on.

    Args:
        barrier: the highest energy on the path [eV]; None: there is none.
        reaction_energy: of the product [eV]; None: there is none.
    """

    barrier: FiniteFloat | None = None
    reaction_energy: FiniteFloat | None = None


class MinimumEnergyPath(TableItem):
    """A reaction whose path is searched, with its reference by label set.

    Args:
        path: the number that its structures have in the condition `path`.
    """

    path: Index
    reference: dict[str, PathReference]


class Table(CardPart):
    """The names, groups and items of the structures. No part of it enters a container.

    Args:
        id: by structure, its name, each once.
        group: by structure, the group under which it is reported.
        cluster: by structure: those of one cluster are correlated, if the card says so.
        differences: items of the kind *energy differences*.
        curves: items of the kind *equation of state*.
        scans: items of the kind *energy profiles*.
        crystals: items of kinds that measure properties of crystals: *elasticity*, *phonons*, *compression*.
        systems: items of the kind *dynamics*.
        paths: items of the kind *reaction paths*.
        pairs: items of the kind *diatomics*.
        conductivities: items of the kind *thermal conductivity*.
    """

    id: tuple[str, ...]
    group: tuple[str, ...]
    cluster: tuple[str, ...]
    differences: tuple[Difference, ...] = ()
    curves: tuple[Curve, ...] = ()
    scans: tuple[Scan, ...] = ()
    crystals: tuple[Crystal, ...] = ()
    systems: tuple[SimulatedSystem, ...] = ()
    paths: tuple[MinimumEnergyPath, ...] = ()
    pairs: tuple[Diatomic, ...] = ()
    conductivities: tuple[Conductivity, ...] = ()

    @property
    def items(self) -> Mapping[str, tuple[Item, ...]]:
        """The items of every sort, by the field's name."""
        return {name: getattr(self, name) for name in ITEMS}

    def stored(self) -> dict[str, Any]:
        """The fields as `table.json` has them.

        Sorts of items that came later are left out where there are none: a data set made before has the same bytes.
        """
        empty = {name for name in LATER_ITEMS if not getattr(self, name)}
        return self.model_dump(mode="json", exclude=empty)

    @property
    def n_items(self) -> int:
        """The number of items of all sorts."""
        return sum(len(items) for items in self.items.values())


Item = Difference | Curve | Scan | Crystal | SimulatedSystem | MinimumEnergyPath | Diatomic | Conductivity


def card_toml(card: Card) -> str:
    """`card` as TOML."""
    values = card.model_dump(mode="json", exclude_none=True)
    lines = [f"{name} = {_toml(value)}" for name, value in values.items() if not isinstance(value, dict)]
    for name in ("units", "label_sets", "baselines", "settings", "sha256"):
        table = values[name]
        if not table:
            continue
        nested = {key: value for key, value in table.items() if isinstance(value, dict)}
        if not nested:
            lines += ["", f"[{name}]", *(f"{_toml(k)} = {_toml(v)}" for k, v in table.items())]
        for key, entries in nested.items():
            lines += ["", f"[{name}.{_toml(key)}]", *(f"{_toml(k)} = {_toml(v)}" for k, v in entries.items())]
    return "\n".join(lines) + "\n"


def _toml(value: str | float | bool | dict[str, str]) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    # TOML's basic strings, numbers and booleans are written as JSON writes them, but for the character DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
