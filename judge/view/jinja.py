"""The Jinja2 environment of the pages: it escapes every text, and its filters turn numbers into text."""

from __future__ import annotations

from importlib import resources

from jinja2 import Environment, FunctionLoader, StrictUndefined

from judge.view import escaping, formatting, goodness
from judge.view.stacked_tables import stacked
from scoring.intervals import MIN_INDEPENDENT


def template(name: str) -> str:
    """The text of the file `name` in `templates/`."""
    return (resources.files("templates") / name).read_text(encoding="utf-8")


def has_template(name: str) -> bool:
    """True if `templates/` has the file `name`."""
    return (resources.files("templates") / name).is_file()


def environment() -> Environment:
    """The environment. It escapes every text, and removes control characters and marks that reverse a text."""
    made = Environment(
        loader=FunctionLoader(template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: formatting.plain(value) if type(value) is str else value,
    )
    made.globals["min_independent"] = MIN_INDEPENDENT
    made.filters.update(
        count=formatting.count,
        decimals=formatting.decimals,
        duration=formatting.duration,
        is_web_address=formatting.is_web_address,
        metric=formatting.metric_label,
        models=formatting.models_words,
        moment=formatting.moment,
        number=escaping.number,
        percent=escaping.percent,
        rank_span=lambda ends: formatting.rank_span(ends[0], ends[1]),
        sentence=lambda text: text[:1].upper() + text[1:],
        shortened=lambda text, length: text if len(text) <= length else f"{text[: length - 1]}…",
        shown=lambda value, unit: escaping.number(formatting.shown_value(value, unit)),
        signed=formatting.signed,
        signed_percent=formatting.signed_percent,
        size=formatting.size,
        span=lambda interval: formatting.span(interval.low, interval.high),
        spaced=lambda text: text.replace("_", " "),
        stacked=stacked,
        thousands=formatting.thousands,
        tint=goodness.tint,
        unit=formatting.shown_unit,
        verdict=formatting.verdict_words,
    )
    return made
