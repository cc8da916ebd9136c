"""Where a number comes from: image, judge, machine, data."""

from __future__ import annotations

import platform
import re
from functools import cache
from importlib import metadata
from pathlib import Path

from judge.plan import Unit
from judge.records import End, Provenance
from sandbox.guest_archive import guest_version

_COMMIT = re.compile(r"^[0-9a-f]{40}(?:[0-9a-f]{24})?$")


def provenance(unit: Unit, end: End) -> Provenance:
    """Where what `end` came to was observed, and with what it is measured."""
    d3 = unit.correction.d3
    return Provenance(
        image_id=unit.submission.image.id,
        contract=unit.submission.contract,
        guest=guest_version(),
        judge_version=judge_version(),
        judge_commit=judge_commit(),
        driver=unit.submission.image.driver,
        host=platform.node(),
        hardware=end.hardware,
        device=end.device,
        dataset=unit.task.dataset,
        frames_sha256=unit.testset.frames_sha256,
        labels_sha256=unit.testset.labels_sha256,
        observation=end.observation,
        observe_version=unit.kind.observe_version,
        measure_version=unit.kind.measure_version,
        limits={name: float(value) for name, value in unit.limits.model_dump().items()},
        dispersion=f"DFT-D3({d3.functional}, {d3.damping})" if d3 else "",
    )


def judge_version() -> str:
    """The version of this judge."""
    try:
        return metadata.version("lambench-judge")
    except metadata.PackageNotFoundError:
        return "unknown"


@cache
def judge_commit(root: Path = Path(__file__).parents[1]) -> str:
    """The commit that is checked out at `root`, empty where that is no checkout. Says nothing of changes since."""
    git = root / ".git"
    try:
        head = (git / "HEAD").read_text(encoding="ascii").strip()
        if head.startswith("ref: "):
            head = _resolve(git, head.removeprefix("ref: "))
    except (OSError, UnicodeDecodeError):
        return ""
    return head if _COMMIT.match(head) else ""


def _resolve(git: Path, ref: str) -> str:
    """What `ref` points to: in a file of its own, or among those that were packed."""
    if (git / ref).is_file():
        return (git / ref).read_text(encoding="ascii").strip()
    for line in (git / "packed-refs").read_text(encoding="ascii").splitlines():
        commit, _, name = line.partition(" ")
        if name == ref:
            return commit
    return ""
