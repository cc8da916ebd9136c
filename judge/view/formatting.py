"""Pure functions from values to the text that a reader sees."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime

from judge.ranking.score_inputs import REFERENCE_UNCERTAINTY
from scoring import RawMetric
from scoring.intervals import Interval
from submissions.card.look_alikes import is_link
from submissions.progress import count as count
from tasks.kinds.registry import KINDS

NONE = "–"

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Facts of a metric that have the unit of the metric.
_IN_UNIT = frozenset({"baseline", "good", "bad", "tolerance", "reference", REFERENCE_UNCERTAINTY})
_PREFIXED = {"eV/atom": "meV/atom", "eV/Å": "meV/Å", "eV": "meV"}
# Marks that reverse or hide the text after them; <bdi> isolates them only if they are closed.
_DIRECTION = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# Control characters except tab and new line, and surrogates: the categories Cc and Cs.
_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
_UNWANTED = re.compile(f"[{_CONTROL}{_DIRECTION}]")


def plain(text: str) -> str:
    """The text without control characters and without marks that reverse the text after them."""
    return _UNWANTED.sub("", text)


def is_web_address(text: str) -> bool:
    """True if a link may lead to this address: http or https, the host that a reader sees, and printable characters."""
    return text.isprintable() and is_link(text)


def metric_label(name: str) -> str:
    """The name of a metric in words; for an unknown metric its own name with spaces. After a colon it names a group."""
    metric, colon, group = name.partition(":")
    words = metric.replace("_", " ")
    return KINDS.labels.get(metric, words[:1].upper() + words[1:]) + (f": {group}" if colon else "")


def verdict_words(verdict: str) -> str:
    """`TIME_LIMIT` as `time limit`; OK and NaN stay as they are."""
    return "OK" if verdict == "OK" else verdict.replace("_", " ").lower()


def number(value: float | None, digits: int = 3) -> str:
    """The value with `digits` significant digits: 0.0213, 1 250, 4.90 × 10⁻⁵; a dash if there is none."""
    if value is None or math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    exponent = int(power)
    if -4 < exponent < 6:
        text = f"{float(f'{mantissa}e{power}'):,.{max(0, digits - 1 - exponent)}f}"
        return text.replace(",", "\u202f").replace("-", "−")
    return f"{mantissa}\u00a0×\u00a010{str(exponent).translate(_SUPERSCRIPT)}".replace("-", "−")


def decimals(value: float | None, places: int = 3) -> str:
    """The value with `places` decimals, so that a column lines up; a dash if there is none."""
    if value is None or not math.isfinite(value):
        return number(value)
    return f"{value:.{places}f}".replace("-", "−")


def signed(value: float, text_of: Callable[[float], str] = decimals) -> str:
    """The difference with its sign, +0.020 or −0.020; `same` if it is zero in the digits shown.

    Args:
        text_of: turns the size of the difference into text.
    """
    text = text_of(abs(value))
    if text == text_of(0.0):
        return "same"
    return f"+{text}" if value > 0 else f"−{text}"


def signed_percent(share: float | None) -> str:
    """A difference as a share, +0.20 %; `same` if there is none, a dash if it is not known."""
    return NONE if share is None else signed(share, percent)


def span(low: float, high: float) -> str:
    """A range of scores: 0.380 – 0.450."""
    return f"{decimals(low)}\u00a0–\u00a0{decimals(high)}"


def rank_span(low: float, high: float) -> str:
    """A range of ranks: 1–3; 2 if both are the same."""
    return f"{low:.0f}" if low == high else f"{low:.0f}–{high:.0f}"


def percent(share: float) -> str:
    """A share in percent with two digits: 45 %, 4.5 %."""
    return f"{number(100 * share, 2)}\u00a0%"


def evidence_words(raw: RawMetric, under: str = "", interval: Interval | None = None) -> str:
    """The raw metric in its `shown_unit`, its baseline or thresholds, and how many of its items failed.

    Args:
        under: the heading above the text; a metric of this name is not named again.
        interval: the interval of the metric.
    """
    clauses = [_raw(raw, under, interval)]
    facts = dict(raw.facts)
    for name, fact in raw.facts:
        if name.endswith(" unit"):
            continue
        unit = facts.get(f"{name} unit", raw.unit if name in _IN_UNIT else "")
        clauses.append(f"{name} {_quantity(fact, str(unit))}")
    if raw.n_failed:
        clauses.append(f"{raw.n_failed} of {count(raw.n_items, 'item')} failed")
        if raw.uncharged is not None and raw.value is not None:
            clauses[-1] += f", {_quantity(raw.uncharged, raw.unit)} without them"
    elif raw.n_items:
        clauses.append(f"over {count(raw.n_items, 'item')}")
    return "; ".join(clause for clause in clauses if clause)


def _raw(raw: RawMetric, under: str, interval: Interval | None) -> str:
    if raw.value is None:
        return ""
    name = "" if raw.metric == under else f"{metric_label(raw.metric)} "
    text = name + ("not finite" if math.isinf(raw.value) else _quantity(raw.value, raw.unit))
    if interval is None:
        return text
    low, high = (number(shown_value(end, raw.unit)) for end in (interval.low, interval.high))
    return f"{text} ({low}\u00a0–\u00a0{high})"


def _quantity(value: float | str, unit: str) -> str:
    """A value with its unit; a score has none."""
    if isinstance(value, str):
        return value
    return f"{number(shown_value(value, unit))} {'' if unit == 'score' else shown_unit(unit)}".strip()


def shown_unit(unit: str) -> str:
    """The unit in which a value of a stored unit is shown: meV for eV."""
    return _PREFIXED.get(unit, unit)


def shown_value(value: float | None, unit: str) -> float | None:
    """A stored value in its `shown_unit`."""
    return value * 1000 if value is not None and unit in _PREFIXED else value


def duration(seconds: float | None) -> str:
    """1.2 s, 4 min 5 s, 2 h 3 min; a dash if there is none. Public times have two digits."""
    if seconds is None:
        return NONE
    if seconds < 60:
        return f"{number(seconds, 2)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def size(n_bytes: int | None) -> str:
    """The size in MiB or GiB; a dash if there is none."""
    if n_bytes is None:
        return NONE
    gibibytes, rest = divmod(n_bytes, 2**30)
    if gibibytes and not rest:
        return f"{gibibytes} GiB"
    mebibytes = n_bytes / 2**20
    return f"{mebibytes:,.0f} MiB".replace(",", "\u202f") if mebibytes < 10_000 else f"{mebibytes / 1024:.1f} GiB"


def moment(when: datetime) -> str:
    """4 March 2025, 16:05 UTC."""
    utc = when.astimezone(UTC)
    return f"{utc.day} {utc:%B %Y, %H:%M} UTC"


def thousands(n: int) -> str:
    """412 525."""
    return f"{n:,}".replace(",", "\u202f")


def parameters(n: int | None) -> str:
    """A number of parameters: 412 k, 3.41 M; a dash if it is not known."""
    if n is None:
        return NONE
    if n >= 1e6:
        return f"{number(n / 1e6)}\u00a0M"
    return f"{number(n / 1e3)}\u00a0k" if n >= 1e3 else str(n)


def models_words(n: int, n_ranked: int) -> str:
    """4 models, 2 of them ranked."""
    return f"{count(n, 'model')}, {n_ranked} of them ranked" if n else "no models"
