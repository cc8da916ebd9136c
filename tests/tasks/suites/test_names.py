"""Names in any case, and the closest name."""

from __future__ import annotations

import pytest

from tasks.suites.names import did_you_mean, known_name


@pytest.mark.parametrize(
    ("wanted", "known", "found"),
    [
        ("s22", ["s22", "S22"], "s22"),
        ("S22", ["s22", "dbh24"], "s22"),
        ("S22", ["s22", "s22 ", "dbh24"], "s22"),
        ("SS", ["ss", "Ss"], None),  # two differ in case alone
        ("s2", ["s22"], None),
    ],
)
def test_a_name_is_found_in_any_case_if_it_is_the_only_one(wanted: str, known: list[str], found: str | None) -> None:
    assert known_name(wanted, known) == found


def test_the_closest_name_is_named() -> None:
    assert did_you_mean("Quickstrat", ["gscdb", "quickstart"]) == "; did you mean quickstart?"
    assert did_you_mean("zzz", ["gscdb", "quickstart"]) == ""
