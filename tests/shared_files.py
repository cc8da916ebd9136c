"""Several pytest processes share the test files, and a run can be cut into parts.

`--shared FILE`: processes with the same FILE, empty at the start, take the next test file whenever they are done with
one; FILE counts those that are taken. The longest come first, so that all processes end at about the same time.
Containers of one host run one after another: so the first process takes files whose tests start containers, as long as
there are any, and the others take them last.
`--part 2/6`: the second of six parts of the tests.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, pairwise
from pathlib import Path

import pytest

ESTIMATED_S = {"slow": 15.0, "docker": 2.0}
OTHERS_S = 0.1


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two options."""
    group = parser.getgroup("shared files")
    group.addoption("--shared", type=Path, metavar="FILE", help="share the test files with processes that name FILE")
    group.addoption("--part", metavar="K/N", help="run part K of N of the tests")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps only the tests of one part."""
    if config.option.part:
        k, n = map(int, config.option.part.split("/"))
        config.hook.pytest_deselected(items=[item for i, item in enumerate(items) if i % n != k - 1])
        items[:] = items[k - 1 :: n]


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Runs the files that this process takes. None if it shares with no other process: then pytest's own loop runs."""
    shared = session.config.option.shared
    if not shared or session.testsfailed or session.config.option.collectonly:
        return None
    for item, following in pairwise(chain(_taken(session.items, shared), [None])):
        assert item is not None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
    return True


def _taken(items: list[pytest.Item], shared: Path) -> Iterator[pytest.Item]:
    """The tests of each file that no other process has taken, file by file."""
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        mark = item.get_closest_marker("together")
        files.setdefault(mark.args[0] if mark else str(item.path), []).append(item)
    longest_first = sorted(files.values(), key=lambda tests: -sum(map(_estimated_s, tests)))
    queues = [[tests for tests in longest_first if _starts_containers(tests) == docker] for docker in (True, False)]
    lengths = [len(queue) for queue in queues]
    order = (0, 1) if _is_first(shared) else (1, 0)
    while taken := _next_file(shared, lengths, order):
        queue, number = taken
        yield from queues[queue][number]


def _starts_containers(tests: list[pytest.Item]) -> bool:
    return any(test.get_closest_marker("docker") for test in tests)


def _next_file(shared: Path, lengths: Sequence[int], order: Sequence[int]) -> tuple[int, int] | None:
    """A queue, and the number of the next file in it, which goes to this process only; None if all are taken.

    Args:
        order: the first of these queues that has a file is chosen.
    """
    with _numbers(shared) as numbers:
        for queue in order:
            if numbers[1 + queue] < lengths[queue]:
                numbers[1 + queue] += 1
                return queue, numbers[1 + queue] - 1
    return None


def _is_first(shared: Path) -> bool:
    """Whether no other process came before. Called once."""
    with _numbers(shared) as numbers:
        numbers[0] += 1
        return numbers[0] == 1


@contextmanager
def _numbers(shared: Path) -> Iterator[list[int]]:
    """How many processes came, and how many files of each queue were taken; nobody else changes them meanwhile."""
    with shared.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        numbers = [int(word) for word in file.read().split()] or [0, 0, 0]
        yield numbers
        file.seek(0)
        file.write(" ".join(map(str, numbers)))


def _estimated_s(item: pytest.Item) -> float:
    if takes := item.get_closest_marker("takes"):
        return float(takes.args[0])
    return sum(seconds for mark, seconds in ESTIMATED_S.items() if item.get_closest_marker(mark)) or OTHERS_S
