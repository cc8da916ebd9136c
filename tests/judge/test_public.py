"""What is public of a stored record: nothing that a submission could speak through, and nothing of one structure."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.board import Leaderboard
from judge.items_file import items_path, pack_items
from judge.pages import render
from judge.public import (
    LEAST_ITEMS,
    is_public,
    public_board,
    public_peaks,
    public_result,
    public_sentence,
    public_sets,
    public_submission,
    rounded,
    run_names,
)
from judge.records import Origin, PartRecord, Peaks, Result, Signature
from judge.stored_board import read_board
from sandbox.evidence import exit_words
from sandbox.limits import MIB
from sandbox.verdict import Verdict
from submissions.records import ImageRecord
from submissions.store import LocalStore
from tasks.card import Card
from tasks.measurement import Items
from tests.judge.board_records import SUITE, error, good_results, result, save, submission
from tests.judge.small_world import save_frames

TODAY = date(2026, 11, 21)
CRYSTALS, _, _, DRIFT, _ = SUITE.tasks
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


@pytest.mark.parametrize("since", ["", "2027", "2026-12", "2026-11-22", "soon", "no", "2014 (energies)", "20140501"])
def test_any_other_is_hidden(since: str) -> None:
    assert not is_public(card(since), TODAY)
    assert not is_public(None, TODAY)


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
        PartRecord(by="group", name=f"{n} items", metric="mae", value=0.1, unit="eV", n_items=n) for n in (1, 4, 5)
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


def test_a_folder_of_the_process_driver_is_known_by_its_name_alone() -> None:
    image = ImageRecord(reference="/home/me/emt?python=/usr/bin/python3", id="process:ab", driver="process")
    of = submission("alpha").model_copy(update={"image": image})
    assert public_submission(of).image.reference == "emt"
    assert public_submission(submission("alpha")) == submission("alpha")


NAMES = ("secret-run-a", "secret-run-b")


@pytest.fixture
def board(tmp_path: Path) -> Leaderboard:
    store = LocalStore(tmp_path)
    for name, relative, slope in (("alpha", 0.2, 1e-3), ("beta", 0.4, 1e-7)):
        of = submission(name)
        results = good_results(of, relative)
        save(store, [of], results)
        runs = Items(NAMES, ("", ""), NAMES, np.zeros(2, np.int8), {"slope": np.array([slope, 1e-5])})
        drift = next(one for one in results if one.task == DRIFT.name)
        store.put(items_path(of.id, drift.task, drift.result_key), pack_items(runs))
    problems: list[str] = []
    return read_board(store, SUITE, problems.append)


def test_runs_of_hidden_sets_are_numbered(board: Leaderboard) -> None:
    names = run_names(board.rows, SUITE.tasks)
    assert names == {f"drift: {name}": f"drift: run no. {i}" for i, name in enumerate(NAMES, 1)}
    assert "secret-run" in repr(board)
    shown = public_board(board, ())
    assert "secret-run" not in repr(shown)
    assert "drift: run no. 2" in repr(shown)
    assert public_board(shown, ()) == shown
    assert "secret-run" in repr(public_board(board, [DRIFT.dataset]))


def test_scores_have_no_more_digits_than_sorting_needs(board: Leaderboard) -> None:
    for row, shown in zip(board.rows, public_board(board, ()).rows, strict=True):
        for whole, cut in zip(row.scores.stability.walk(), shown.scores.stability.walk(), strict=True):
            value = cut[1].value
            assert value == pytest.approx(whole[1].value, rel=1e-5)
            assert value is None or float(f"{value:.5e}") == value
    assert public_board(board, ()).rows[0].scores != board.rows[0].scores


def test_pages_are_made_of_the_public_view(board: Leaderboard) -> None:
    hidden, known = b"".join(render(board).values()), b"".join(render(board, [DRIFT.dataset]).values())
    assert b"secret-run" not in hidden
    assert b"run no. 1" in hidden
    assert b"secret-run" in known


def test_the_intervals_of_numbered_runs_are_still_theirs(board: Leaderboard) -> None:
    """A node's interval is found by the names on the way to it: both were renamed, or neither."""
    names = run_names(board.rows, SUITE.tasks)
    for key, of in board.firmness.intervals["instability"].items():
        shown = public_board(board, ()).firmness.intervals["instability"][key]
        renamed = {tuple(names.get(name, name) for name in path): each for path, each in of.nodes.items()}
        assert repr(shown.nodes) == repr(renamed)
        assert any("run no." in name for path in shown.nodes for name in path)
