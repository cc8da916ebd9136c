"""The preflight on this machine, with its progress on the console."""

from __future__ import annotations

from contextlib import nullcontext

from rich.console import Console

from sandbox.driver import Driver, Image
from sandbox.drivers.gpu import hold_gpu, require_gpus
from sandbox.wire.session import SessionOutcome
from submissions.preflight.acceptance import questions
from submissions.preflight.preflight import run_preflight
from submissions.progress import Reporter
from submissions.records import ModelCard, PreflightReport
from submissions.settings import Settings


def local_preflight(
    console: Console, settings: Settings, name: str, driver: Driver, image: Image, card: ModelCard, gpu: str | None
) -> SessionOutcome[PreflightReport]:
    """The outcome of the preflight of `image`, for the domains that `card` declares.

    Args:
        name: of the image, for the console.
        gpu: UUID of the GPU to run on; None for the CPU.
    """
    if gpu:
        require_gpus([gpu])
    hold = hold_gpu(gpu, settings.run_dir / "gpus") if gpu else nullcontext()
    with Reporter(console) as reporter, reporter.unit(f"preflight of {name}") as progress, hold:
        return run_preflight(driver, image, settings.limits, questions(card, gpu), progress)
