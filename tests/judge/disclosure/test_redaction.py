"""What is public of a stored record: nothing that a submission could speak through, and nothing of one structure."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from judge.disclosure.public_leaderboard import hidden_runs, public_board
from judge.disclosure.redaction import (
    LEAST_ITEMS,
    is_public,
    public_parts,
    public_peaks,
    public_result,
    public_score,
    public_sentence,
    public_sets,
    public_submission,
    rounded,
    tells_of_single_labels,
)
from judge.pages.site import render
from judge.publishing.publish import published_scores
from judge.ranking.leaderboard import Leaderboard
from judge.ranking.load import read_board
from judge.records.items_file import items_path, pack_items
from judge.records.records import Origin, Peaks, Result, Signature
from judge.view.sources import Sources
from sandbox.evidence import exit_words
from sandbox.limits import MIB
from sandbox.verdict import Verdict
from submissions.records import ImageRecord
from submissions.store.local import LocalStore
from tasks.datasets.card import Card, LabelSet
from tasks.metrics.measurement import Items
from tasks.metrics.metric import Metric, MetricPart
from tasks.structures.predictions import Cause
from tests.world.board_records import SUITE, error, good_results, result, save, submission
from tests.world.small_data import save_frames

TODAY = date(2026, 11, 21)
CRYSTALS, _, _, DRIFT, SPEED = SUITE.tasks
ORIGIN = Origin(
    host="secret-host",
    driver="docker",
    engine="Docker 27.1 (runc 1.1.13, Linux 6.1.0, cgroup v2)",
    gpu="GPU-0000-1111",
    gpu_driver="550.54",
    hardware="x86_64, 2 cores",
    device="cuda",
    selftest="selftests/secret-host/1.json",
)


def card(since: str) -> Card:
    return Card(name="a", version="1", title="A", domain="Molecules", periodic=False, public_since=since)


@pytest.mark.parametrize("since", ["1989", "2026", "2026-11", "2026-11-21", "2014-05"])
def test_a_data_set_is_public_from_the_date_on_its_card(since: str) -> None:
    assert is_public(card(since), TODAY)


@pytest.mark.parametrize("since", ["", "2027", "2026-12", "2026-11-22"])
def test_without_a_date_or_before_it_a_data_set_is_hidden(since: str) -> None:
    assert not is_public(card(since), TODAY)
    assert not is_public(None, TODAY)
    assert card(since).hidden == (since == "")  # a date to come is for pages alone


@pytest.mark.parametrize(
    "since", ["soon", "no", "2014 (energies)", "20140501", "2026-13", "2026-00", "2026-1", "2026\n"]
)
def test_what_is_no_date_is_refused(since: str) -> None:
    with pytest.raises(ValidationError, match=r"public_since\n.*must be a date"):
        card(since)


@pytest.mark.parametrize(
    ("n_items", "since", "labelled", "telling"),
    [
        (LEAST_ITEMS - 1, "", True, True),
        (1, "2027", True, True),
        (LEAST_ITEMS, "", True, False),
        (1, "2026", True, False),
        (1, "", False, False),  # dynamics and timings have no label to be told
        (0, "", True, False),
    ],
)
def test_of_a_hidden_set_few_items_tell_its_labels(n_items: int, since: str, labelled: bool, telling: bool) -> None:
    sets = {"PBE": LabelSet(theory="PBE", dispersion=False)} if labelled else {}
    of = card(since).model_copy(update={"label_sets": sets})
    many, few = error(0.1), replace(error(0.1), n_items=n_items)
    shown = result(submission("a"), SUITE.tasks[0], {"energy": many, "forces": few})
    assert tells_of_single_labels(shown, of, TODAY) == telling
    assert tells_of_single_labels(shown, None, TODAY) == (0 < n_items < LEAST_ITEMS)
    probes = shown.model_copy(update={"metrics": {"energy": many, "probe_rotation_max": few}})
    dynamics = shown.model_copy(update={"kind": "nve"})
    assert not any(tells_of_single_labels(one, None, TODAY) for one in (probes, dynamics))


def dated(path: Path, since: str) -> str:
    return re.sub('public_since = ".*"', f'public_since = "{since}"', path.read_text())


def test_a_data_set_without_a_card_is_hidden(tmp_path: Path) -> None:
    save_frames(tmp_path, "Cu", "copper")
    path = tmp_path / "copper@1" / "card.toml"
    path.write_text(dated(path, ""))
    assert public_sets(tmp_path, ["copper@1", "nickel@1"], TODAY) == frozenset()
    path.write_text(dated(path, "2014"))
    assert public_sets(tmp_path, ["copper@1", "nickel@1"], TODAY) == {"copper@1"}
    path.write_text("broken")
    assert public_sets(tmp_path, ["copper@1"], TODAY) == frozenset()


@given(st.floats(1e-3, 1e9), st.floats(1e-3, 1e7) | st.none(), st.integers(0, 2**42) | st.none())
def test_peaks_have_two_digits(wall: float, startup: float | None, memory: int | None) -> None:
    shown = public_peaks(Peaks(wall_s=wall, startup_s=startup, memory_bytes=memory))
    assert shown is not None
    assert shown.wall_s == rounded(wall) == pytest.approx(wall, rel=0.05)
    for said in (shown.startup_s, None if shown.memory_bytes is None else shown.memory_bytes / MIB):
        assert said is None or float(f"{said:.1e}") == said
    if memory is not None and memory > 100 * MIB:
        assert shown.memory_bytes == pytest.approx(memory, rel=0.06)
    assert public_peaks(shown) == shown


def test_an_exit_status_is_no_word_of_ours() -> None:
    """A submission chooses it after it saw a structure: a byte a task."""
    for verdict in (Verdict.CRASHED, Verdict.STARTUP_FAILED):
        said = {
            public_sentence(verdict, f"The container ended ({exit_words(code)}): see its log.", hidden=True)
            for code in (*range(256), None)
        }
        assert len(said) < 12  # signals by name
        assert not any(character.isdigit() for sentence in said for character in sentence)
        assert not any("see its log" in sentence for sentence in said)
    assert "exit status 3" in public_sentence(Verdict.CRASHED, "It ended (exit status 3).", hidden=False)


@pytest.mark.parametrize("verdict", [Verdict.IMAGE_INVALID, Verdict.POLICY_VIOLATION])
def test_what_quotes_the_image_is_said_in_other_words(verdict: Verdict) -> None:
    quoted = "The label org.lambench.calculator must be module:factory, not 'LEAKWORD'."
    assert "LEAKWORD" not in public_sentence(verdict, quoted, hidden=True)
    assert public_sentence(verdict, quoted, hidden=False) == quoted


def a_result() -> Result:
    of = submission("alpha")
    whole = result(of, CRYSTALS, {"force_rmse": error(0.5)}, sentence="Completed.")
    parts = [
        MetricPart(by="group", name=f"{n} items", metric="mae", value=0.1, unit="eV", n_items=n) for n in (1, 4, 5)
    ]
    provenance = whole.provenance.model_copy(update={"origin": ORIGIN, "seeds": {"order_seed": 7}})
    signed = Signature(key="0" * 64, value="0" * 128)
    return whole.model_copy(update={"parts": tuple(parts), "provenance": provenance, "signature": signed})


@pytest.mark.parametrize("hidden", [True, False])
def test_nothing_tells_of_the_machine(hidden: bool) -> None:
    shown = public_result(a_result(), hidden=hidden)
    text = shown.model_dump_json()
    for secret in ("secret-host", "Docker 27", "GPU-0000", "550.54", "selftests/", "0" * 64):
        assert secret not in text
    assert shown.provenance.origin.hardware == ORIGIN.hardware
    assert shown.metrics == a_result().metrics
    assert shown.verdict is Verdict.OK
    assert Result.read(text.encode()) == shown


def test_small_parts_and_seeds_of_hidden_sets_are_left_out() -> None:
    hidden, known = (public_result(a_result(), hidden=which) for which in (True, False))
    assert [part.n_items for part in hidden.parts] == [LEAST_ITEMS]
    assert [part.n_items for part in known.parts] == [1, 4, 5]
    assert (hidden.provenance.seeds, known.provenance.seeds) == ({}, {"order_seed": 7})


def parts_of(*sizes: int, metric: str = "mae") -> list[MetricPart]:
    return [
        MetricPart(by="group", name=f"{i}", metric=metric, value=0.1, unit="eV", n_items=n) for i, n in enumerate(sizes)
    ]


@pytest.mark.parametrize(
    ("sizes", "shown"),
    [
        ((9, 7, 4), ()),  # the whole without the others is the third
        ((9, 7, 2, 2), ()),  # the third and fourth together
        ((9, 7, 3, 2), (9, 7)),
        ((9, 7), (9, 7)),
        ((9, 7, 0), (9, 7)),  # of nothing nothing can be told
        ((46, 45, 50), (45, 50)),  # the whole of 50 without 46 are four; elements overlap
    ],
)
def test_a_small_part_is_not_told_from_the_others_either(sizes: tuple[int, ...], shown: tuple[int, ...]) -> None:
    parts = [*parts_of(*sizes), *parts_of(9, 7, metric="rmse")]
    whole = {name: Metric(value=0.1, unit="eV", n_items=50) for name in ("mae", "rmse")}
    found = public_parts(parts, whole, hidden=True)
    assert tuple(part.n_items for part in found if part.metric == "mae") == shown
    assert tuple(part.n_items for part in found if part.metric == "rmse") == (9, 7)
    assert public_parts(parts, whole, hidden=False) == tuple(parts)


def test_no_number_has_more_digits_than_it_may() -> None:
    third = 1 / 3
    metric = Metric(value=third, charged=third, baseline=third, failure_cost=third, unit="eV", n_items=50)
    part = MetricPart(by="group", name="one", metric="mae", value=third, unit="eV", n_items=9)
    whole = a_result().model_copy(update={"kind": "energy_differences", "metrics": {"mae": metric}, "parts": (part,)})
    for hidden, digits in ((True, 0.33), (False, 0.333333)):
        shown = public_result(whole, hidden=hidden)
        of = shown.metrics["mae"]
        assert (of.value, of.charged, of.baseline, of.failure_cost) == (0.333333,) * 4
        assert [part.value for part in shown.parts] == [digits]


def test_what_a_guess_of_hidden_structures_could_be_held_against_is_left_out() -> None:
    whole = a_result().provenance
    hidden, known = (public_result(a_result(), hidden=which).provenance for which in (True, False))
    assert whole.frames_sha256
    assert whole.labels_sha256
    assert (hidden.frames_sha256, hidden.labels_sha256) == ("", "")
    assert (known.frames_sha256, known.labels_sha256) == (whole.frames_sha256, whole.labels_sha256)
    assert hidden.observation == whole.observation


def test_times_have_two_digits() -> None:
    metrics = {
        "time_mean": Metric(value=123.456, charged=128.9, unit="µs/atom", n_items=9),
        "time_spread": Metric(value=0.012345, unit="", n_items=9),
        "atoms_mean": Metric(value=1234.5, unit="atoms", n_items=9),
        "n_rechecked": Metric(value=123.0, unit="", n_items=9),
        "wire_cost": Metric(value=None, unit="µs", n_items=0),
    }
    shown = public_result(result(submission("alpha"), SPEED, metrics), hidden=False).metrics
    assert (shown["time_mean"].value, shown["time_mean"].charged) == (120.0, 130.0)
    assert shown["time_spread"].value == 0.012
    assert (shown["atoms_mean"].value, shown["n_rechecked"].value, shown["wire_cost"].value) == (1234.5, 123.0, None)
    other = public_result(result(submission("alpha"), CRYSTALS, metrics), hidden=False)
    assert other.metrics["time_mean"].value == 123.456
    assert (public_score("efficiency", 1.2345), public_score("force_field", 0.12345678)) == (1.2, 0.123457)


def test_a_folder_of_the_process_driver_is_known_by_its_name_alone() -> None:
    image = ImageRecord(reference="/home/me/emt?python=/usr/bin/python3", id="process:ab", driver="process")
    of = submission("alpha").model_copy(update={"image": image})
    assert public_submission(of).image.reference == "emt"
    assert public_submission(submission("alpha")) == submission("alpha")


NAMES = ("secret-run-a", "secret-run-b")


def board_of(store: LocalStore, **slopes: tuple[float, float]) -> Leaderboard:
    """Models by name with the drifts [eV/atom/ps] of two runs; NaN: it exploded."""
    for k, (name, of_runs) in enumerate(slopes.items(), 1):
        of = submission(name)
        results = good_results(of, 0.2 * k)
        save(store, [of], results)
        cause = np.where(np.isnan(of_runs), Cause.EXPLODED, 0).astype(np.int8)
        runs = Items(NAMES, ("", ""), NAMES, cause, {"slope": np.array(of_runs)})
        drift = next(one for one in results if one.task == DRIFT.name)
        store.put(items_path(of.id, drift.task, drift.result_key), pack_items(runs))
    problems: list[str] = []
    return read_board(store, SUITE, problems.append)


@pytest.fixture
def board(tmp_path: Path) -> Leaderboard:
    return board_of(LocalStore(tmp_path), alpha=(1e-3, 1e-5), beta=(1e-7, 1e-5))


def leaves(board: Leaderboard) -> list[str]:
    return [term.name for row in board.rows for _, term in row.scores["instability"].walk() if not term.parts]


def test_runs_of_hidden_sets_are_not_shown_one_by_one(board: Leaderboard) -> None:
    """A run is of one structure: neither its name nor its drift is for others, nor its place in a ranking."""
    assert hidden_runs(board.rows, SUITE.tasks) == {f"drift: {name}": "drift" for name in NAMES}
    assert hidden_runs(board.rows, ()) == {}
    assert "secret-run" in repr(board)
    shown = public_board(board, ())
    assert "secret-run" not in repr(shown)
    assert leaves(shown) == ["drift"] * len(board.rows)
    for row, cut in zip(board.rows, shown.rows, strict=True):
        for key in (key for key in row.scores if key.startswith("instability")):
            whole, (task,) = row.scores[key], cut.scores[key].parts
            assert task.value == pytest.approx(whole.value, rel=1e-5)  # of all runs together: the score itself
            assert (task.share, task.raw.value, task.total) == (pytest.approx(1.0), task.value, 2)
    intervals = shown.firmness.intervals["instability"].values()
    assert {path for of in intervals for path in of.nodes} == {("Instability",)}
    assert not any(of.metrics for of in intervals)
    assert not any(of.without or of.decisive for of in shown.firmness.without["instability"].values())
    assert public_board(shown, ()) == shown
    assert (
        public_board(board, [DRIFT.dataset]).rows[0].scores["instability"].parts
        != shown.rows[0].scores["instability"].parts
    )
    assert "secret-run" in repr(public_board(board, [DRIFT.dataset]))


def test_a_failed_run_counts_among_those_of_its_task(tmp_path: Path) -> None:
    board = board_of(LocalStore(tmp_path), alpha=(np.nan, 1e-5), beta=(1e-3, 1e-5))
    for row, cut in zip(board.rows, public_board(board, ()).rows, strict=True):
        (task,) = cut.scores["instability"].parts
        assert task.value == pytest.approx(row.scores["instability"].value, rel=1e-5)


def test_the_efficiency_and_its_times_have_two_digits(board: Leaderboard) -> None:
    stated = published_scores(board)
    for row in board.rows:
        assert stated[row.submission.id].efficiency == rounded(row.scores["efficiency"].value or 0.0)
    for row, cut in zip(board.rows, public_board(board, ()).rows, strict=True):
        for whole, term in zip(row.scores["efficiency"].walk(), cut.scores["efficiency"].walk(), strict=True):
            assert term[1].value == rounded(whole[1].value or 0.0)
            raw = whole[1].raw
            assert raw is None or term[1].raw.value == rounded(raw.value)
    for of in public_board(board, ()).firmness.intervals["efficiency"].values():
        for interval in (of.score, *of.nodes.values(), *of.metrics.values()):
            assert (interval.low, interval.high) == pytest.approx(
                (rounded(interval.low), rounded(interval.high)), rel=0, abs=0, nan_ok=True
            )


def test_scores_have_no_more_digits_than_sorting_needs(board: Leaderboard) -> None:
    for row, shown in zip(board.rows, public_board(board, [DRIFT.dataset]).rows, strict=True):
        for whole, cut in zip(row.scores["instability"].walk(), shown.scores["instability"].walk(), strict=True):
            value = cut[1].value
            assert value == pytest.approx(whole[1].value, rel=1e-5)
            assert value is None or float(f"{value:.5e}") == value
    assert public_board(board, ()).rows[0].scores != board.rows[0].scores


def test_pages_are_made_of_the_public_view(board: Leaderboard) -> None:
    hidden, known = b"".join(render(board).values()), b"".join(render(board, Sources(public=[DRIFT.dataset])).values())
    assert b"secret-run" not in hidden
    assert "not shown one by one" in hidden.decode()
    assert b"secret-run" in known
    digest = board.rows[0].tasks[0].result.provenance.frames_sha256[:16]
    for hashed in (digest, "<dt>Structures<", "<dt>Labels<"):
        assert hashed.encode() not in hidden
        assert hashed.encode() in known
