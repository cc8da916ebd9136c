"""Facts of LAMBench's releases that are refused: a corrected one by which failing pays, and rules without a sense."""

from __future__ import annotations

from importlib import resources

import pytest

from scoring.errors import ScoringError
from scoring.lambench.release import parse_release

TEXT = (resources.files("scoring.releases") / "corrected.toml").read_text(encoding="utf-8")


def fault(old: str, new: str, *more: tuple[str, str]) -> str:
    text = TEXT
    for before, after in ((old, new), *more):
        assert before in text
        text = text.replace(before, after, 1)
    with pytest.raises(ScoringError) as error:
        parse_release(text, "test")
    return str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('missing = "worst"', 'missing = "unscored"', "force_field.missing"),
        ('cap = 1.0\nmissing = "worst"', 'cap = 1.0\nmissing = "skipped"', "property_error.missing"),
        ('missing_domain = "worst"', 'missing_domain = "skip_for_that_model"', "property_error.missing_domain"),
        ("reference_us_per_atom = 100.0", 'reference_us_per_atom = 100.0\nmissing = "unscored"', "efficiency.missing"),
        ("clipped = true", "clipped = false", "instability.clipped"),
    ],
)
def test_by_a_corrected_release_failing_never_pays(old: str, new: str, field: str) -> None:
    assert f"corrected, but {field} would let a model gain by failing" in fault(old, new)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("energy = 0.5\nforce = 0.5", "energy = 0.0\nforce = 0.0", "weights_without_virial: the weights sum to zero"),
        ("virial = 0.1", "virial = 0.1\ndipole = 1.0", "weights_with_virial: weights for ['dipole'], which columns"),
        ("floor = 1e-3", "floor = 1.5", "cap 1.0 is below floor 1.5"),
        ('missing = "worst"', 'missing = "skipped"', "missing must be 'worst' or 'unscored'"),
        ("cap = 1.0 ", "", "missing is 'worst', which needs a cap: without one nothing is worst"),
    ],
)
def test_rules_that_have_no_sense(old: str, new: str, says: str) -> None:
    assert says in fault(old, new)


def test_the_packaged_one_is_lawful_and_says_how_errors_are_normalised() -> None:
    release = parse_release(TEXT, "test")
    assert release.force_field.in_words == "error / baseline, at least 0.001, at most 1"
    assert release.force_field.absent == 1.0
    assert release.property_error.in_words == "error / baseline, at most 1"
