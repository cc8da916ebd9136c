"""Invalid cards: the author's command and intake report the same line, with the field."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from judge.intake.request_check import check_card
from sandbox.verdict import SubmissionFault
from submissions.card.file import CardError, card_from_reference, parse_card, read_card
from submissions.records import ModelCard


@pytest.mark.parametrize(
    ("content", "clue"),
    [
        ("", "name: is missing"),
        ('nmae = "x"', "name: is missing; nmae: there is no such field"),
        ('name = "x"\nspeed = 3', "speed: there is no such field"),
        ('name = "x"\npaper = "javascript:alert(1)"', "https://"),
        ('name = "x"\n[label_sets.Polymers]\nname = "PBE"', "label_sets.Polymers"),
        ("name = ", "TOML"),
    ],
)
def test_broken_cards_are_refused_with_file_and_field(tmp_path: Path, content: str, clue: str) -> None:
    path = tmp_path / "lambench.toml"
    path.write_text(content)
    with pytest.raises(CardError, match=r"lambench\.toml") as caught:
        read_card(path)
    assert clue in str(caught.value)


BREACHES = [
    ('elements = ["Xx"]', "elements: 'Xx' is no chemical symbol"),
    ('elements = ["H", "H"]', "elements: an element is named twice"),
    ('authors = ["A\\tB"]', "authors.0: has characters that cannot be printed"),
    ('authors = [" "]', "authors.0: must be a name"),
    ('version = "\\u001b[2J"', "version: has characters"),
    ('description = "a\\rb"', "description: has characters"),
    ('[[training]]\nname = "\\u202eab"', "training.0: has characters"),
    ("dispersion = false\n[label_sets.Molecules]\nname = 'D3'\ndispersion = true", "label_sets.Molecules.dispersion"),
]


@pytest.mark.parametrize(("text", "breach"), BREACHES)
def test_the_authors_command_refuses_the_same_cards_as_intake(text: str, breach: str) -> None:
    text = f'name = "m"\n{text}\n'
    with pytest.raises(CardError, match=f"^card: {re.escape(breach)}"):
        parse_card(text, "card")
    with pytest.raises(SubmissionFault, match=re.escape(f"card.{breach}")):
        check_card(ModelCard.model_validate(tomllib.loads(text)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = " + "[" * 100_000, "nested too deep"),
        ('name = "m"\n"\\u001b[2J" = 1', "\\x1b[2J: there is no such field"),
        ("a = " + "9" * 5000, "cannot be read as TOML"),
        ("\x1b[2J", "cannot be read as TOML"),
    ],
)
def test_a_hostile_card_is_one_printable_line(text: str, words: str) -> None:
    with pytest.raises(CardError) as raised:
        parse_card(text, "card")
    assert words in str(raised.value)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 700


def test_a_name_from_a_folder_that_no_model_may_have_is_refused_and_a_long_one_cut() -> None:
    assert card_from_reference("127.0.0.1:5000/group/emt:1").name == "emt"
    assert card_from_reference("x" * 250).name == "x" * 200
    with pytest.raises(CardError, match="name: has characters that cannot be printed") as raised:
        card_from_reference("folder/a\tb")
    assert str(raised.value).isprintable()
