"""`python -m benchmarks.mutants [PATH …]`: how many small faults in the scores and failure costs the tests notice.

Tests are collected once, and once run to see which lines each covers. Then each mutant (`benchmarks.mutations`) is put
into the modules of a forked process, which runs the tests that cover its lines, short ones first, until one fails. A
mutant that takes `LIMIT` times as long as its tests do, and more than `LEAST_S`, is killed as well. Printed are the
survivors, with the line and the change, and the share that was killed, with and without those that
`benchmarks/equivalent_mutants.txt` says change nothing, each with its reason.
"""

from __future__ import annotations

import argparse
import os
import pickle
import signal
import sys
import tempfile
import time
import types
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, Phase, settings

from benchmarks.mutations import Mutant, mutants

ROOT = Path(__file__).parents[1]
TARGETS = (
    "scoring",
    *(
        f"tasks/metrics/{name}.py"
        for name in (
            "averages",
            "charged_shift",
            "contributions",
            "failure_cost",
            "group_statistics",
            "shift_candidates",
            "soft_threshold",
        )
    ),
)
TESTS = (
    "tests/scoring",
    "tests/tasks/metrics",
    "tests/judge/ranking/test_kept_terms.py",
    "tests/judge/ranking/test_task_orders.py",
    "tests/house/test_score_names.py",
)
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.txt")
LONGEST_S = 2.0  # CPU time of a test: longer ones are not run
BUDGET_S = 5.0  # of tests for one mutant, by the times that they take without a fault
LIMIT, LEAST_S = 5.0, 5.0  # CPU time of a mutant: times that of its tests, and at least


class Covering(NamedTuple):
    """The CPU seconds of a test, and the (file, line) that it runs."""

    seconds: float
    lines: frozenset[tuple[str, int]]


class Outcome(NamedTuple):
    """What became of a mutant: killed, slow, survived, uncovered or unviable (it cannot be put into the modules)."""

    path: str
    mutant: Mutant
    word: str

    @property
    def key(self) -> tuple[str, str, str]:
        """By which the list of equivalent mutants names it."""
        return self.path, self.mutant.text, self.mutant.change


def equivalent_mutants() -> dict[tuple[str, str, str], str]:
    """The reason of each: lines of `path | source line | change | reason`."""
    reasons = {}
    for line in EQUIVALENT.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            path, text, change, reason = line.split(" | ", 3)
            reasons[path, text, change] = reason
    return reasons


class Runner:
    """A plugin of pytest that runs mutants in place of the session's tests."""

    def __init__(self, paths: Iterable[Path], some: slice, known: Path | None) -> None:
        self.paths, self.some, self.known, self.outcomes = sorted(paths), some, known, list[Outcome]()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Records the lines, then runs each mutant."""
        files = {str(path) for path in python_files(TARGETS)} | {str(path) for path in self.paths}
        items = {item.nodeid: item for item in session.items}
        begin = time.monotonic()
        covering = self._covering(session.items, files)
        print(f"{len(covering)} of {len(items)} tests pass and count ({time.monotonic() - begin:.0f} s)", flush=True)
        by_time = sorted(covering, key=lambda name: covering[name].seconds)
        for path in self.paths:
            begin, name = time.monotonic(), str(path.relative_to(ROOT))
            for mutant in list(mutants(path.read_text(encoding="utf-8")))[self.some]:
                touched = {(str(path), line) for line in range(mutant.line, mutant.last_line + 1)}
                tests, seconds = [], 0.0
                for test in by_time:
                    at_import = not mutant.function and any(file == str(path) for file, _ in covering[test].lines)
                    if at_import or touched & covering[test].lines:
                        seconds += covering[test].seconds
                        if tests and seconds > BUDGET_S:
                            break
                        tests.append(items[test])
                self.outcomes.append(Outcome(name, mutant, outcome_of(path, mutant, tests, seconds)))
            count = Counter(each.word for each in self.outcomes if each.path == name)
            print(f"{name}: {dict(count)} ({time.monotonic() - begin:.0f} s)", flush=True)
            for each in self.outcomes:
                if each.path == name and each.word in ("survived", "uncovered"):
                    print(f"  {name}:{each.mutant.line} {each.word}: {each.mutant.change}", flush=True)
        return True

    def _covering(self, items: list[pytest.Item], files: set[str]) -> dict[str, Covering]:
        before: dict[str, Covering] = {}
        if self.known and self.known.is_file():
            before = pickle.loads(self.known.read_bytes())  # of our own
        new = [item for item in items if item.nodeid not in before]
        after = before | (in_child(lambda: record(new, files)) if new else {})
        if self.known:
            self.known.write_bytes(pickle.dumps(after))
        return {item.nodeid: after[item.nodeid] for item in items if item.nodeid in after}


def in_child(work: Any) -> Any:
    """The value of `work()` in a forked process."""
    with tempfile.NamedTemporaryFile() as file:
        if (child := os.fork()) == 0:
            try:
                file.write(pickle.dumps(work()))
                file.flush()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        return pickle.loads(Path(file.name).read_bytes())  # of our own child


class TooLongError(BaseException):
    """A test takes longer than `LONGEST_S`."""


def too_long(*_: Any) -> None:
    """Handles the signal of the timer."""
    raise TooLongError


def record(items: list[pytest.Item], files: set[str]) -> dict[str, Covering]:
    """The tests that pass in `LONGEST_S`, with what they cover."""
    covering = {}
    signal.signal(signal.SIGPROF, too_long)
    for item in items:
        lines: set[tuple[str, int]] = set()

        def in_file(frame: types.FrameType, event: str, _: Any, lines: set[tuple[str, int]] = lines) -> Any:
            lines.add((frame.f_code.co_filename, frame.f_lineno))
            return in_file

        def entered(frame: types.FrameType, event: str, argument: Any, inner: Any = in_file) -> Any:
            return inner(frame, event, argument) if frame.f_code.co_filename in files else None

        begin = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
        sys.settrace(entered)
        try:
            reports = runtestprotocol(item, log=False, nextitem=None)
        except TooLongError:
            continue
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            sys.settrace(None)
        if all(report.passed for report in reports):
            covering[item.nodeid] = Covering(time.process_time() - begin, frozenset(lines))
    return covering


def outcome_of(path: Path, mutant: Mutant, tests: list[pytest.Item], seconds: float) -> str:
    """What becomes of a mutant whose tests are `tests`, which take so many CPU seconds without it."""
    if not tests:
        return "uncovered"
    if (child := os.fork()) == 0:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, max(LEAST_S, LIMIT * seconds))
        status = 2
        try:
            if put_in(path, mutant):
                status = any(any(r.failed for r in runtestprotocol(t, log=False, nextitem=None)) for t in tests)
        except BaseException:  # noqa: BLE001  # a fault may raise anything, in a fixture of the session, too
            status = 1
        finally:
            os._exit(status)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return "slow"
    return {0: "survived", 1: "killed", 2: "unviable"}[os.WEXITSTATUS(status)]


def put_in(path: Path, mutant: Mutant) -> bool:
    """Puts the mutant into the loaded module; False if that cannot be done in place."""
    module = next(m for m in list(sys.modules.values()) if getattr(m, "__file__", None) == str(path))
    try:
        code = compile(mutant.tree, str(path), "exec")
    except (SyntaxError, ValueError):
        return False
    if mutant.function:
        codes = {each.co_qualname: each for each in codes_in(code)}
        targets = [f for f in functions_of(vars(module), module.__name__) if f.__qualname__ == mutant.function]
        try:
            for function in targets:
                function.__code__ = codes[mutant.function]
        except ValueError:
            return False
        return bool(targets)
    namespace = {"__name__": module.__name__, "__file__": str(path)}
    try:
        exec(code, namespace)  # this project's own source
    except Exception:  # noqa: BLE001  # the module cannot be imported: every test notices
        raise RuntimeError from None
    return put_in_values(module, namespace)


def put_in_values(module: types.ModuleType, namespace: dict[str, Any]) -> bool:
    """Changed constants, in all modules that imported them, and changed defaults; True if there is one."""
    changed = False
    for name, old in list(vars(module).items()):
        if name.startswith("__") or not plain(old) or not plain(namespace.get(name)) or old == namespace.get(name):
            continue
        changed = True
        for other in list(sys.modules.values()):
            if vars(other).get(name) is old:
                setattr(other, name, namespace[name])
    there = {f.__qualname__: f for f in functions_of(namespace, module.__name__)}
    for function in functions_of(vars(module), module.__name__):
        if (new := there.get(function.__qualname__)) is not None:
            defaults = new.__defaults__, new.__kwdefaults__
            if repr(defaults) != repr((function.__defaults__, function.__kwdefaults__)):
                function.__defaults__, function.__kwdefaults__ = defaults
                changed = True
    return changed


def plain(value: Any) -> bool:
    """Numbers, text, and collections of them, whose comparison is by value."""
    if isinstance(value, tuple | list | frozenset | set):
        return all(map(plain, value))
    if isinstance(value, dict):
        return all(map(plain, value)) and all(map(plain, value.values()))
    return isinstance(value, int | float | str)


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """All code objects in a module's."""
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield each
            yield from codes_in(each)


def functions_of(namespace: dict[str, Any], module: str) -> Iterator[types.FunctionType]:
    """The functions and methods that a module defines, without their decorators."""
    for value in list(namespace.values()):
        if isinstance(value, type) and value.__module__ == module:
            yield from functions_of(dict(vars(value)), module)
        inner: Any = value
        while not isinstance(inner, types.FunctionType):
            for name in ("__wrapped__", "__func__", "fget", "func"):
                if (next_one := getattr(inner, name, None)) is not None and not isinstance(inner, type):
                    inner = next_one
                    break
            else:
                break
        while isinstance(inner, types.FunctionType) and hasattr(inner, "__wrapped__"):
            inner = inner.__wrapped__
        if isinstance(inner, types.FunctionType) and inner.__module__ in (module, None, "builtins"):
            yield inner


def python_files(paths: Iterable[str]) -> Iterator[Path]:
    """The files of `paths`, and those in its folders."""
    for path in map(ROOT.joinpath, paths):
        yield from path.rglob("*.py") if path.is_dir() else [path]


def main() -> int:
    """Prints the survivors and the shares."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description="Mutation testing of the scores.")
    parser.add_argument("paths", nargs="*", default=TARGETS, help="files or folders to put faults into")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="files or folders of tests")
    parser.add_argument("--every", type=int, default=1, help="one mutant in so many")
    parser.add_argument("--first", type=int, default=0, help="which of each so many, from 0")
    parser.add_argument("--lines", type=Path, help="file that keeps which lines a test covers, for the next call")
    arguments = parser.parse_args()
    if not os.environ.get("OPENBLAS_NUM_THREADS"):  # threads of a library do not survive a fork
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})
    settings.register_profile(
        "mutants", database=None, derandomize=True, deadline=None, phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    runner = Runner(python_files(arguments.paths), slice(arguments.first, None, arguments.every), arguments.lines)
    options = ["-s", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=mutants"]
    pytest.main([*options, *arguments.tests], plugins=[runner])
    report(runner.outcomes)
    return 0


def report(outcomes: list[Outcome]) -> None:
    """Prints the totals."""
    equivalent = equivalent_mutants()
    viable = [each for each in outcomes if each.word != "unviable"]
    killed = sum(each.word in ("killed", "slow") for each in viable)
    reasoned = [each for each in viable if each.word in ("survived", "uncovered") and each.key in equivalent]
    for each in reasoned:
        print(f"equivalent: {each.path}:{each.mutant.line}: {each.mutant.change}: {equivalent[each.key]}")
    print(
        f"{len(outcomes)} mutants, {len(outcomes) - len(viable)} unviable, {killed} killed: {killed / len(viable):.1%}"
    )
    print(f"without {len(reasoned)} equivalent ones: {killed / (len(viable) - len(reasoned)):.1%}")


if __name__ == "__main__":
    sys.exit(main())
