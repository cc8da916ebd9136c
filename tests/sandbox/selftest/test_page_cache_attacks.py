"""The page cache carries no bits from one container to the next; without cold starts it carries all of them."""

from __future__ import annotations

import docker
import numpy as np
import pytest

from sandbox.driver import ColdStart
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.rundir import RunDir
from sandbox.selftest.attack import Trial
from sandbox.selftest.images import HostileImages
from sandbox.selftest.page_cache_attacks import N_BITS, PAGE_CACHE_ATTACKS, WAYS, error_rates
from sandbox.selftest.run import run_attack

pytestmark = [pytest.mark.docker, pytest.mark.together("selftest"), pytest.mark.timeout(600)]
(ATTACK,) = PAGE_CACHE_ATTACKS
N_TRIALS = 20


def rates(run_dir: RunDir, cold_start: ColdStart, n_trials: int) -> np.ndarray:
    """(n_trials, 2, `WAYS`) the share of bits that the writing container and the next one misread."""
    driver, rng = DockerDriver(run_dir, cold_start=cold_start), np.random.default_rng()
    trial = Trial(driver, HostileImages().of(ATTACK, driver))
    sent = rng.integers(0, 2, (n_trials, N_BITS)).astype(bool)
    return np.array([error_rates(trial, bits) for bits in sent])


def test_the_next_start_misreads_half_of_the_bits(run_dir: RunDir, images: docker.DockerClient) -> None:
    measured = rates(run_dir, "required", N_TRIALS)
    assert (measured[:, 0] < 0.1).all(), "the writing container cannot read its own bits: this proves nothing"
    mean = dict(zip(WAYS, measured[:, 1].mean(axis=0), strict=True))
    assert all(0.48 <= rate <= 0.52 for rate in mean.values()), mean


def test_without_cold_starts_the_next_start_reads_the_bits(run_dir: RunDir, images: docker.DockerClient) -> None:
    measured = rates(run_dir, "off", 2)
    assert (measured[:, 1] < 0.1).all(), measured
    assert not run_attack(ATTACK, DockerDriver(run_dir, cold_start="off"), HostileImages()).held
