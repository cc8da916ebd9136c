"""`lambench.toml`: the model card as its author writes it."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import ValidationError

from submissions.records import ModelCard


class CardError(ValueError):
    """A model card that cannot be used; the message names file and field."""


def read_card(path: Path) -> ModelCard:
    """The card in `path`.

    Raises:
        CardError: no such file, no TOML, a field that is missing, unknown or of the wrong type.
    """
    try:
        stated = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CardError(f"{path}: there is no such file; give your model card with --card") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CardError(f"{path}: cannot be read as TOML ({error})") from error
    try:
        return ModelCard.model_validate(stated)
    except ValidationError as error:
        raise CardError(f"{path}: {first_complaint(error)}") from error


def first_complaint(error: ValidationError) -> str:
    """The first thing that is wrong, as `field: reason`."""
    first = error.errors(include_url=False)[0]
    field = ".".join(map(str, first["loc"])) or "content"
    return f"{field}: {first['msg']}"


def card_from_reference(reference: str) -> ModelCard:
    """A card that states a name only: the image's or folder's."""
    name = reference.partition("?")[0].rstrip("/").rpartition("/")[2].partition("@")[0].partition(":")[0]
    return ModelCard(name=name or "model")
