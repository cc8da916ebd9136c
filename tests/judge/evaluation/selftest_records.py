"""Records of selftests, and results of the host that they prove."""

from __future__ import annotations

from datetime import UTC, datetime

from judge.evaluation.host_selftest import (
    AttackRecord,
    SelftestRecord,
)
from judge.records.records import Origin, Result
from judge.version import judge_version
from tests.world.board_records import SUITE, good_metrics, result, submission
from tests.world.judged import all_held

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
ENGINE = "Docker 20.10.24 (runc 1.1.5, Linux 6.1.0, cgroup v2)"
MAX_AGE_DAYS = 30.0


def selftest_of(
    host: str = "gpu-1", engine: str = ENGINE, started: datetime = NOON, held: bool = True, passed: bool | None = None
) -> SelftestRecord:
    return SelftestRecord(
        host=host,
        engine=engine,
        driver="docker",
        judge_version=judge_version(),
        judge_commit="",
        guest="0" * 16,
        base=f"sha256:{'0' * 64}",
        started=started,
        seconds=120.0,
        results=(
            *all_held(),
            AttackRecord(name="gain-root", tries="It gains root.", held=held, how="as seen", seconds=1.0),
        ),
        passed=held if passed is None else passed,
    )


def result_of(host: str = "gpu-1", engine: str = ENGINE, driver: str = "docker") -> Result:
    made = result(submission("emt"), SUITE.tasks[0], good_metrics(0.5)["crystals"], driver=driver)
    origin = Origin(host=host, engine=engine, driver=driver)
    return made.model_copy(update={"provenance": made.provenance.model_copy(update={"origin": origin})})
