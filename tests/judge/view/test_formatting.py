"""Numbers, ranks, shares and evidence as a reader sees them."""

from __future__ import annotations

import math

import pytest

from judge.view.formatting import evidence_words, is_web_address, number, percent, rank_span, signed
from judge.view.score_display import published_words
from scoring import RawMetric, load_release
from scoring.intervals import Interval


def test_links_of_authors_are_web_addresses() -> None:
    assert is_web_address("https://example.org/paper?x=1")
    for bad in ("javascript:alert(1)", "https://", "data:text/html,x", "https://a b", "//example.org", "http://[", ""):
        assert not is_web_address(bad)


def test_evidence_in_words() -> None:
    raw = RawMetric("crystals", "energy_rmse_per_atom", 0.0407, "eV/atom", (("baseline", 0.01),), 55, 11, 0.0263)
    assert evidence_words(raw) == (
        "Energy RMSE 40.7 meV/atom; baseline 10.0 meV/atom; 11 of 55 items failed, 26.3 meV/atom without them"
    )
    between = Interval(0.0351, 0.0482)
    assert evidence_words(raw, "energy_rmse_per_atom", between).startswith("40.7 meV/atom (35.1\u00a0–\u00a048.2); ")
    item = (("threshold", 1.0), ("threshold unit", "kcal/mol"), ("direction", "smaller is better"))
    assert evidence_words(RawMetric("s22", "mae", 0.35, "score", item, 3), "mae") == (
        "0.350; threshold 1.00 kcal/mol; direction smaller is better; over 3 items"
    )
    assert evidence_words(RawMetric("run", "slope", math.inf, "eV/atom/ps"), "slope") == "not finite"
    assert evidence_words(RawMetric("run", "slope", None, "eV/atom/ps")) == ""


@pytest.mark.parametrize(
    ("value", "text"), [(0.02, "+0.020"), (-0.02, "−0.020"), (0.0, "same"), (-0.0004, "same"), (math.inf, "+∞")]
)
def test_differences(value: float, text: str) -> None:
    assert signed(value) == text


def test_ranks_and_shares() -> None:
    assert (rank_span(1.0, 1.0), rank_span(1.0, 12.0)) == ("1", "1–12")
    assert (percent(0.45), percent(1 / 22), percent(1.0)) == ("45\u00a0%", "4.5\u00a0%", "100\u00a0%")


def test_differences_of_a_release_in_words() -> None:
    """Facts of the release, in words: another has another cap, another way with what is missing."""
    words = {name: published_words(load_release(name)) for name in ("lambench-0.3.1", "lambench-2025-five")}
    assert "An error beyond the trivial model’s counts as it is" not in words["lambench-0.3.1"]
    assert "An error beyond the trivial model’s counts as it is" in words["lambench-2025-five"]
    assert "5.0\u00a0×\u00a010⁻⁴ eV/atom per 10.18 ps" in words["lambench-0.3.1"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0.0, "0"),
        (0.0213, "0.0213"),
        (-1.5, "−1.50"),
        (4.9e-5, "4.90\u00a0×\u00a010⁻⁵"),
        (1234.5, "1\u202f230"),
        (999.96, "1\u202f000"),
        (float("inf"), "∞"),
    ],
)
def test_numbers(value: float | None, text: str) -> None:
    assert number(value) == text
