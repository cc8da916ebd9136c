"""The request that the options of `judge evaluate`, `judge plan` and `judge rejudge` describe."""

from __future__ import annotations

from collections.abc import Sequence

from judge.cli.options import asked_gpus
from judge.config import UsageError
from judge.evaluation.estimate import HOUR_S
from judge.evaluation.request import Request
from sandbox.driver import DriverName
from sandbox.drivers.gpu import list_gpus

ALL_GPUS = "all"


def make_request(
    ids: Sequence[str] | None,
    suite: str | None,
    tasks: Sequence[str] | None,
    gpus: str,
    driver: DriverName | None,
    skip_missing: bool,
    retry_held: bool = False,
    observe_only: bool = False,
    budget: float | None = None,
) -> Request:
    """The request of the options.

    Args:
        gpus: UUIDs, comma-separated; `all` for all of this machine.
        budget: [h].

    Raises:
        UsageError: the budget is not positive, or there is no GPU to take all of.
    """
    if budget is not None and not budget > 0:
        raise UsageError(f"--budget must be more than 0 hours, not {budget:g}")
    return Request(
        ids=tuple(ids or ()),
        suite=suite,
        tasks=tuple(tasks or ()),
        gpus=_all_gpus() if gpus.strip().casefold() == ALL_GPUS else asked_gpus(gpus),
        driver=driver,
        skip_missing=skip_missing,
        retry_held=retry_held,
        observe_only=observe_only,
        budget_s=None if budget is None else budget * HOUR_S,
    )


def _all_gpus() -> tuple[str, ...]:
    uuids = tuple(gpu.uuid for gpu in list_gpus())
    if not uuids:
        raise UsageError("--gpus all: nvidia-smi -L lists no GPU on this machine; without --gpus models run on the CPU")
    return uuids


def require_choice(command: str, ids: Sequence[str] | None, everything: bool) -> None:
    """Returns if either submissions or --all were given.

    Raises:
        UsageError: both were, or neither.
    """
    if everything == bool(ids):
        raise UsageError(f"say which submissions: judge {command} --all, or judge {command} ID…")
