"""The limits of the sandbox, as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from judge.view import formatting
from sandbox.limits import Limits

_LIMITS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "memory_bytes": ("Memory, without swap", formatting.size),
    "tmp_bytes": ("/tmp, within that memory", formatting.size),
    "shm_bytes": ("Shared memory", formatting.size),
    "cpus": ("Processors", formatting.thousands),
    "pids": ("Processes and threads", formatting.thousands),
    "open_files": ("Open files", formatting.thousands),
    "startup_s": ("From the start to the loaded model", formatting.duration),
    "message_s": ("One message and its answer", formatting.duration),
    "task_s": ("The whole task", formatting.duration),
    "max_atoms_per_batch": ("Atoms in a batch", formatting.thousands),
    "log_bytes": ("Stored part of its log", formatting.size),
}
_OF_THE_HOST = frozenset({"cpus"})  # their default depends on the machine that makes the page
_OF_A_TASK = frozenset({"task_s"})  # on the page of the task


class LimitLine(NamedTuple):
    """A limit of the sandbox, as text."""

    name: str
    value: str


def limit_lines(stated: Sequence[Mapping[str, float]]) -> tuple[LimitLine, ...]:
    """The limits of results, each as a range from the smallest to the largest; the defaults if there are none."""
    default = Limits(cpus=1).model_dump()
    lines = []
    for name, (words, _) in _LIMITS.items():
        if name in _OF_A_TASK:
            continue
        values = sorted({limits[name] for limits in stated if name in limits})
        if not values and not stated and name not in _OF_THE_HOST:
            values = [float(default[name])]
        if values:
            ends = dict.fromkeys((values[0], values[-1]))
            lines.append(LimitLine(words, "\u00a0–\u00a0".join(_text(name, value) for value in ends)))
    return tuple(lines)


def limits_text(limits: Mapping[str, float]) -> str:
    """The limits of one result, in a line; empty if there are none."""
    return "; ".join(f"{words}: {_text(name, limits[name])}" for name, (words, _) in _LIMITS.items() if name in limits)


def _text(name: str, value: float) -> str:
    _, text = _LIMITS[name]
    return text(value if name.endswith("_s") else int(value))
