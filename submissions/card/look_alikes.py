"""Names and links that are not what a reader sees: invisible characters, letters that look alike, odd addresses.

A card is shown beside those of other authors. Its name must not look like the name of another model: written in letters
of another script, or with characters that take no room. Names that look alike in plain letters, or are equal, are
allowed; the pages mark them if they are of several teams.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from importlib import resources

MAX_MARKS = 4  # on one letter: Unicode Technical Standard 39, section 5.4
# Characters without a picture that Python calls printable: fillers, joiners, variation selectors, a blank Braille cell.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# Scripts that may stand beside Latin letters in one name: UTS 39 calls this "highly restrictive", and adds no Greek.
_BESIDE_LATIN = frozenset({"LATIN", "GREEK", "CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"})
_SUPERSCRIPT = re.compile("<(?:super|sub)>")

# By plain letter or digit, those of any script that look like it: `look_alikes.toml` states the source.
_LOOK_ALIKES: Mapping[str, str] = tomllib.loads(
    resources.files("submissions.card").joinpath("look_alikes.toml").read_text(encoding="utf-8")
)
_ASCII_OF = {glyph: plain for plain, glyphs in _LOOK_ALIKES.items() for glyph in glyphs}
# Small Greek letters, which names of models have (α, ν, ρ), and the dotless i of Turkish. An omicron is always an o.
_WELL_KNOWN = frozenset("αγινρσυı")
# Browsers read a backslash as a slash, drop tabs and line breaks, and send what precedes an @ as a user name.
_LINK = re.compile(r"https?://[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?(?:[/?#][^\s\\]*)?")
_ALIKE_IN_ASCII = str.maketrans("01i", "oll")


def unreadable(text: str) -> str:
    """Why `text` cannot be shown as it is; empty if it can."""
    # Control characters and changes of text direction would be shown on the pages.
    if not text.isprintable():
        return "has characters that cannot be printed"
    if hidden := _INVISIBLE.search(text):
        return f"has an invisible character ({_code(hidden[0])}): remove it"
    n_marks = 0
    for character in unicodedata.normalize("NFC", text):
        n_marks = n_marks + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        if n_marks > MAX_MARKS:
            return f"has more than {MAX_MARKS} marks on one letter: remove them"
    return ""


def deceptive(name: str) -> str:
    """Why the name of a model could be taken for another one; empty if there is no reason."""
    if not any(character.isalnum() for character in name):
        return "must not be blank"
    for character in name:
        if plain := _other_form(character):
            return f"has {character!r} ({_code(character)}): write {plain!r}"
    scripts = frozenset(_scripts(name))
    if len(scripts) > 1 and not scripts <= _BESIDE_LATIN:
        return f"mixes letters of {' and '.join(sorted(script.title() for script in scripts))}: use one alphabet"
    foreign = [c for c in name if c in _ASCII_OF and c not in _WELL_KNOWN]
    if foreign and all(_ASCII_OF.get(c, c).isascii() for c in unicodedata.normalize("NFC", name) if c.isalpha()):
        return f"has {foreign[0]!r} ({_code(foreign[0])}), which looks like {_ASCII_OF[foreign[0]]!r}: write that"
    return ""


def as_read(name: str) -> str:
    """What a reader may take `name` for: the same for names that look alike.

    Case, accents, spaces and punctuation make no difference, nor do letters that look alike in any alphabet, such as O
    and 0, or rn and m.
    """
    plain = (_ASCII_OF.get(character, character) for character in unicodedata.normalize("NFKD", name))
    folded = "".join(plain).casefold().translate(_ALIKE_IN_ASCII).replace("rn", "m")
    return "".join(character for character in folded if character.isalnum()) or name


def is_link(address: str) -> bool:
    """Whether an address of the web leads to the host that a reader sees in it."""
    return bool(_LINK.fullmatch(address))


def _other_form(character: str) -> str:
    """The plain form of a letter or digit that has another form, such as a wide one; empty for any other character."""
    if unicodedata.category(character) == "Nd" and not character.isascii():
        return str(unicodedata.digit(character))
    plain = unicodedata.normalize("NFKC", character)
    compatible = plain != unicodedata.normalize("NFC", character)
    return (
        plain
        if compatible and character.isalnum() and not _SUPERSCRIPT.match(unicodedata.decomposition(character))
        else ""
    )


def _scripts(name: str) -> Iterator[str]:
    """The script of each letter: the first word of its Unicode name."""
    for character in filter(str.isalpha, unicodedata.normalize("NFKC", name)):
        script = unicodedata.name(character, "unknown").partition(" ")[0]
        if unicodedata.category(character) != "Lm":
            yield script


def _code(character: str) -> str:
    return f"U+{ord(character):04X}"
