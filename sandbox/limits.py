"""The limits of a submission: one frozen record, part of every observation's key."""

from __future__ import annotations

import os

from pydantic import BaseModel, ConfigDict, Field

MIB = 1024 * 1024
GIB = 1024 * MIB


class Limits(BaseModel):
    """Limits of one container. There is no swap, so `memory_bytes` is the total; `/tmp` counts towards it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory_bytes: int = Field(8 * GIB, ge=64 * MIB)
    tmp_bytes: int = Field(2 * GIB, ge=MIB)
    shm_bytes: int = Field(256 * MIB, ge=MIB)
    pids: int = Field(1024, ge=16)
    open_files: int = Field(4096, ge=64)
    cpus: int = Field(default_factory=lambda: len(os.sched_getaffinity(0)), ge=1)
    log_bytes: int = Field(8 * MIB, ge=64 * 1024)
    startup_s: float = Field(300.0, gt=0)
    message_s: float = Field(600.0, gt=0)
    task_s: float = Field(3600.0, gt=0)
    max_atoms_per_batch: int = Field(20_000, ge=1)
