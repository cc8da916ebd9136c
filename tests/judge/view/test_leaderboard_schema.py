"""Scores follow from `leaderboard.json`: as Python computes them, and as the documentation does. Presets."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from judge.publishing.site_files import build_site
from judge.view.leaderboard_schema import FILE, LeaderboardFile, NodeFile, PresetFile
from judge.view.presets import presets_of
from sandbox.verdict import Verdict
from submissions.store.local import LocalStore
from tests.world.board_records import SUITE, good_results, refused, save, submission
from tests.world.leaderboard_reader import score_of_file
from tests.world.one_tree import score
from tests.world.random_leaderboard import DOMAINS, random_leaderboard
from tests.world.reader_settings import Settings, with_settings

DOCUMENT = Path(__file__).parents[3] / "docs" / "leaderboard-json.md"
EFFICIENCY = 0.1  # times have two digits; the largest change is that of 1.05 to 1.1 or 1.0
OTHERS = 1e-4


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of four models: two good ones, one with a task that failed, one with a single result."""
    folder = tmp_path_factory.mktemp("file")
    store = LocalStore(folder / "store")
    for name, relative in (("alpha", 0.123456789), ("beta", 0.3)):
        model = submission(name)
        save(store, [model], good_results(model, relative))
    spoilt, single = submission("gamma"), submission("delta")
    kept = [r for r in good_results(spoilt, 0.2) if r.task != "molecules"]
    save(store, [spoilt], [*kept, refused(spoilt, SUITE.tasks[1], Verdict.TIME_LIMIT)])
    save(store, [single], good_results(single, 0.01)[:1])
    build_site(store, SUITE, folder / "site")
    return folder / "site" / FILE


def test_scores_of_the_file_follow_from_its_trees(published: Path) -> None:
    file = LeaderboardFile.model_validate_json(published.read_bytes())
    n_scores = 0
    for scheme in file.schemes:
        for in_file in scheme.scores:
            for model, values in in_file.models.items():
                tree = score_of_file(in_file, model)
                assert tree is not None
                computed = float(score(tree))
                if values.score is None or values.score == in_file.nothing:
                    no_score = computed != computed or computed in (in_file.nothing, float("inf"))
                    assert no_score, (scheme.key, in_file.key, model)
                    continue
                n_scores += 1
                allowed = EFFICIENCY if in_file.key == "efficiency" else OTHERS
                assert computed == pytest.approx(values.score, rel=allowed), (scheme.key, in_file.key, model)
    assert n_scores > 20


def example() -> ModuleType:
    """The example of the document, as a module."""
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    module = ModuleType("example")
    exec(compile(code, str(DOCUMENT), "exec"), module.__dict__)
    return module


def test_the_documented_example_yields_the_scores(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It prints the force-field errors of the file in its folder, and computes those of a file with random answers."""
    monkeypatch.chdir(published.parent)
    module = example()
    printed = dict(line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    file = LeaderboardFile.model_validate_json(published.read_bytes())
    stored = {model.id: file.schemes[0].scores[0].models[model.id].score for model in file.models}
    assert {name: float(value) for name, value in printed.items()} == pytest.approx(stored, rel=OTHERS)

    world = random_leaderboard(8)
    for scheme in world.schemes:
        if (scheme.key, scheme.variant) == ("lambench", "corrected"):
            in_file = scheme.scores[0]
            data = in_file.model_dump(mode="json", exclude_defaults=True)
            for model, values in data["models"].items():
                tree = score_of_file(in_file, model)
                assert tree is not None
                computed = module.value(data["trees"][values["tree"]], iter(values["leaves"]))
                assert computed == pytest.approx(float(score(tree)), rel=1e-12)


def test_presets_name_existing_nodes_and_change_scores() -> None:
    file = random_leaderboard(10)
    presets = presets_of(file.schemes)
    assert {(p.scheme, p.name) for p in presets} == {
        *(("lambench", f"{domain} alone") for domain in DOMAINS),
        ("lambench", "Energies alone"),
        ("lambench", "Forces alone"),
        ("lambench", "Virials alone"),
        ("lambench", "Tasks alike"),
        *(("ml-peg", f"{domain} alone") for domain in DOMAINS),
    }  # MLIPAudit's benchmarks here are of one category
    for preset in presets:
        scheme = next(s for s in file.schemes if s.key == preset.scheme and s.variant == "corrected")
        moved = 0
        for in_file in scheme.scores:
            weights = {path[1:]: factor for path, factor in preset.weights if path[0] == in_file.key}
            for model in in_file.models:
                tree = score_of_file(in_file, model)
                assert tree is not None
                names = {path[1:] for path, _ in tree.walk()}
                assert weights.keys() <= names
                moved += float(score(with_settings(tree, Settings(weights)))) != float(score(tree))
        assert moved > 5, preset.name


def test_tasks_alike_have_one_weight() -> None:
    file = random_leaderboard(10)
    preset = next(p for p in presets_of(file.schemes) if p.name == "Tasks alike")
    tree = score_of_file(file.schemes[0].scores[1], "model-00")
    assert tree is not None
    before = [len({task.weight for task in domain.parts}) for domain in tree.parts]
    under = with_settings(tree, Settings({path[1:]: factor for path, factor in preset.weights}))
    assert max(before) > 1
    assert [len({task.weight for task in domain.parts}) for domain in under.parts] == [1] * len(before)
    assert all(factor == int(factor) for _, factor in preset.weights)


def test_a_suite_of_equal_parts_has_no_presets() -> None:
    """The suite has one domain, only energies, and a category whose weight ML-PEG's presets do not change."""
    file = random_leaderboard(3)
    leaf = file.schemes[0].scores[0].trees[0].parts[0].parts[0]
    trees = {
        "lambench": NodeFile(name="Force-field error", parts=(NodeFile(name="Physicality", parts=(leaf,)),)),
        "ml-peg": NodeFile(name="overall", parts=(NodeFile(name="Physicality", parts=(leaf,)),)),
    }
    schemes = [
        scheme.model_copy(update={"scores": (scheme.scores[0].model_copy(update={"trees": (trees[scheme.key],)}),)})
        for scheme in file.schemes
        if scheme.key in trees
    ]
    assert presets_of(schemes) == ()


def test_presets_of_ml_peg_are_offered_if_the_suite_has_their_categories() -> None:
    file = random_leaderboard(3)
    scheme = next(s for s in file.schemes if s.key == "ml-peg")
    names = ("Bulk Crystals", "Surfaces", "Conformers")
    tree = scheme.scores[0].trees[0]
    parts = tuple(part.model_copy(update={"name": name}) for part, name in zip(tree.parts, names, strict=True))
    renamed = scheme.scores[0].model_copy(update={"trees": (tree.model_copy(update={"parts": parts}),)})
    presets = {p.name: p for p in presets_of([scheme.model_copy(update={"scores": (renamed,)})])}
    assert _factors(presets["ML-PEG: Materials"])["Conformers"] == 0.0
    assert _factors(presets["ML-PEG: Non-covalent"]) == {"Bulk Crystals": 0.0, "Surfaces": 0.0}
    assert "ML-PEG: Reactivity" not in presets  # the suite has none of its categories


def _factors(preset: PresetFile) -> dict[str, float]:
    return {path[-1]: factor for path, factor in preset.weights}
