"""Reads JSON files that people write. An error is one line that says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

from judge.config import UsageError
from judge.records.strict_json import each_named_once
from tasks.structures import text_files


def read_json(path: Path) -> object:
    """The content of a JSON file.

    Raises:
        UsageError: it cannot be read, is not JSON, or has a key twice.
    """
    text = read_text(path)
    try:
        content: object = json.loads(text, object_pairs_hook=each_named_once)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: is not JSON: {error}") from None
    return content


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        UsageError: it cannot be read, or is not UTF-8.
    """
    try:
        return text_files.read_text(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
