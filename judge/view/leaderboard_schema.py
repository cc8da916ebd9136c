"""The schema of `leaderboard.json`: the data of the leaderboard, for machines and for the scripts of the pages.

A score is a tree (docs/leaderboard-json.md states how it is computed). Models with the same tasks share one tree; each
has its own values at the leaves. So a reader can compute every score again, with other weights and thresholds.

JSON has no number for infinity: it is the text "Infinity". A missing value is null.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

FILE, SCHEMA_FILE = "leaderboard.json", "leaderboard.schema.json"
Number = float | Literal["Infinity"]
Index = Annotated[int, Field(ge=0)]


class Entry(BaseModel):
    """A part of the file: frozen, without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class LeafFile(Entry):
    """A metric at the end of a branch.

    Args:
        unit: the unit of its values.
        scale: name of the formula that turns a value into the scored number.
        numbers: the constants of the formula, by name.
    """

    task: str
    metric: str
    unit: str
    scale: Literal["as it is", "share", "relative error", "speed", "decades", "between thresholds"]
    numbers: dict[str, bool | Number | str] = Field(default_factory=dict)


class NodeFile(Entry):
    """One number of a score.

    Args:
        weight: relative to its siblings.
        how: the kind of mean over the parts.
        absent: the value of a part without one; null: the part is left out; "none": this node has no value either.
        decimals: the value is rounded to so many; null: it is not rounded.
        unit: the task or run that this node is; empty for nodes above or below it.
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
        divisors: divisors of normalised errors that are not 1, by index of the leaf.
        left_out: indices of leaves that were not measured through no fault of the model: they have no weight.
        score: the published score; null if there is none.
        interval: the middle 95 % of the score on these test sets, over resampled items that fail as often.
        interval_with_unseen_failures: the same with failures that the items do not show.
        interval_like_these: that on test sets like these; null if no domain has two sets.
        not_resampled: how many parts of the score could not be resampled; if any, the interval is too narrow.
        at_worst: the score if every leaf in `left_out` had the worst value.
        covered: how many of `total` tasks or runs were measured.
        ranks: interval of the rank by this score.
        group: number of the group of models that cannot be distinguished from its leader.
        carries_over: whether, on test sets like these, the model still differs from the leader of the next better group
            (in the first group: of the second); null with one group.
    """

    tree: Index
    leaves: tuple[Number | None, ...]
    divisors: dict[int, float] = Field(default_factory=dict)
    left_out: tuple[Index, ...] = ()
    score: float | None
    interval: tuple[float, float] | None = None
    interval_with_unseen_failures: tuple[float, float] | None = None
    interval_like_these: tuple[float, float] | None = None
    not_resampled: int = 0
    at_worst: float | None = None
    covered: int = 0
    total: int = 0
    ranks: tuple[float, float] | None = None
    group: int | None = None
    carries_over: bool | None = None


class ScoreFile(Entry):
    """A score of all models.

    Args:
        nothing: the score of a model without any value; null if it has none.
        trees: the trees that models share.
        models: the values of each model, by its id.
    """

    key: str
    label: str
    lower_is_better: bool
    nothing: float | None = None
    trees: tuple[NodeFile, ...]
    models: dict[str, ScoreValues]


class SchemeFile(Entry):
    """A scoring scheme in one variant.

    Args:
        variant: `as_published`: the rules of the scheme's authors; `corrected`: no model gains by failing.
        ranked_by: scores that order the models; the second orders those with an equal first.
        complete_only: true if a model with a verdict other than OK has no rank.
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
    """A task of the suite. `public_since` is empty if its data set is hidden. `page` is a path in the site."""

    name: str
    title: str = ""
    kind: str
    kind_label: str
    domain: str
    dataset: str
    public_since: str
    page: str


class Outcome(Entry):
    """The verdict of a model in one task; `verdict` is empty if it was not judged."""

    verdict: str = ""
    n_items: int = 0
    n_failed: int = 0


class ModelFile(Entry):
    """A model.

    Args:
        page: its path in the site; empty for a row without a submission.
        rank: the rank in the default ranking; null if it is not ranked.
        isolated: true if it ran only in containers.
        reference: the purpose of a reference row, which takes no part in the ranking; empty for other rows.
        team: its team, as far as the judge knows; empty if it is not known.
        n_of_team: how many submissions this team has made, with those taken out; 1 if the team is not known.
        license: of the weights, as its card states it.
        training: the names of the data that its card states.
        parameters, parameters_counted: the number of parameters, stated, and counted in the preflight.
        conservative, conservative_measured: whether forces are the gradient of the energy, stated and measured.
        elements: the elements that its card states.
        elements_answered: the elements in the preflight's structures for which the model gave an answer.
        label_sets: the level of theory of its energies, by domain.
        hardware: the hardware class on which it was timed; empty if it was not timed.
        outcomes: its outcomes, in the order of the tasks.
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
    license: str = ""
    training: tuple[str, ...] = ()
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
    """Weights with a name.

    Args:
        scheme: the scheme that they belong to.
        weights: pairs of a path and a factor. A path has the score's key, then names from below the top of its tree.
    """

    name: str
    about: str
    scheme: str
    weights: tuple[tuple[tuple[str, ...], float], ...]


class LeaderboardFile(Entry):
    """The leaderboard.

    Args:
        release: name of the corrected rules, which rank the models.
        published: name of the release by whose rules the scores as published are computed.
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
