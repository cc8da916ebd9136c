"""The attack that leaves bits for the next container in the kernel's page cache."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sandbox.selftest.asking import N_NUMBERS, PATIENCE, report
from sandbox.selftest.attack import Finding, Trial, stated_attacks
from sandbox.wire.remote import RemoteCalculator

WORD_BITS = 32
N_BITS = N_NUMBERS * WORD_BITS
WAYS = ("mincore", "timing")
MOST_OF_ITS_OWN = 0.1
"""A container that reads more of its own bits wrongly proves nothing."""
CHANCE = (0.4, 0.6)
"""Error rates of bits that are guessed: 0.5 ± 5 standard deviations for `N_BITS`."""

Bits = NDArray[np.bool_]


def error_rates(trial: Trial, sent: Bits) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """By way of reading, the share of wrong bits in the container that wrote them, and in the next one.

    Args:
        sent: (`N_BITS`,)

    Returns:
        None if a container failed.
    """

    def write(remote: RemoteCalculator) -> tuple[float, ...]:
        report(remote, *words_of(sent))
        rates = read(remote)
        report(remote, *words_of(sent))  # again, since reading by timing loads all pages
        return rates

    def read(remote: RemoteCalculator) -> tuple[float, ...]:
        return tuple(float(np.mean(bits_of(report(remote)) != sent)) for _ in WAYS)

    first, second = trial.run(write, **PATIENCE).value, trial.run(read, **PATIENCE).value
    return None if first is None or second is None else (first, second)


def words_of(bits: Bits) -> list[float]:
    """The bits as `N_NUMBERS` numbers."""
    words: list[float] = (bits.reshape(N_NUMBERS, WORD_BITS) @ 2.0 ** np.arange(WORD_BITS)).tolist()
    return words


def bits_of(words: tuple[float, ...]) -> Bits:
    shifts = np.arange(WORD_BITS, dtype=np.uint64)
    bits = (np.array(words).astype(np.uint64)[:, None] >> shifts) & np.uint64(1)
    return bits.astype(np.bool_).ravel()


def _examine(trial: Trial) -> Finding:
    rates = error_rates(trial, np.random.default_rng().integers(0, 2, N_BITS).astype(np.bool_))
    if rates is None:
        return Finding(False, "a container failed: this proves nothing")
    written, next_start = rates
    if max(written) > MOST_OF_ITS_OWN:
        return Finding(False, f"it reads {max(written):.0%} of its own bits wrongly: this proves nothing")
    low, high = CHANCE
    shares = ", ".join(f"{rate:.1%} by {way}" for way, rate in zip(WAYS, next_start, strict=True))
    return Finding(all(low <= rate <= high for rate in next_start), f"of {N_BITS} bits the next start misread {shares}")


PAGE_CACHE_ATTACKS = stated_attacks(
    {
        "bits-for-the-next-start": _examine,
    }
)
