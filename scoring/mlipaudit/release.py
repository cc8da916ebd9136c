"""Releases of MLIPAudit, read from TOML."""

from __future__ import annotations

import tomllib
from importlib import resources

from pydantic import ValidationError

from scoring.errors import ScoringError
from scoring.mlipaudit.facts import MlipAuditFacts


def parse_mlipaudit(text: str, name: str) -> MlipAuditFacts:
    """The release that a TOML text states.

    Raises:
        ScoringError: naming the release, the benchmark, the metric and the field.
    """
    try:
        return MlipAuditFacts.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ScoringError(f"release {name}: not TOML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "facts"
        raise ScoringError(f"release {name}: {field}: {first['msg']}") from None


def load_mlipaudit(name: str = "mlipaudit") -> MlipAuditFacts:
    """A release packaged with the judge.

    Raises:
        ScoringError: there is none of that name, or it cannot be read.
    """
    folder = resources.files("scoring.releases")
    known = sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if _is_release(entry.name))
    if name not in known:
        raise ScoringError(f"release {name}: not known; one of {', '.join(known)}")
    return parse_mlipaudit((folder / f"{name}.toml").read_text(encoding="utf-8"), name)


def _is_release(file_name: str) -> bool:
    return file_name.startswith("mlipaudit") and file_name.endswith(".toml")
