"""The order in which an intake examines requests, so that nobody's requests hold up those of others for long.

New requests come before those that were delayed. Of both, the request of the invitation that has used the fewest
minutes of this intake comes first, and then the oldest; a delay counts as a minute. An invitation that has used up its
share waits for the next intake with the rest of its requests.

While requests of other invitations wait, the first look at a request is short: if its registry needs longer, the
request is set aside, and examined after all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from judge.images.transfer import Transfer

MINUTE_S = 60.0

Place = tuple[str, str]
"""The name of an invitation, and a slot."""


class RequestQueue:
    """The pending requests of one intake; iterating takes the next.

    Args:
        pending: the oldest first.
        n_delays: of requests that were delayed in earlier intakes.
        max_seconds: after which an invitation waits for the next intake [s].
        max_bytes: fetched, after which an invitation waits for the next intake.
    """

    def __init__(
        self, pending: Sequence[Place], n_delays: Mapping[Place, int], max_seconds: float, max_bytes: int
    ) -> None:
        self._numbers = {place: number for number, place in enumerate(pending)}
        self._pending = set(pending)
        self._set_aside: set[Place] = set()
        self._n_delays = n_delays
        self._max_seconds, self._max_bytes = max_seconds, max_bytes
        self._seconds: dict[str, float] = {}
        self._n_bytes: Counter[str] = Counter()
        self._n_delayed: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Place]:
        while ready := [place for place in self._pending if not self._is_used_up(place[0])]:
            place = min(ready, key=self._order)
            self._pending.remove(place)
            yield place

    def used(self, invitation: str, seconds: float, transfer: Transfer, *, is_delayed: bool) -> None:
        """Counts what the examination of a request has used."""
        self._n_delayed[invitation] += is_delayed
        self._seconds[invitation] = self._seconds.get(invitation, 0.0) + seconds
        self._n_bytes[invitation] += transfer.n_bytes

    def is_first_look(self, place: Place) -> bool:
        """Whether other invitations have requests that this intake has not looked at, and `place` is not set aside."""
        waiting = {name for name, _ in self._pending - self._set_aside if not self._is_used_up(name)}
        return place not in self._set_aside and bool(waiting - {place[0]})

    def set_aside(self, place: Place) -> None:
        """Puts a request that was taken after all others."""
        self._set_aside.add(place)
        self._pending.add(place)

    @property
    def notes(self) -> list[str]:
        """A line for each invitation whose other requests wait for the next intake."""
        waiting = Counter(name for name, _ in self._pending)
        return [
            f"{name}: {waiting[name]} requests wait for the next intake: its requests have used "
            f"{self._seconds[name]:.0f} s and fetched {self._n_bytes[name]} bytes (intake_seconds, intake_bytes)"
            for name in sorted(waiting)
        ]

    def _is_used_up(self, name: str) -> bool:
        return self._seconds.get(name, 0.0) >= self._max_seconds or self._n_bytes[name] >= self._max_bytes

    def _order(self, place: Place) -> tuple[bool, bool, int, int, int]:
        minutes = int(self._seconds.get(place[0], 0.0) // MINUTE_S) + self._n_delayed[place[0]]
        n_delays = self._n_delays.get(place, 0)
        return place in self._set_aside, place in self._n_delays, n_delays, minutes, self._numbers[place]
