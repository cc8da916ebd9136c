"""An axis of dates."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from judge.figures.axes import Axis, Tick

N_TICKS = 6
DAY = 86_400.0  # s

_PAD = 0.03
_DAYS = (1, 2, 5, 10, 20)
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240)


def dates(moments: Iterable[datetime], start: float, end: float) -> Axis:
    """An axis over all of the moments, a little beyond them; its values are seconds since 1970.

    Args:
        moments: one at least.
    """
    seconds = [moment.timestamp() for moment in moments]
    low, high = min(seconds), max(seconds)
    pad = max(_PAD * (high - low), DAY / 2)
    low, high = low - pad, high + pad
    n_days = (high - low) / DAY
    ticks = _days(low, high) if n_days <= N_TICKS * _DAYS[-1] else _months(low, high)
    return Axis(low, high, start, end, tuple(ticks))


def day(moment: datetime) -> str:
    """2025-03-04."""
    return moment.astimezone(UTC).date().isoformat()


def _days(low: float, high: float) -> list[Tick]:
    every = next(n for n in _DAYS if (high - low) / DAY / n <= N_TICKS)
    first = _at(low).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    found = []
    while first.timestamp() <= high:
        found.append(Tick(first.timestamp(), f"{first.day} {first:%b %Y}"))
        first += timedelta(days=every)
    return found


def _months(low: float, high: float) -> list[Tick]:
    n_months = (high - low) / DAY / 30.4
    every = next((n for n in _MONTHS if n_months / n <= N_TICKS), _MONTHS[-1])
    first, last = _at(low), _at(high)
    counts = range(12 * first.year + first.month, 12 * last.year + last.month)  # from 0 in January of the year 0
    ticks = [datetime(n // 12, n % 12 + 1, 1, tzinfo=UTC) for n in counts if n % every == 0]
    return [Tick(tick.timestamp(), f"{tick:%Y}" if every >= 12 else f"{tick:%b %Y}") for tick in ticks]


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
