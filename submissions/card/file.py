"""`lambench.toml`: reads and writes the model card."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from sandbox.events import plain
from submissions.card.rules import first_breach
from submissions.records import Domain, ModelCard, StatedLabelSet, TrainingSet
from tasks.structures.text_files import read_text

WIDTH = 100
MAX_NAME = 200
MAX_COMPLAINT = 500

# An example and a comment for each field. Tables are last, as TOML requires.
ABOUT = {
    "name": ('"My model"', "as the leaderboard shows it"),
    "version": ('"1.0"', ""),
    "description": ('"A sentence about it"', ""),
    "authors": ('["First Author", "Second Author"]', ""),
    "affiliation": ('"Department, University"', ""),
    "license": ('"MIT"', "of the weights: a name, or an address"),
    "paper": ('"https://doi.org/…"', ""),
    "code": ('"https://…"', ""),
    "open_weights": ("true", "whether anybody may have them"),
    "n_parameters": ("1000000", ""),
    "conservative": ("true", "whether forces are the gradient of the energy; the preflight measures it too"),
    "dispersion": ("false", "whether energies contain it at all; the label sets below say it for each domain"),
    "precision": ('"float32"', "of the computation: float32, float64 or mixed"),
    "elements": ('["H", "C", "N", "O"]', "that the model knows"),
    "hardware": ('"One GPU with 16 GB"', "that the model was made for and needs"),
}
ABOUT_TRAINING = "A table for each data set that the model was trained on."
ABOUT_LABEL_SETS = """\
For each domain, the level of theory of the model's energies, and whether they contain dispersion. The judge compares
the model with labels of that level; for a domain that is not listed here, with the labels that it has."""
TRAINING = TrainingSet(name="MPtrj", level_of_theory="PBE+U", url="https://…")
LABELS = StatedLabelSet(name="PBE", dispersion=False)
_MISSING, _UNKNOWN = "missing", "extra_forbidden"
_REASONS = {_MISSING: "is missing", _UNKNOWN: "there is no such field"}


class CardError(ValueError):
    """The model card cannot be used; the message names file and field."""


def read_card(path: Path) -> ModelCard:
    """The card in `path`.

    Raises:
        CardError: there is no such file, or it is no card: see `parse_card`.
    """
    try:
        return parse_card(read_text(path), str(path))
    except FileNotFoundError:
        raise CardError(f"{path}: there is no such file: give your model card with --card") from None
    except OSError as error:
        raise CardError(f"{path}: cannot be read ({error.strerror})") from error
    except CardError:
        raise
    except ValueError as error:
        raise CardError(f"{path}: cannot be read as TOML: it {error}") from error


def parse_card(text: str, source: str, name: str = "") -> ModelCard:
    """The card in `text`.

    Args:
        source: of the text, for error messages.
        name: of the model, instead of the one in the text.

    Raises:
        CardError: the text is no TOML, or a field is missing, unknown, of the wrong type, or not allowed.
    """
    try:
        stated = tomllib.loads(text)
    except ValueError as error:  # a number with thousands of digits raises no TOMLDecodeError
        raise CardError(f"{source}: cannot be read as TOML ({plain(str(error), MAX_COMPLAINT)})") from error
    except RecursionError:
        raise CardError(f"{source}: cannot be read as TOML (it is nested too deep)") from None
    try:
        card = ModelCard.model_validate({**stated, "name": name} if name else stated)
    except ValidationError as error:
        raise CardError(f"{source}: {first_complaint(error)}") from error
    return _permitted(card, source)


def _permitted(card: ModelCard, source: str) -> ModelCard:
    if breach := first_breach(card):
        raise CardError(f"{source}: {breach}")
    return card


def first_complaint(error: ValidationError) -> str:
    """The first error, as `field: reason`, in one line of printable text. A missing field names an unknown one, too."""
    errors = error.errors(include_url=False)
    reason = _complaint(errors[0])
    unknown = next((each for each in errors if each["type"] == _UNKNOWN), None)
    if errors[0]["type"] == _MISSING and unknown:
        reason += f"; {_complaint(unknown)}"
    return plain(reason, MAX_COMPLAINT)


def _complaint(error: ErrorDetails) -> str:
    field = ".".join(map(str, error["loc"])) or "content"
    return f"{field}: {_REASONS.get(error['type'], error['msg'])}"


def card_from_reference(reference: str) -> ModelCard:
    """A card with only a name, that of the image or folder.

    Raises:
        CardError: the name is not allowed.
    """
    name = reference.partition("?")[0].rstrip("/").rpartition("/")[2].partition("@")[0].partition(":")[0]
    is_named = any(character.isalnum() for character in name)  # the folder "." has none
    return _permitted(ModelCard(name=name[:MAX_NAME] if is_named else "model"), plain(reference))


def write_card(card: ModelCard, path: Path) -> None:
    """Writes the card to `path`, completely or not at all.

    Raises:
        CardError: it cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(card_text(card), encoding="utf-8")
        os.replace(beside, path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise CardError(f"{path}: cannot be written ({error.strerror})") from error


def card_text(card: ModelCard) -> str:
    """The card as TOML, which `read_card` reads as the same card. Fields that are not stated are comments."""
    fields = "\n".join(_field(card, name) for name in ABOUT)
    training = "\n\n".join(map(_training, card.training)) or _comment(_training(TRAINING))
    domains = [domain for domain in get_args(Domain) if domain in card.label_sets]
    label_sets = "\n\n".join(_label_set(domain, card.label_sets[domain]) for domain in domains)
    parts = (
        fields,
        f"{_comment(ABOUT_TRAINING)}\n{training}",
        f"{_comment(ABOUT_LABEL_SETS)}\n{label_sets or _comment(_label_set('Inorganic Materials', LABELS))}",
    )
    return "\n\n".join(parts) + "\n"


def _field(card: ModelCard, name: str) -> str:
    """The line of a field with its comment; the whole line is a comment if the field is not stated."""
    value = getattr(card, name)
    example, about = ABOUT[name]
    unstated = value is None or value in ("", ())
    line = f"# {name} = {example}" if unstated else f"{name} = {_value(value)}"
    if not about:
        return line
    return f"# {about}\n{line}" if "\n" in line else f"{line}  # {about}"


def _training(training: TrainingSet) -> str:
    fields = {"name": training.name, "level_of_theory": training.level_of_theory, "url": training.url}
    return "\n".join(["[[training]]", *(f"{key} = {_value(value)}" for key, value in fields.items() if value)])


def _label_set(domain: str, labels: StatedLabelSet) -> str:
    lines = [f"[label_sets.{_value(domain)}]", f"name = {_value(labels.name)}"]
    if labels.dispersion is not None:
        lines.append(f"dispersion = {_value(labels.dispersion)}")
    return "\n".join(lines)


def _value(value: str | bool | int | tuple[str, ...]) -> str:
    if isinstance(value, tuple):
        return _array(map(_value, value))
    # JSON writes texts, numbers and booleans as TOML does, except the character DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _array(items: Iterable[str]) -> str:
    """A TOML array in one line if it fits, else in as few lines as possible."""
    lines = [""]
    for item in items:
        if lines[-1] and len(lines[-1]) + len(item) > WIDTH:
            lines.append("")
        lines[-1] += f"{item}, "
    if len(lines) == 1:
        return f"[{lines[0].rstrip(', ')}]"
    return "[\n" + "\n".join(f"    {line.rstrip()}" for line in lines) + "\n]"


def _comment(text: str) -> str:
    return "\n".join(f"# {line}" for line in text.split("\n"))
