"""The Jinja2 environment of the pages: it escapes every text, and its filters turn numbers into text."""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from jinja2 import BytecodeCache, Environment, FunctionLoader, StrictUndefined
from jinja2.bccache import Bucket

from judge.view import escaping, formatting, goodness
from judge.view.stacked_tables import stacked
from scoring.intervals import MIN_INDEPENDENT


def template(name: str) -> str:
    """The text of the file `name` in `templates/`."""
    return (resources.files("templates") / name).read_text(encoding="utf-8")


def has_template(name: str) -> bool:
    """True if `templates/` has the file `name`."""
    return (resources.files("templates") / name).is_file()


def compiled_templates() -> dict[str, bytes]:
    """All templates, compiled, by name: another process makes them while this one reads records."""
    made = environment()
    folder = Path(str(resources.files("templates")))
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*.html")]
    return {name: marshal.dumps(made.compile(template(name), name)) for name in names}


class _Compiled(BytecodeCache):
    """The templates of `compiled_templates`."""

    def __init__(self, codes: Mapping[str, bytes]) -> None:
        self._codes = codes

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        return name

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._codes:
            bucket.code = marshal.loads(self._codes[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Nothing is kept."""


def environment(codes: Mapping[str, bytes] | None = None) -> Environment:
    """The environment. It escapes every text, and removes control characters and marks that reverse a text.

    Args:
        codes: `compiled_templates` of this process's code; None: each template is compiled when it is first used.
    """
    made = Environment(
        bytecode_cache=_Compiled(codes or {}),
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
