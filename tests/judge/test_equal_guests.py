"""A store that commit 5f5a489 judged, under the present guest and with `equal_guests`.

`tests/fixtures/store-5f5a489/README.md` says how it was made. It is never changed.
"""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from judge.config import ConfigError, UsageError, load_settings
from judge.data.testset import read_testset
from judge.evaluation.current_results import current_results
from judge.evaluation.equal_guests import describe_guests, equal_circumstances, units_with_answers, versions_equal_to
from judge.evaluation.plan import Circumstances, Step, TaskUnits, Unit
from judge.evaluation.request import Request, scope_of
from judge.evaluation.work_plan import work_plan_of
from judge.records.attempts import Attempt, History, read_histories
from judge.records.record_cache import open_cache
from judge.records.records import End, Origin
from judge.records.results import read_submissions
from judge.workspace import Workspace
from sandbox.guest_archive import guest_version, training_guest_version
from sandbox.limits import Limits
from sandbox.verdict import Verdict
from submissions.progress import Reporter
from submissions.records import utc_now
from submissions.store.local import LocalStore
from tasks.kinds.registry import KINDS
from tasks.suites.suite import Task, load_suite
from tests.world.world import World

FIXTURE = Path(__file__).parents[1] / "fixtures" / "store-5f5a489"
GUEST_THEN, TRAINING_GUEST_THEN = "56450030b983e49d", "40218916951036ad"
N_UNITS = 6
# Versions that went up since then: labelled_frames fits the energy shift to further sets; equation_of_state asks about
# the model's own minimum, so that models are asked again.
LABELLED_FRAMES_THEN = 5
CURVES_OBSERVED_THEN, CURVES_MEASURED_THEN = 2, 5
N_LABELLED_FRAMES = 2
# Of the scores of a model: how far they may move is estimated in another way since. Scores and ranks are the same.
ESTIMATED = frozenset({"interval", "ranks", "group", "not_resampled"})


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A copy of the fixture, which is also the working directory."""
    root = copied(tmp_path_factory.mktemp("equal"))
    with chdir(root):
        yield World(root)


def copied(folder: Path) -> Path:
    """A copy of the fixture in `folder`."""
    root = folder / "copy"
    shutil.copytree(FIXTURE, root)
    (root / "signing.key").chmod(0o600)
    return root


@pytest.fixture
def equal_guest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMBENCH_EQUAL_GUESTS", json.dumps([[GUEST_THEN, guest_version()]]))


@pytest.fixture
def equal_guest_and_curves(equal_guest: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guest of then is declared equal, and curves are asked about as they were then."""
    monkeypatch.setattr(KINDS["equation_of_state"], "observe_version", CURVES_OBSERVED_THEN)
    monkeypatch.setattr(KINDS["equation_of_state"], "measure_version", CURVES_MEASURED_THEN)


@pytest.fixture
def equal(equal_guest_and_curves: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labelled frames are measured as they were then, too."""
    monkeypatch.setattr(KINDS["labelled_frames"], "measure_version", LABELLED_FRAMES_THEN)


def steps(reporter: Reporter) -> Counter[Step]:
    """What `judge evaluate --all` would do, on a machine of the class of hardware that the fixture was judged on."""
    settings = load_settings()
    scope = scope_of(Workspace(settings), Request(), reporter)
    plan = work_plan_of(settings.data, Request(), scope).plan
    return Counter(planned.step for planned in plan)


@pytest.fixture
def quiet() -> Reporter:
    return Reporter(Console(file=StringIO()))


def test_another_guest_makes_every_unit_stale(world: World, quiet: Reporter) -> None:
    assert guest_version() != GUEST_THEN
    assert steps(quiet) == {Step.OBSERVE: N_UNITS}
    assert current_results(Workspace(load_settings()), load_suite("suite.toml")) == frozenset()


@pytest.mark.usefixtures("equal")
def test_with_an_equal_guest_no_model_is_asked(world: World, quiet: Reporter) -> None:
    assert steps(quiet) == {Step.DONE: N_UNITS}
    current = current_results(Workspace(load_settings()), load_suite("suite.toml"))
    assert current == {key for key in world.store.list("results/") if key.endswith(".json")}
    status, _, err = world.run_here("evaluate", "--all")
    assert (status, err) == (0, "")
    assert content(world.root) == content(FIXTURE)


def content(root: Path) -> dict[str, bytes]:
    store = LocalStore(root / "store")
    return {key: store.get(key) for key in store.list("") if not key.startswith("suites/")}


@pytest.mark.usefixtures("equal")
def test_plan_and_doctor_say_so(world: World) -> None:
    _, forecast = world.run_json_here("plan")
    assert forecast["by_equal_guests"] == {GUEST_THEN: N_UNITS}
    _, out, _ = world.run_here("plan")
    assert f"6 units observed with the equal guest {GUEST_THEN}: not asked again." in out
    assert f"version {guest_version()} (declared equal: {GUEST_THEN})" in doctor_text()


def doctor_text() -> str:
    """What `judge doctor` says of the guest: the whole command takes long."""
    settings = load_settings()
    store = Workspace(settings).store
    return describe_guests(settings, open_cache(settings, store), read_submissions(store))


@pytest.mark.usefixtures("equal")
def test_the_leaderboard_has_the_same_numbers(world: World) -> None:
    status, _, err = world.run_here("site", "build")
    assert (status, err) == (0, "")
    then, now = (json.loads((folder / "leaderboard.json").read_bytes()) for folder in (FIXTURE, world.root / "site"))
    assert list(differences(then["models"], now["models"], "models")) == []
    assert list(differences(then["schemes"], now["schemes"], "schemes")) == []
    scores = [
        values["score"]
        for scheme in now["schemes"]
        for score in scheme["scores"]
        for values in score["models"].values()
    ]
    assert any(score is not None for score in scores)


def differences(then: Any, now: Any, path: str) -> Iterator[str]:
    """Where a number or a word of the earlier leaderboard is another one, or gone; estimates are left out."""
    if isinstance(then, dict) and isinstance(now, dict):
        for name, value in then.items():
            if name in ESTIMATED:
                continue
            yield from differences(value, now.get(name, "no such key"), f"{path}.{name}")
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for index, (one, other) in enumerate(zip(then, now, strict=True)):
            yield from differences(one, other, f"{path}.{index}")
    elif isinstance(then, float) and isinstance(now, float):
        if not math.isclose(then, now, rel_tol=1e-9, abs_tol=1e-12):
            yield f"{path}: {then!r} then, {now!r} now"
    elif type(then) is not type(now) or then != now:
        yield f"{path}: {then!r:.80} then, {now!r:.80} now"


@pytest.mark.usefixtures("equal")
def test_every_number_is_computed_again_from_the_store(world: World) -> None:
    status, verified = world.run_json_here("verify", "--all")
    assert (status, verified["broken"]) == (0, [])
    assert sum(each["n_results"] for each in verified["submissions"]) == N_UNITS


@pytest.mark.usefixtures("equal_guest_and_curves")
def test_what_is_measured_anew_keeps_its_observation(tmp_path: Path, quiet: Reporter) -> None:
    """No model is asked: the attempts and the observations stay, and each unit of labelled frames has a new result."""
    assert KINDS["labelled_frames"].measure_version > LABELLED_FRAMES_THEN
    root = copied(tmp_path)
    before = content(root)
    with chdir(root):
        assert steps(quiet) == {Step.DONE: N_UNITS - N_LABELLED_FRAMES, Step.MEASURE: N_LABELLED_FRAMES}
        status, _, err = World(root).run_here("evaluate", "--all")
        assert (status, err) == (0, "")
        assert steps(quiet) == {Step.DONE: N_UNITS}
    after = content(root)
    assert before.items() <= after.items()
    new = [key for key in after.keys() - before.keys() if key.endswith(".json")]
    assert len(new) == N_LABELLED_FRAMES
    assert all(key.startswith("results/") and "/alloys/" in key for key in after.keys() - before.keys())


@pytest.mark.parametrize(
    ("stated", "complaint"),
    [
        ([["5645", GUEST_THEN]], "'5645' is no version of a guest"),
        ([["Z" * 16, GUEST_THEN]], "is no version of a guest"),
        ([[GUEST_THEN]], "name at least two versions"),
        ([[GUEST_THEN, GUEST_THEN]], "name at least two versions"),
        ([[]], "name at least two versions"),
        (17, "equal_guests"),
    ],
)
def test_a_malformed_version_is_one_line(world: World, stated: object, complaint: str) -> None:
    for arguments in (("plan",), ("doctor",)):
        status, _, err = world.run_here(*arguments, LAMBENCH_EQUAL_GUESTS=json.dumps(stated))
        assert status == 2
        assert "equal_guests" in err
        assert complaint in err
        assert len(err.splitlines()) == 1


def test_an_unknown_version_is_one_line(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    stated = json.dumps([[guest_version(), "0123456789abcdef"]])
    for command in (("plan",), ("evaluate", "--all")):
        status, _, err = world.run_here(*command, LAMBENCH_EQUAL_GUESTS=stated)
        assert status == 2
        assert "equal_guests: 0123456789abcdef is no guest that this judge or an attempt in" in err
        assert GUEST_THEN in err
        assert len(err.splitlines()) == 1
    monkeypatch.setenv("LAMBENCH_EQUAL_GUESTS", stated)
    with pytest.raises(UsageError, match="0123456789abcdef"):
        doctor_text()


def test_a_list_without_the_present_guest_has_no_effect(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMBENCH_EQUAL_GUESTS", json.dumps([[GUEST_THEN, TRAINING_GUEST_THEN]]))
    assert "it has no effect" in doctor_text()
    monkeypatch.delenv("LAMBENCH_EQUAL_GUESTS")
    assert "equal" not in doctor_text()


def test_one_list_may_be_written_without_a_list_around_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMBENCH_EQUAL_GUESTS", json.dumps([GUEST_THEN, guest_version()]))
    assert load_settings().equal_guests == ((GUEST_THEN, guest_version()),)
    monkeypatch.setenv("LAMBENCH_EQUAL_GUESTS", json.dumps(["a", "b"]))
    with pytest.raises(ConfigError, match="no version of a guest"):
        load_settings()


def test_equality_holds_by_way_of_a_third_version() -> None:
    a, b, c, d, e = ("0" * 15 + digit for digit in "abcde")
    assert versions_equal_to(a, [[a, b]]) == (b,)
    assert set(versions_equal_to(a, [[b, c], [a, b], [d, e]])) == {b, c}
    assert versions_equal_to(a, [[b, c]]) == ()


# Units of several trainings: the guest that asked the model and that of the trainings are declared equal apart.


class Trainable:
    """Units of a submission that is trained, under some pair of guests."""

    def __init__(self, world: World) -> None:
        (submission, *_) = read_submissions(world.store)
        self.submission = submission.model_copy(
            update={"image": submission.image.model_copy(update={"trainer": "train:train"})}
        )
        kind = KINDS["sample_efficiency"]
        task = Task(
            name="learning",
            kind=kind.name,
            dataset="part-alloys@1",
            domain="Inorganic Materials",
            model_domain="Inorganic Materials",
            time_limit_s=60.0,
            parameters=kind.parameters(),
        )
        self.parts = (task, kind, read_testset(world.root / "data", task.dataset))

    def unit(self, common: Circumstances) -> Unit:
        return TaskUnits(*self.parts, common).unit(self.submission)


PRESENT = Circumstances("a" * 16, Limits(), "hardware", training_guest="b" * 16)
EQUAL = replace(PRESENT, equal_guests=(("a" * 16, "1" * 16), ("b" * 16, "2" * 16)))


def ended() -> History:
    return History((Attempt(1, end=End(owner="x", ended=utc_now(), verdict=Verdict.OK, origin=Origin())),))


@pytest.mark.parametrize(("guest", "training_guest"), [("1", "2"), ("a", "2"), ("1", "b")])
@pytest.mark.parametrize("joined", [True, False])
def test_trainings_of_an_equal_guest_are_current(world: World, guest: str, training_guest: str, joined: bool) -> None:
    trainable = Trainable(world)
    before = trainable.unit(replace(PRESENT, guest=guest * 16, training_guest=training_guest * 16))
    histories = {(before if joined else before.parts[0]).prefix: ended()}
    unit = trainable.unit(EQUAL)
    assert before.prefix != unit.prefix
    (found,) = units_with_answers([unit], EQUAL, histories)
    assert (found.prefix, found.part_keys) == (before.prefix, before.part_keys)
    assert list(units_with_answers([unit], PRESENT, histories)) == [unit]
    # What the present guest has observed comes first.
    (found,) = units_with_answers([unit], EQUAL, {**histories, unit.prefix: ended()})
    assert found.prefix == unit.prefix


def test_the_present_pair_is_not_among_the_others() -> None:
    assert equal_circumstances(PRESENT) == []
    pairs = [(each.guest[0], each.training_guest[0]) for each in equal_circumstances(EQUAL)]
    assert pairs == [("a", "2"), ("1", "b"), ("1", "2")]
    assert training_guest_version() != TRAINING_GUEST_THEN


def test_the_fixture_is_of_that_guest(world: World) -> None:
    histories = read_histories(world.store, [each.id for each in read_submissions(world.store)])
    origins = [history.end.origin for history in histories.values() if history.end]
    assert {(origin.guest, origin.training_guest) for origin in origins} == {(GUEST_THEN, TRAINING_GUEST_THEN)}
    assert len(origins) == N_UNITS
