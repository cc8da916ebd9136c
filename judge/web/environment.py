"""Jinja2 as the pages have it: every text escaped, and the filters by which numbers become text."""

from __future__ import annotations

from importlib import resources

from jinja2 import Environment, FunctionLoader, StrictUndefined

from judge import present
from judge.web import words


def template(name: str) -> str:
    """The text of a file in the templates."""
    return (resources.files("templates") / name).read_text(encoding="utf-8")


def environment() -> Environment:
    """Jinja2 with every text escaped, and every name cleared of marks that would turn the page around."""
    made = Environment(
        loader=FunctionLoader(template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: present.plain(value) if type(value) is str else value,
    )
    made.filters.update(
        count=present.count,
        decimals=present.decimals,
        duration=present.duration,
        is_web_address=present.is_web_address,
        kind=present.kind_words,
        metric=present.metric_label,
        moment=present.moment,
        number=words.number,
        percent=words.percent,
        rank_span=lambda ends: present.rank_span(ends[0], ends[1]),
        sentence=lambda text: text[:1].upper() + text[1:],
        shortened=lambda text, length: text if len(text) <= length else f"{text[: length - 1]}…",
        shown=lambda value, unit: words.number(present.shown_value(value, unit)),
        signed=present.signed,
        size=present.size,
        span=lambda interval: present.span(interval.low, interval.high),
        spaced=lambda text: text.replace("_", " "),
        thousands=present.thousands,
        unit=present.shown_unit,
        verdict=present.verdict_words,
    )
    return made
