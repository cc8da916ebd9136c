"""The browser reckons as Python does: scores and ranks of `leaderboard.json` under a reader's weights and thresholds.

Python evaluates each model's tree on all settings at once (`Draw`, and thresholds as arrays); that this is what single
settings come to is shown for some of them.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from judge.view.assets import SCORE_NAMES, score_names_script
from judge.view.leaderboard_schema import LeaderboardFile, ModelFile, SchemeFile
from scoring import Node, RankingEntry, Term, explain, ranking
from scoring.tree import Path as NamePath
from scoring.tree import with_left_out
from tests.judge.pages.drawn_settings import Mine, Places, by_python, one_by_one, path_key
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


# What every setting comes to: [score of each model by score, rank of each model].
COMPUTE = """async ([folder, number, settings]) => {
  const file = await (await fetch("leaderboard.json")).json();
  const { evaluateScheme } = await import(`./${folder}/evaluate.js`);
  const { rankModels } = await import(`./${folder}/ranks.js`);
  const scheme = file.schemes[number];
  return settings.map(({ weights, thresholds }) => {
    const { scores } = evaluateScheme(scheme, { weights: new Map(weights), thresholds: new Map(thresholds) });
    const ranks = rankModels(file, scheme, scores);
    const own = (id) => scheme.scores.map(({ key }) => scores.get(id)?.get(key) ?? null);
    return [file.models.map(({ id }) => own(id)), file.models.map(({ id }) => ranks.get(id))];
  });
}"""


NODES = """async ([number, { weights, thresholds }]) => {
  const file = await (await fetch("leaderboard.json")).json();
  const { evaluateScheme } = await import("./js/evaluate.js");
  const scheme = file.schemes[number];
  const found = evaluateScheme(scheme, { weights: new Map(weights), thresholds: new Map(thresholds) });
  return scheme.scores.flatMap(({ key, models }) => Object.keys(models).map((id) => [
    key, id, [...found.nodes(id, key)], [...found.shares(id, key)], found.worst(id, key)]));
}"""


# What the file says of each score of a model, and what its tree comes to: how many were measured, of how many.
COVERAGE = """async (number) => {
  const file = await (await fetch("leaderboard.json")).json();
  const { coverage } = await import("./js/coverage.js");
  const { evaluateScheme } = await import("./js/evaluate.js");
  const scheme = file.schemes[number];
  const found = evaluateScheme(scheme);
  return scheme.scores.flatMap(({ key, trees, models }) => Object.entries(models).map(([id, { tree }]) => {
    const { covered, total } = coverage(trees[tree], key, (path) => found.node(id, key, path));
    return [key, id, covered, total];
  }));
}"""


# A drift of two runs as it was measured.
DRIFT = """async (leaves) => {
  const { allColumns } = await import("./js/columns.js");
  const leaf = { task: "drift", metric: "slope", unit: "eV/atom/ps", scale: "decades" };
  const parts = leaves.map((_, i) => ({ name: `run ${i}`, unit: `drift: run ${i}`, leaf }));
  const models = { alpha: { tree: 0, leaves } };
  const score = { key: "instability", label: "Instability", trees: [{ name: "Instability", parts }], models };
  const columns = allColumns({ tasks: [] }, { scores: [score] }, new Map(), "raw");
  return columns.get("task:drift/slope").value({ id: "alpha" });
}"""


def differences(here: NDArray[np.float64], there: NDArray[np.float64]) -> int:
    """How many numbers are not the same, relative to the greater of 1 and what they should be."""
    with np.errstate(invalid="ignore"):
        same = np.abs(here - there) <= SAME * np.maximum(1.0, np.abs(there))
    return int((~(same | (here == there) | (np.isnan(here) & np.isnan(there)))).sum())


def ranks_of(
    scheme: SchemeFile, models: Sequence[ModelFile], scores: NDArray[np.float64]
) -> tuple[list[int | None], bool]:
    """Ranks as Python has them, and whether no two models are as close as another logarithm may turn them."""
    at = [[of.key for of in scheme.scores].index(key) for key in scheme.ranked_by]
    signs = [1.0 if scheme.scores[i].lower_is_better else -1.0 for i in at]
    entries, costs = [], []
    for m, model in enumerate(models):
        own = [sign * scores[m, i] for sign, i in zip(signs, at, strict=True)]
        if model.reference or all(math.isnan(cost) for cost in own):
            continue
        complete = not scheme.complete_only or all(of.verdict == "OK" for of in model.outcomes)
        entries.append(RankingEntry(model.id, complete, own[0], own[1] if len(own) > 1 else None))
        costs.append(own[0])
    placed = {one.key: one.rank for one in ranking(entries)}
    gaps = np.diff(np.sort([cost for cost in costs if math.isfinite(cost)]))
    return [placed.get(model.id) for model in models], bool((gaps > 1e-10).all())


@pytest.fixture(scope="module")
def file() -> LeaderboardFile:
    return LeaderboardFile.model_validate_json(random_leaderboard().model_dump_json(exclude_defaults=True))


@pytest.fixture(scope="module")
def page(file: LeaderboardFile, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """An empty page beside the file, the scripts, and scripts with a fault: what is absent is left out."""
    root = tmp_path_factory.mktemp("reckoning")
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
    page: Page, number: int, given: Sequence[Mine], folder: str = "js"
) -> tuple[NDArray[np.float64], list[list[int | None]]]:
    """(B, M, S) scores, NaN where null, and ranks by setting."""
    found = page.evaluate(COMPUTE, [folder, number, [one.data() for one in given]])
    scores = np.array([own for own, _ in found], np.float64)  # None becomes NaN
    return scores, [ranks for _, ranks in found]


def test_the_browser_computes_as_python_does(file: LeaderboardFile, page: Page) -> None:
    rng = np.random.default_rng(1)
    models = [model.id for model in file.models]
    n_settings = n_checked = 0
    for number, scheme in enumerate(file.schemes):
        places = Places(scheme)
        n = N_SETTINGS * (number + 1) // len(file.schemes) - n_settings
        given = [Mine({}, {}), *(places.draw(rng) for _ in range(n - 1))]
        n_settings += n
        here, ranks = by_browser(page, number, given)
        there = by_python(scheme, models, given)
        assert differences(here, there) == 0, scheme.key
        for b in range(n):
            assert ranks[b] == ranks_of(scheme, file.models, here[b])[0]
            expected, certain = ranks_of(scheme, file.models, there[b])
            if certain:
                n_checked += 1
                assert ranks[b] == expected
        for b in (0, *rng.choice(n, 6)):  # what was reckoned at once is what each setting comes to
            s, m = rng.integers(len(scheme.scores)), rng.integers(len(models))
            of = scheme.scores[s]
            if (tree := score_of_file(of, models[m])) is not None:
                alone = float(score(one_by_one(tree, given[b].of(of.key))))
                nothing = np.nan if of.nothing is None else of.nothing
                assert differences(there[b, m, s], np.array(nothing if math.isnan(alone) else alone)) == 0
    assert n_settings == N_SETTINGS
    assert n_checked > N_SETTINGS / 4


def test_every_number_below_a_score_is_the_same(file: LeaderboardFile, page: Page) -> None:
    """Values and shares of all nodes, and what a score is at worst."""
    rng = np.random.default_rng(2)
    n_at_worst = 0
    for number, scheme in enumerate(file.schemes):
        mine = Places(scheme).draw(rng)
        for key, model, values, shares, worst in page.evaluate(NODES, [number, mine.data()]):
            tree = score_of_file(next(of for of in scheme.scores if of.key == key), model)
            assert tree is not None
            under = one_by_one(tree, mine.of(key))
            expected = {path_key((key, *path[1:])): value for path, value in _values(under).items()}
            assert dict(values).keys() == expected.keys()
            own = np.array([dict(values)[name] for name in expected], np.float64)
            assert differences(own, np.array(list(expected.values()))) == 0
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
    found: dict[NamePath, float] = {}

    def walk(term: Term, path: NamePath) -> None:
        found[(*path, term.name)] = math.nan if term.value is None else term.value
        for part in term.parts:
            walk(part, (*path, term.name))

    walk(explain(tree), ())
    return found


def test_a_script_that_leaves_out_what_is_absent_is_found_out(file: LeaderboardFile, page: Page) -> None:
    scheme, rng = file.schemes[0], np.random.default_rng(3)
    places = Places(scheme)
    given = [places.draw(rng) for _ in range(10)]
    there = by_python(scheme, [model.id for model in file.models], given)
    assert differences(by_browser(page, 0, given, "js")[0], there) == 0
    assert differences(by_browser(page, 0, given, "faulty")[0], there) > 20


def test_what_no_leaf_has_is_passed_over(file: LeaderboardFile, page: Page) -> None:
    """A weight of no node, of the top and of another scheme; a number that no reader may set."""
    assert file.schemes[0].scores[0].key == "force_field"
    weights = {("force_field", "Nowhere"): 0.0, ("force_field",): 0.0, ("ml-peg", "Catalysis"): 3.0}
    nowhere = Mine(weights, {("frames-0", "force_rmse", "divisor"): 2.0, ("frames-0", "none", "cap"): 2.0})
    here, ranks = by_browser(page, 0, [Mine({}, {}), nowhere])
    assert np.array_equal(here[0], here[1], equal_nan=True)
    assert ranks[0] == ranks[1]


def test_what_was_measured_is_counted_as_python_counts_it(file: LeaderboardFile, page: Page) -> None:
    n_in_part = 0
    for number, scheme in enumerate(file.schemes):
        of_key = {of.key: of for of in scheme.scores}
        for key, model, covered, total in page.evaluate(COVERAGE, number):
            tree = score_of_file(of_key[key], model)
            assert tree is not None
            term = explain(tree)
            assert (covered, total) == (term.covered, term.total), (scheme.key, key, model)
            n_in_part += 0 < covered < total
    assert n_in_part > 5


def test_a_run_that_blew_up_makes_the_mean_drift_infinite(page: Page) -> None:
    assert page.evaluate(DRIFT, ["Infinity", 0]) == math.inf
    assert page.evaluate(DRIFT, ["Infinity", 1e-6]) == math.inf
    assert page.evaluate(DRIFT, [0, 1e-6]) == 0
    assert math.isclose(page.evaluate(DRIFT, [1e-4, -1e-6]), 1e-5)
