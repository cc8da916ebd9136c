"""The browser computes the same scores and ranks as Python, under a reader's weights and thresholds.

Python evaluates each model's tree on all settings at once (`Draw`, and thresholds as arrays). For some settings the
tests compare this with an evaluation of that setting alone.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from judge.view import formatting
from judge.view.assets import SCORE_NAMES, score_names_script
from judge.view.leaderboard_schema import LeaderboardFile, ModelFile, SchemeFile
from scoring import Node, RankingEntry, Term, explain, ranking
from scoring.tree import Path as NamePath
from scoring.tree import with_left_out
from tests.judge.pages.drawn_settings import DrawnSettings, Settable, by_python, one_by_one, path_key
from tests.servers.site_server import served
from tests.world.leaderboard_reader import score_of_file
from tests.world.one_tree import score
from tests.world.random_leaderboard import random_leaderboard

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow


SCRIPTS = Path(__file__).parents[3] / "templates" / "js"
N_SETTINGS = 1000
SAME = 1e-12


# Of each setting: [score of each model by score, rank of each model].
COMPUTE = """async ([folder, number, settings]) => {
  const file = await (await fetch("leaderboard.json")).json();
  const { evaluateScheme } = await import(`./${folder}/evaluate.js`);
  const { rankModels } = await import(`./${folder}/ranks.js`);
  const scheme = file.schemes[number];
  return settings.map(({ weights, thresholds }) => {
    const { scores } = evaluateScheme(scheme, { weights: new Map(weights), thresholds: new Map(thresholds) });
    const ranks = rankModels(file, scheme, scores);
    const ofModel = (id) => scheme.scores.map(({ key }) => scores.get(id)?.get(key) ?? null);
    return [file.models.map(({ id }) => ofModel(id)), file.models.map(({ id }) => ranks.get(id))];
  });
}"""


NODES = """async ([number, { weights, thresholds }]) => {
  const file = await (await fetch("leaderboard.json")).json();
  const { evaluateScheme } = await import("./js/evaluate.js");
  const scheme = file.schemes[number];
  const computed = evaluateScheme(scheme, { weights: new Map(weights), thresholds: new Map(thresholds) });
  return scheme.scores.flatMap(({ key, models }) => Object.keys(models).map((id) => [
    key, id, [...computed.nodes(id, key)], [...computed.shares(id, key)], computed.worst(id, key)]));
}"""


# Of each score of a model: how many units were measured, and how many there are, from its tree.
COVERAGE = """async (number) => {
  const file = await (await fetch("leaderboard.json")).json();
  const { coverage } = await import("./js/coverage.js");
  const { evaluateScheme } = await import("./js/evaluate.js");
  const scheme = file.schemes[number];
  const computed = evaluateScheme(scheme);
  return scheme.scores.flatMap(({ key, trees, models }) => Object.entries(models).map(([id, { tree }]) => {
    const { covered, total } = coverage(trees[tree], key, (path) => computed.node(id, key, path));
    return [key, id, covered, total];
  }));
}"""


# The measured drift of two runs.
DRIFT = """async (leaves) => {
  const { allColumns } = await import("./js/columns.js");
  const leaf = { task: "drift", metric: "slope", unit: "eV/atom/ps", scale: "decades" };
  const parts = leaves.map((_, i) => ({ name: `run ${i}`, unit: `drift: run ${i}`, leaf }));
  const models = { alpha: { tree: 0, leaves } };
  const score = { key: "instability", label: "Instability", trees: [{ name: "Instability", parts }], models };
  const columns = allColumns({ tasks: [] }, { scores: [score] }, new Map(), "raw");
  return columns.get("task:drift/slope").value({ id: "alpha" });
}"""


def differences(in_browser: NDArray[np.float64], by_judge: NDArray[np.float64]) -> int:
    """How many numbers differ, relative to the larger of 1 and the expected number."""
    with np.errstate(invalid="ignore"):
        same = np.abs(in_browser - by_judge) <= SAME * np.maximum(1.0, np.abs(by_judge))
    return int((~(same | (in_browser == by_judge) | (np.isnan(in_browser) & np.isnan(by_judge)))).sum())


def ranks_of(
    scheme: SchemeFile, models: Sequence[ModelFile], scores: NDArray[np.float64]
) -> tuple[list[int | None], bool]:
    """Ranks by Python, and whether the scores are far enough apart that another logarithm cannot swap two models."""
    at = [[each.key for each in scheme.scores].index(key) for key in scheme.ranked_by]
    signs = [1.0 if scheme.scores[i].lower_is_better else -1.0 for i in at]
    entries, costs = [], []
    for m, model in enumerate(models):
        values = [sign * scores[m, i] for sign, i in zip(signs, at, strict=True)]
        if model.reference or all(math.isnan(cost) for cost in values):
            continue
        complete = not scheme.complete_only or all(each.verdict == "OK" for each in model.outcomes)
        entries.append(RankingEntry(model.id, complete, values[0], values[1] if len(values) > 1 else None))
        costs.append(values[0])
    placed = {entry.key: entry.rank for entry in ranking(entries)}
    gaps = np.diff(np.sort([cost for cost in costs if math.isfinite(cost)]))
    return [placed.get(model.id) for model in models], bool((gaps > 1e-10).all())


@pytest.fixture(scope="module")
def file() -> LeaderboardFile:
    return LeaderboardFile.model_validate_json(random_leaderboard().model_dump_json(exclude_defaults=True))


@pytest.fixture(scope="module")
def page(file: LeaderboardFile, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """An empty page beside the file, the scripts, and faulty scripts that leave out missing parts."""
    root = tmp_path_factory.mktemp("computation")
    (root / "leaderboard.json").write_text(file.model_dump_json(exclude_defaults=True))
    (root / "index.html").write_text("<!doctype html><title>empty</title>")
    for folder in ("js", "faulty"):
        shutil.copytree(SCRIPTS, root / folder)
        (root / folder / SCORE_NAMES).write_bytes(score_names_script())
    combine = (SCRIPTS / "combine.js").read_text()
    faulty = combine.replace("missing && leavesOut", "missing")
    assert faulty != combine
    (root / "faulty" / "combine.js").write_text(faulty)
    with served(root) as base, browser.new_context() as context:
        opened = context.new_page()
        opened.goto(base + "index.html")
        yield opened


def by_browser(
    page: Page, number: int, given: Sequence[DrawnSettings], folder: str = "js"
) -> tuple[NDArray[np.float64], list[list[int | None]]]:
    """(B, M, S) scores, NaN for null, and the ranks under each setting."""
    computed = page.evaluate(COMPUTE, [folder, number, [settings.data() for settings in given]])
    scores = np.array([of_models for of_models, _ in computed], np.float64)  # None becomes NaN
    return scores, [ranks for _, ranks in computed]


def test_the_browser_computes_as_python_does(file: LeaderboardFile, page: Page) -> None:
    rng = np.random.default_rng(1)
    models = [model.id for model in file.models]
    n_settings = n_checked = 0
    for number, scheme in enumerate(file.schemes):
        settable = Settable(scheme)
        n = N_SETTINGS * (number + 1) // len(file.schemes) - n_settings
        given = [DrawnSettings({}, {}), *(settable.draw(rng) for _ in range(n - 1))]
        n_settings += n
        in_browser, ranks = by_browser(page, number, given)
        by_judge = by_python(scheme, models, given)
        assert differences(in_browser, by_judge) == 0, scheme.key
        for b in range(n):
            assert ranks[b] == ranks_of(scheme, file.models, in_browser[b])[0]
            expected, certain = ranks_of(scheme, file.models, by_judge[b])
            if certain:
                n_checked += 1
                assert ranks[b] == expected
        for b in (0, *rng.choice(n, 6)):  # all settings at once give the same as each setting alone
            s, m = rng.integers(len(scheme.scores)), rng.integers(len(models))
            chosen = scheme.scores[s]
            if (tree := score_of_file(chosen, models[m])) is not None:
                alone = float(score(one_by_one(tree, given[b].of(chosen.key))))
                nothing = np.nan if chosen.nothing is None else chosen.nothing
                assert differences(by_judge[b, m, s], np.array(nothing if math.isnan(alone) else alone)) == 0
    assert n_settings == N_SETTINGS
    assert n_checked > N_SETTINGS / 4


def test_every_number_below_a_score_is_the_same(file: LeaderboardFile, page: Page) -> None:
    """Values and shares of all nodes, and the worst possible score."""
    rng = np.random.default_rng(2)
    n_at_worst = 0
    for number, scheme in enumerate(file.schemes):
        mine = Settable(scheme).draw(rng)
        for key, model, values, shares, worst in page.evaluate(NODES, [number, mine.data()]):
            tree = score_of_file(next(each for each in scheme.scores if each.key == key), model)
            assert tree is not None
            under = one_by_one(tree, mine.of(key))
            expected = {path_key((key, *path[1:])): value for path, value in _values(under).items()}
            assert dict(values).keys() == expected.keys()
            in_browser = np.array([dict(values)[name] for name in expected], np.float64)
            assert differences(in_browser, np.array(list(expected.values()))) == 0
            whole = [share for path, share in shares if path.count("/") == 1]
            top = [part.share for part in explain(under).parts]
            assert differences(np.array(whole), np.array(top)) == 0
            n_at_worst += worst is not None
            if under.leaves_out:
                assert differences(np.array(worst, np.float64), score(with_left_out(under))) == 0
            else:
                assert worst is None
    assert n_at_worst > 5


def _values(tree: Node) -> dict[NamePath, float]:
    values: dict[NamePath, float] = {}

    def walk(term: Term, path: NamePath) -> None:
        values[(*path, term.name)] = math.nan if term.value is None else term.value
        for part in term.parts:
            walk(part, (*path, term.name))

    walk(explain(tree), ())
    return values


def test_a_script_that_leaves_out_missing_parts_is_detected(file: LeaderboardFile, page: Page) -> None:
    scheme, rng = file.schemes[0], np.random.default_rng(3)
    settable = Settable(scheme)
    given = [settable.draw(rng) for _ in range(10)]
    by_judge = by_python(scheme, [model.id for model in file.models], given)
    assert differences(by_browser(page, 0, given, "js")[0], by_judge) == 0
    assert differences(by_browser(page, 0, given, "faulty")[0], by_judge) > 20


def test_settings_of_no_leaf_are_ignored(file: LeaderboardFile, page: Page) -> None:
    """A weight of no node, of the top and of another scheme; a number that no reader may set."""
    assert file.schemes[0].scores[0].key == "force_field"
    weights = {("force_field", "Nowhere"): 0.0, ("force_field",): 0.0, ("ml-peg", "Catalysis"): 3.0}
    nowhere = DrawnSettings(weights, {("frames-0", "force_rmse", "divisor"): 2.0, ("frames-0", "none", "cap"): 2.0})
    in_browser, ranks = by_browser(page, 0, [DrawnSettings({}, {}), nowhere])
    assert np.array_equal(in_browser[0], in_browser[1], equal_nan=True)
    assert ranks[0] == ranks[1]


def test_coverage_is_that_of_python(file: LeaderboardFile, page: Page) -> None:
    n_in_part = 0
    for number, scheme in enumerate(file.schemes):
        of_key = {each.key: each for each in scheme.scores}
        for key, model, covered, total in page.evaluate(COVERAGE, number):
            tree = score_of_file(of_key[key], model)
            assert tree is not None
            term = explain(tree)
            assert (covered, total) == (term.covered, term.total), (scheme.key, key, model)
            n_in_part += 0 < covered < total
    assert n_in_part > 5


def test_a_diverged_run_makes_the_mean_drift_infinite(page: Page) -> None:
    assert page.evaluate(DRIFT, ["Infinity", 0]) == math.inf
    assert page.evaluate(DRIFT, ["Infinity", 1e-6]) == math.inf
    assert page.evaluate(DRIFT, [0, 1e-6]) == 0
    assert math.isclose(page.evaluate(DRIFT, [1e-4, -1e-6]), 1e-5)


TEXTS = """async ([values, digits]) => {
  const { decimals, number } = await import("./js/numbers.js");
  return values.map((value) => [number(value, digits), decimals(value, digits)]);
}"""


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_numbers_as_text_are_those_of_python(page: Page, digits: int) -> None:
    """Also halfway between two texts."""
    rng = np.random.default_rng(digits)
    halves = (rng.integers(1, 2000, 300) / 2.0 ** rng.integers(0, 12, 300)).tolist()
    others = (rng.normal(size=300) * 10.0 ** rng.integers(-9, 9, 300)).tolist()
    values = [*halves, *(-value for value in halves), *others, 4.625, 0.125, 1e20]
    texts = [[formatting.number(value, digits), formatting.decimals(value, digits)] for value in values]
    assert page.evaluate(TEXTS, [values, digits]) == texts
