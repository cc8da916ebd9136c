"""The request that the options of `judge evaluate`, `judge plan` and `judge rejudge` describe."""

from __future__ import annotations

from collections.abc import Sequence

from judge.cli.options import asked_gpus
from judge.config import UsageError
from judge.evaluation.request import Request
from sandbox.driver import DriverName


def make_request(
    ids: Sequence[str] | None,
    suite: str | None,
    tasks: Sequence[str] | None,
    gpus: str,
    driver: DriverName | None,
    skip_missing: bool,
    retry_held: bool = False,
) -> Request:
    """The request, with its other fields left at their defaults."""
    return Request(
        ids=tuple(ids or ()),
        suite=suite,
        tasks=tuple(tasks or ()),
        gpus=asked_gpus(gpus),
        driver=driver,
        skip_missing=skip_missing,
        retry_held=retry_held,
    )


def require_choice(command: str, ids: Sequence[str] | None, everything: bool) -> None:
    """Returns if either submissions or --all were given.

    Raises:
        UsageError: both were, or neither.
    """
    if everything == bool(ids):
        raise UsageError(f"say which submissions: judge {command} --all, or judge {command} ID…")
