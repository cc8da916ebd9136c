"""Names and links that are not what a reader sees."""

from __future__ import annotations

import unicodedata

import pytest

from submissions.card.file import CardError, parse_card
from submissions.card.look_alikes import _LOOK_ALIKES, _WELL_KNOWN, as_read, deceptive, is_link, unreadable


def test_the_table_has_each_character_once_and_none_that_nfkc_changes() -> None:
    glyphs = "".join(_LOOK_ALIKES.values())
    assert len(glyphs) == len(set(glyphs)) == 380
    assert unicodedata.normalize("NFKC", glyphs) == glyphs
    assert all(plain.isascii() and plain.isalnum() and len(plain) == 1 for plain in _LOOK_ALIKES)
    assert set(glyphs) >= _WELL_KNOWN


@pytest.mark.parametrize(
    "name",
    [
        "EMT", "MACE-MP-0", "MatterSim v1.0 (5M)", "MACE-α", "ΔE-GNN", "E³NN", "CO₂-Net", "Ψ", "größe", "Łódź", "Việt",
        "e\u0301", "МОДЕЛЬ", "深势 DP", "분자 net", "नमस्ते", "שָׁלוֹם", "Kırmızı", "Ångström", "Ω-Net", "O(3)", "7",
    ],
)  # fmt: skip
def test_honest_names_are_taken(name: str) -> None:
    assert unreadable(name) == deceptive(name) == ""
    assert parse_card(f'name = "{name}"', "card").name == name


@pytest.mark.parametrize(
    ("name", "clue"),
    [
        ("ЕМТ", "'Е' (U+0415), which looks like 'E'"),
        ("ЕMT", "mixes letters of Cyrillic and Latin"),
        ("ΜACE", "'Μ' (U+039C), which looks like 'M'"),
        ("ꓰꓟꓔ", "looks like 'E'"),
        ("EMТ-Net", "mixes"),
        ("MАСE-α", "mixes"),
        ("gооd", "mixes"),
        ("ＥＭＴ", "write 'E'"),
        ("𝐄𝐌𝐓", "write 'E'"),
        ("MACE-٠", "write '0'"),
        ("EMT\u3164", "invisible character (U+3164)"),
        ("E\u034fMT", "invisible character (U+034F)"),
        ("EMT\ufe0f", "invisible character (U+FE0F)"),
        ("EMT\u2800", "invisible character (U+2800)"),
        ("EMT\U000e0101", "invisible character (U+E0101)"),
        ("EMT\u00ad", "cannot be printed"),
        ("E" + "\u0336" * 5 + "MT", "more than 4 marks"),
        ("---", "blank"),
        ("   ", "blank"),
    ],
)
def test_a_name_that_looks_like_another_or_hides_something_is_refused(name: str, clue: str) -> None:
    with pytest.raises(CardError) as raised:
        parse_card(f'name = "{name}"', "card")
    assert clue in str(raised.value)
    assert "name: " in str(raised.value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("EMT", "ЕМТ"), ("EMT", "emt"), ("EMT", "E M T"), ("EMT", "ÉMT"), ("EMT", "𝐄𝐌𝐓"), ("EMT", "EMT."),
        ("MACE-MP-0", "MACE MP O"), ("GRACE-1L", "GRACE-IL"), ("charm", "charrn"), ("α-Net", "a-Net"),
    ],
)  # fmt: skip
def test_names_that_look_alike_are_read_alike(one: str, other: str) -> None:
    assert as_read(one) == as_read(other)


def test_other_names_are_read_as_others() -> None:
    names = [
        "EMT",
        "MACE-MP-0",
        "MACE-MP-0b",
        "MACE-OFF",
        "CHGNet",
        "SevenNet-0",
        "Δ-Net",
        "深势",
        "GRACE-1L",
        "GRACE-2L",
    ]
    assert len({as_read(name) for name in names}) == len(names)
    assert as_read("---") == "---"


@pytest.mark.parametrize("field", ["paper", "code", "license", "training.0.url"])
@pytest.mark.parametrize(
    "address",
    [
        "https://github.com@evil.org/", "https://github.com:443@evil.org/", "https://github.com\\\\@evil.org/",
        "https://gіthub.com/x", "https://evil.org\\\\.github.com/", "https:///evil.org", "https://", "https://a b/",
        "https://[::1]/", "https://user:word@github.com/x", "https://github.com:x/",
    ],
)  # fmt: skip
def test_a_link_to_another_host_than_a_reader_sees_is_refused(field: str, address: str) -> None:
    line = f'[[training]]\nname = "x"\nurl = "{address}"' if field.startswith("training") else f'{field} = "{address}"'
    with pytest.raises(CardError, match="no user name before it"):
        parse_card(f'name = "m"\n{line}', "card")


def test_honest_links_are_taken() -> None:
    for address in (
        "https://doi.org/10.1103/PhysRevB.54.11169",
        "https://github.com/a/b@v1?x=1#y",
        "http://example.org:8080",
        "https://medium.com/@author/post",
    ):
        assert is_link(address)
        parse_card(f'name = "m"\npaper = "{address}"\nlicense = "{address}"', "card")
    parse_card('name = "m"\nlicense = "MIT, see user@example.org"', "card")
