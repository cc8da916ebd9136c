"""`leaderboard.json`: all that the leaderboard shows, for machines, and for the script of the pages.

A score is a tree (docs/leaderboard-json.md says how it is reckoned). Models that are asked the same share one tree, and
each has its own values at the leaves. So a reader can reckon every score again, under other weights and thresholds.

What is not finite is a word, since JSON has no number for it: "Infinity", and null where there is no value.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

FILE, SCHEMA_FILE = "leaderboard.json", "leaderboard.schema.json"
Number = float | Literal["Infinity"]
Index = Annotated[int, Field(ge=0)]


class Entry(BaseModel):
    """A part of the file: frozen, and nothing unknown in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class LeafFile(Entry):
    """A metric at the end of a branch.

    Args:
        unit: of its values.
        scale: name of the formula from its values to what is scored.
        numbers: that the formula is given, by name.
    """

    task: str
    metric: str
    unit: str
    scale: Literal["as it is", "share", "relative error", "speed", "decades", "between thresholds"]
    numbers: dict[str, bool | Number | str] = Field(default_factory=dict)


class NodeFile(Entry):
    """One number of a score.

    Args:
        weight: beside its siblings.
        how: the mean over the parts.
        absent: what a part without a value counts: null, it is left out; "none", then there is no value here either.
        decimals: that the value is rounded to; null: not at all.
        unit: the task, or run, that this is; empty for what is above or below.
    """

    name: str
    weight: float = 1.0
    how: Literal["mean", "logarithmic mean", "harmonic mean"] = "mean"
    absent: Number | Literal["none"] | None = None
    decimals: int | None = None
    unit: str = ""
    leaf: LeafFile | None = None
    parts: tuple[NodeFile, ...] = ()


class ScoreValues(Entry):
    """A score of one model.

    Args:
        tree: index of its tree.
        leaves: a value for each leaf of that tree, from the first to the last.
        divisors: by index of a leaf, what its normalised error is divided by, where that is not 1.
        left_out: indices of leaves that were not measured for no fault of the model: they have no weight.
        score: as it is published; null: none.
        interval: in which 95 % of resampled test sets lie.
        at_worst: the score, if what was left out had come out worst.
        covered: of `total` tasks or runs, how many were measured.
        ranks: interval of the rank by this score.
        group: number of the group of models that cannot be told apart from its first.
    """

    tree: Index
    leaves: tuple[Number | None, ...]
    divisors: dict[int, float] = Field(default_factory=dict)
    left_out: tuple[Index, ...] = ()
    score: float | None
    interval: tuple[float, float] | None = None
    at_worst: float | None = None
    covered: int = 0
    total: int = 0
    ranks: tuple[float, float] | None = None
    group: int | None = None


class ScoreFile(Entry):
    """A score, of all models.

    Args:
        nothing: the score of a model without any value; null: it has none.
        trees: that models share.
        models: by id of the model.
    """

    key: str
    label: str
    lower_is_better: bool
    nothing: float | None = None
    trees: tuple[NodeFile, ...]
    models: dict[str, ScoreValues]


class SchemeFile(Entry):
    """A scheme in one variant.

    Args:
        variant: as its own authors add results up, or so that no model gains by failing.
        ranked_by: scores that models are ordered by, the second among equals of the first.
        complete_only: whether a model with a task that came to no OK is left without a rank.
    """

    key: Literal["lambench", "ml-peg", "mlipaudit"]
    label: str
    variant: Literal["corrected", "as_published"]
    title: str
    source: str
    ranked_by: tuple[str, ...]
    complete_only: bool
    scores: tuple[ScoreFile, ...]


class TaskFile(Entry):
    """A task of the suite; `public_since` is empty where its data set is hidden. `page` is its path in the site."""

    name: str
    kind: str
    kind_label: str
    domain: str
    dataset: str
    public_since: str
    page: str


class Outcome(Entry):
    """What a model came to in one task; `verdict` is empty where it was not judged."""

    verdict: str = ""
    n_items: int = 0
    n_failed: int = 0


class ModelFile(Entry):
    """A model.

    Args:
        page: path in the site; empty: it has none, since nobody submitted it.
        rank: in the default ranking; null: it is not ranked.
        isolated: whether all of it ran in a container.
        reference: what it is there for, where it takes no part: a reference row. Empty for a submission that does.
        team: whose submission it is, as the judge knows them; empty: not known.
        n_of_team: how many submissions this team has made, with those taken out; 1 where the team is not known.
        parameters, parameters_counted: as stated, and as counted in the preflight.
        conservative, conservative_measured: whether forces are the gradient of the energy.
        elements: as stated.
        elements_answered: of those in the preflight's structures, that got an answer.
        label_sets: by domain, the level of theory that its energies belong to.
        hardware: class of machine that it was timed on; empty: it was not.
        outcomes: in the order of the tasks.
    """

    id: str
    name: str
    version: str
    page: str
    rank: int | None
    isolated: bool
    reference: str = ""
    team: str = ""
    n_of_team: int = 1
    submitted: AwareDatetime | None = None
    open_weights: bool | None = None
    parameters: int | None = None
    parameters_counted: int | None = None
    conservative: bool | None = None
    conservative_measured: bool | None = None
    precision: str = ""
    dispersion: bool | None = None
    elements: tuple[str, ...] = ()
    elements_answered: tuple[str, ...] | None = None
    label_sets: dict[str, str] = Field(default_factory=dict)
    hardware: str = ""
    outcomes: tuple[Outcome, ...]


class PresetFile(Entry):
    """Weights that have a name.

    Args:
        scheme: that they are of.
        weights: pairs of a path (names from below the top of a score, the score's key first) and a factor.
    """

    name: str
    about: str
    scheme: str
    weights: tuple[tuple[tuple[str, ...], float], ...]


class LeaderboardFile(Entry):
    """The leaderboard.

    Args:
        release: name of the corrected rules that models are ranked by.
        published: name of the release that results are also added up by.
        measured: when the newest number was measured.
    """

    schema_version: Literal[1] = 1
    suite: str
    suite_version: str
    title: str
    release: str
    published: str
    measured: AwareDatetime | None
    tasks: tuple[TaskFile, ...]
    models: tuple[ModelFile, ...]
    schemes: tuple[SchemeFile, ...]
    presets: tuple[PresetFile, ...] = ()
