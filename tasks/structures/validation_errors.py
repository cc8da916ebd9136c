"""The first error in a record that a person wrote, in one line and in the judge's words: `field: error`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

NO_FIELD = "there is no such field"
SLUG = r"^[a-z0-9][a-z0-9-]{0,62}$"
VERSIONED_SLUG = r"^[a-z0-9][a-z0-9-]{0,62}@[A-Za-z0-9][A-Za-z0-9.-]*$"
_PATTERNS: Mapping[str, str] = {
    SLUG: "must be lower-case letters, digits and dashes",
    VERSIONED_SLUG: "must be NAME@VERSION, the name of lower-case letters, digits and dashes",
}
# By pydantic's name of the problem; {…} are the limits that it states.
_WORDS: Mapping[str, str] = {
    "missing": "is missing",
    "extra_forbidden": NO_FIELD,
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "string_too_long": "must not be longer than {max_length} characters",
    "string_pattern_mismatch": "is not as it must be: {pattern}",
    "literal_error": "must be {expected}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "finite_number": "must be finite",
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "too_short": "must have at least {min_length}",
    "too_long": "must have at most {max_length}",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
}


def one_line(error: ValidationError) -> str:
    """The first error of a record as `field: error`; if there are several, one that names an unknown field."""
    problems = error.errors(include_url=False)
    # A misspelt field also causes an error about a missing field: its author must see the misspelling.
    first = next((p for p in problems if p["type"] == "extra_forbidden"), problems[0])
    field = ".".join(str(part) for part in first["loc"] if part != "[key]")
    text = _words(first)
    return f"{field}: {text}" if field else text


def _words(problem: ErrorDetails) -> str:
    if problem["type"] not in _WORDS:
        return problem["msg"].removeprefix("Value error, ")
    context: dict[str, Any] = problem.get("ctx", {})
    words = _PATTERNS.get(context.get("pattern", ""), _WORDS[problem["type"]])
    text, value = words.format_map(context), problem["input"]
    if problem["type"] in ("missing", "extra_forbidden") or not isinstance(value, str | int | float):
        return text
    return f"{text}, not {value[:60]!r}" if isinstance(value, str) else f"{text}, not {value}"
