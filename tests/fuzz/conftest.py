"""Reports the number of fuzzed inputs, and the seed of the soak run."""

from __future__ import annotations

import pytest

from tests.fuzz.mutations import COUNTS, SOAK_SEED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if COUNTS:
        parts = ", ".join(f"{name} {count:,}" for name, count in sorted(COUNTS.items()))
        terminalreporter.write_line(f"fuzzed: {sum(COUNTS.values()):,} inputs ({parts})")
        terminalreporter.write_line(f"the whole (-m soak) begins with LAMBENCH_FUZZ_SEED={SOAK_SEED}")
