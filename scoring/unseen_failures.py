"""Failures that the items of a test set do not show: what each draw of a metric adds to the failures that it draws.

Items drawn with replacement fail as often as those of the test set, so a model that never failed never fails. But of 60
items of which 0.5 % fail, none fails in 74 of 100 test sets, and one failure costs many errors. If f of n items failed,
Jeffreys' interval for the share that fails is that of Beta(f + 1/2, n − f + 1/2). The f failures that are drawn and
half a failure, h from Gamma(1/2), have its mean and its variance if failures are rare.

- Without a failure in a task, h is 0 in every second draw, in all tasks together, and in the others from the upper half
  of Gamma(1/2). So a score over many tasks contains the case that nothing fails. Each task has an h of its own, which
  all models without a failure share.
- With failures, h follows from the clusters that have them.

Models are ordered by other draws.

- One without a failure has none there. What all such models share moves no order of two of them, but where a score has
  a largest value it would make them equal.
- To the failures of the others two are added and two are subtracted, each from Gamma(2), though none is left below
  zero. All models and tasks have the same subtracted; those that fail at the same clusters have the same added. So few
  failures of one model are no difference from another. In simulations equal models were told apart in about 6 % of the
  cases at most; with one in place of two, in up to 10 %.
- Draws are turned about the value (`scoring.studentised`), so the unknown error of a failed item counts twice if no
  failure is drawn: once as it is missing, once as it is turned. Errors drawn from the other items stand for it.
  Otherwise it would decide the order of two models that are equal elsewhere.

Source: L. D. Brown, T. T. Cai and A. DasGupta, Stat. Sci. 16, 101 (2001) (Jeffreys' interval; two failures added by
Agresti and Coull).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scoring.named_generators import named_generator
from scoring.tree import Float

PSEUDO_FAILURES = 2.0  # for an order


class UnseenFailures:
    """Draws of failures for the models of a task.

    Args:
        seed: of all tasks.
    """

    def __init__(self, seed: Sequence[int], task: str, n_resamples: int) -> None:
        self._seed, self._task, self._n_resamples = seed, task, n_resamples
        self._known: dict[tuple[str, ...], Float] = {}
        self._known_for_order: dict[tuple[str, ...], Float] = {}

    def beside(self, failed: tuple[str, ...]) -> Float:
        """(n_resamples,) numbers of unseen failures, not integers, to be added to those drawn.

        Args:
            failed: the clusters in which a model has failures.
        """
        if failed not in self._known:
            self._known[failed] = self._gamma(0.5, *failed) if failed else self._without()
        return self._known[failed]

    def beside_for_order(self, failed: tuple[str, ...]) -> Float:
        """The same for an order; a sum below 0 counts as 0.

        Args:
            failed: the clusters in which a model has failures, at least one.
        """
        if failed not in self._known_for_order:
            added = self._gamma(PSEUDO_FAILURES, "in an order", *failed)
            self._known_for_order[failed] = added - self._subtracted
        return self._known_for_order[failed]

    def stand_ins(self, failed: tuple[str, ...], n_answered: int) -> NDArray[np.int64]:
        """(n_resamples, number of failed) for each failed cluster, one of those that a model answered.

        In an order, its error stands for the unknown one.
        """
        generator = named_generator(self._seed, "errors of failed clusters", self._task, *failed)
        return generator.integers(0, n_answered, (self._n_resamples, len(failed)))

    def _without(self) -> Float:
        from scipy.special import erfinv  # long to import

        n, half = self._n_resamples, self._n_resamples // 2
        fails = named_generator(self._seed, "any unseen failure").permutation(n)[:half]
        # One level in each of `half` equal parts: few draws have exact quantiles, too.
        generator = named_generator(self._seed, "unseen failures", self._task)
        level = 0.5 + 0.5 * (generator.permutation(half) + generator.random(half)) / max(half, 1)
        added = np.zeros(n)
        added[fails] = erfinv(level) ** 2  # half the square of a normal number is Gamma(1/2)
        return added

    @cached_property
    def _subtracted(self) -> Float:
        generator = named_generator(self._seed, "failures subtracted")
        return np.asarray(generator.standard_gamma(PSEUDO_FAILURES, self._n_resamples))

    def _gamma(self, shape: float, *name: str) -> Float:
        generator = named_generator(self._seed, "failures beside those of", self._task, *name)
        return np.asarray(generator.standard_gamma(shape, self._n_resamples))
