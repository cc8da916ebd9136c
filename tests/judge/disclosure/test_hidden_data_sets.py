"""Which data sets are hidden, and which hidden data sets are too small for public metrics."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from pydantic import ValidationError

from judge.disclosure.redaction import is_public, public_sets, tells_of_single_labels
from judge.records.few_items import LEAST_ITEMS
from tasks.datasets.card import Card, LabelSet
from tests.world.board_records import SUITE, error, result, submission
from tests.world.small_data import save_frames

TODAY = date(2026, 11, 21)


def card(since: str) -> Card:
    return Card(name="a", version="1", title="A", domain="Molecules", periodic=False, public_since=since)


@pytest.mark.parametrize("since", ["1989", "2026", "2026-11", "2026-11-21", "2014-05"])
def test_a_data_set_is_public_from_the_date_on_its_card(since: str) -> None:
    assert is_public(card(since), TODAY)


@pytest.mark.parametrize("since", ["", "2027", "2026-12", "2026-11-22"])
def test_without_a_date_or_before_it_a_data_set_is_hidden(since: str) -> None:
    assert not is_public(card(since), TODAY)
    assert not is_public(None, TODAY)
    assert card(since).hidden == (since == "")  # a date in the future is for pages alone


@pytest.mark.parametrize(
    "since", ["soon", "no", "2014 (energies)", "20140501", "2026-13", "2026-00", "2026-1", "2026\n"]
)
def test_a_text_that_is_no_date_is_refused(since: str) -> None:
    with pytest.raises(ValidationError, match=r"public_since\n.*must be a date"):
        card(since)


@pytest.mark.parametrize(
    ("n_items", "since", "labelled", "reveals"),
    [
        (LEAST_ITEMS - 1, "", True, True),
        (1, "2027", True, True),
        (LEAST_ITEMS, "", True, False),
        (1, "2026", True, False),
        (1, "", False, False),  # dynamics and timings have no labels
        (0, "", True, False),
    ],
)
def test_few_items_of_a_hidden_set_reveal_its_labels(n_items: int, since: str, labelled: bool, reveals: bool) -> None:
    sets = {"PBE": LabelSet(theory="PBE", dispersion=False)} if labelled else {}
    labelled_card = card(since).model_copy(update={"label_sets": sets})
    many, few = error(0.1), replace(error(0.1), n_items=n_items)
    shown = result(submission("a"), SUITE.tasks[0], {"energy": many, "forces": few})
    assert tells_of_single_labels(shown, labelled_card, TODAY) == reveals
    assert tells_of_single_labels(shown, None, TODAY) == (0 < n_items < LEAST_ITEMS)
    probes = shown.model_copy(update={"metrics": {"energy": many, "probe_rotation_max": few}})
    dynamics = shown.model_copy(update={"kind": "nve"})
    assert not any(tells_of_single_labels(other, None, TODAY) for other in (probes, dynamics))


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
