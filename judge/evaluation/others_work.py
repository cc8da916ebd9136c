"""What other workers have taken of a plan: looked up in the store before this one begins on a submission."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from judge.evaluation.plan import Planned
from judge.evaluation.unit_order import Taken, draw, is_judged, is_shared, taken
from submissions.store.interface import Store


@dataclass
class OthersWork:
    """The work of others that run the same plan.

    A worker looks at the attempts of a submission before it begins on it. Where nobody else works it does not look
    again. Where others work it comes back when it knows no other submission: then it takes units in an order of its
    own, and looks before each.

    Args:
        worker: the identity of this process; empty: it is the only one, and nothing is looked up.
    """

    store: Store
    worker: str
    _alone: set[str] = field(default_factory=set, init=False)
    _shared: set[str] = field(default_factory=set, init=False)

    def arranged(self, plan: Iterable[Planned]) -> tuple[list[Planned], list[Planned]]:
        """`plan` with the unit to try next at its head, and the units that others have claimed since it was made, which
        are not in it any more.

        Raises:
            StoreError: the store cannot be listed.
        """
        left, others = list(plan), list[Planned]()
        while self.worker and left and (id := left[0].unit.submission.id) not in self._alone:
            known = self._look(id)
            rest, free = list[Planned](), list[Planned]()
            for planned in left:
                if planned.unit.submission.id != id:
                    rest.append(planned)
                elif planned.unit.prefix in known.claimed and not planned.history.attempts:
                    others.append(planned)
                else:
                    free.append(planned)
            if id not in self._shared and not is_shared(known):
                self._alone.add(id)
                left = [*free, *rest]
            else:
                free.sort(key=lambda planned: draw(self.worker, planned.unit.prefix))
                if id in self._shared and free:
                    return [*free, *rest], others
                self._shared.add(id)
                left = [*rest, *free]
        return left, others

    def met(self, planned: Planned) -> None:
        """Another worker had claimed this unit: the submission is looked at again."""
        self._alone.discard(planned.unit.submission.id)

    def without_judged(self, plan: Sequence[Planned]) -> tuple[Sequence[Planned], Sequence[Planned]]:
        """The units of `plan` that are left now, and those that others have judged."""
        if not self.worker or not plan:
            return plan, ()
        known = taken(self.store.list("attempts/"), self.store.list("results/"))
        return (
            [planned for planned in plan if not is_judged(planned, known)],
            [planned for planned in plan if is_judged(planned, known)],
        )

    def goes_on(self) -> bool:
        """Whether a unit is claimed that has not ended."""
        return is_shared(taken(self.store.list("attempts/"), ()))

    def _look(self, submission: str) -> Taken:
        return taken(self.store.list(f"attempts/{submission}/"), ())
