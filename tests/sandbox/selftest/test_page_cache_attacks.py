"""The page cache carries no bits from one container to the next; without cold starts it carries all of them."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import docker
import numpy as np
import pytest

from sandbox.driver import ColdStart
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.rundir import RunDir
from sandbox.selftest.asking import PATIENCE, report
from sandbox.selftest.attack import Attack, Finding, Trial
from sandbox.selftest.images import HostileImages
from sandbox.selftest.page_cache_attacks import (
    N_BITS,
    PAGE_CACHE_ATTACKS,
    WAYS,
    bits_of,
    error_rates,
    words_of,
)
from sandbox.selftest.run import run_attack
from tests.world.session_lock import no_session

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


FILES = (
    'RUN mkdir /model/names /model/links && python3 -c "import os;'
    " [open(f'/model/names/{n}', 'w').write('x' * 9000) for n in range(768)];"
    " [os.symlink('x' * 200, f'/model/links/{n}') for n in range(768)]\"",
)
DROP_CACHES = Path("/proc/sys/vm/drop_caches")
RARE = ("absent_names", "attributes", "access_lists", "targets")  # tried in `make soak`


def attack_by(way: str) -> Attack:
    """It looks something up for each bit that the next start shall read."""
    only_here = Finding(False, "only this test makes the host forget first")
    return Attack(
        f"{way.replace('_', '-')}-for-the-next-start", "", f"page_cache:{way}", lambda trial: only_here, FILES
    )


N_MESSAGES, N_TRIES = 4, 16


@pytest.mark.parametrize(
    "way", ["names", "links", "blocks", *(pytest.param(way, marks=pytest.mark.soak) for way in RARE)]
)
@pytest.mark.parametrize("cold_start", ["required", "off"])
def test_what_a_container_has_looked_up(
    run_dir: RunDir, images: docker.DockerClient, way: str, cold_start: ColdStart
) -> None:
    """What the kernel knows is found sooner, also that a name does not exist. Before each start it forgets all.

    Without cold starts one message that comes through proves the way, however busy the host is with other things.
    """
    driver, rng, rates = DockerDriver(run_dir, cold_start=cold_start), np.random.default_rng(), []
    trial = Trial(driver, HostileImages().of(attack_by(way), driver))
    while len(rates) < N_MESSAGES or (cold_start == "off" and min(rates) > 0.3 and len(rates) < N_TRIES):
        sent = rng.integers(0, 2, N_BITS).astype(bool)
        with no_session() if cold_start == "off" else nullcontext():
            DROP_CACHES.write_text("3")  # a host that needs memory forgets what it knows
            trial.run(lambda remote, sent=sent: report(remote, *words_of(sent)), **PATIENCE)
            read = trial.run(lambda remote: bits_of(report(remote)), **PATIENCE).value
        rates.append(float(np.mean(read != sent)))
    if cold_start == "off":
        assert min(rates) <= 0.3, rates
    else:
        assert 0.46 <= float(np.median(rates)) <= 0.54, rates
