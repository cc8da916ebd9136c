"""`judge doctor`: checks this machine by real operations, and states a remedy for what is missing."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from ase.build import bulk
from rich.console import Console

from judge.config import ConfigError, JudgeSettings, UsageError
from judge.data.datasets import build_quickstart, check_domain, check_kind, is_there, own_datasets
from judge.evaluation.equal_guests import describe_guests
from judge.evaluation.evaluate import disks
from judge.images.credentials import login_for
from judge.images.disk_space import free_bytes, require_room
from judge.images.mirror import open_mirror
from judge.publishing.destination import open_site
from judge.records.hardware import cpu_name
from judge.records.manifest import FILE
from judge.records.record_cache import open_cache
from judge.records.results import read_submissions
from judge.records.signing import SigningKey, safe_key_file, trusted_keys
from judge.records.suite_record import load_unchanged
from judge.upkeep.bucket_checks import (
    check_site,
    check_status_bucket,
    check_upload_bucket,
    require_bucket_settings,
    weak_points,
)
from judge.workspace import Workspace
from sandbox.driver import DriverName, Question
from sandbox.drivers.gpu import list_gpus
from sandbox.drivers.host_report import host_report
from sandbox.drivers.open_driver import open_driver
from sandbox.limits import GIB, Limits
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault, Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
from submissions.progress import Reporter, count
from tasks.datasets.dataset import DatasetError, load_dataset, read_card
from tasks.structures.frames import Frames
from tasks.suites.suite import Suite, SuiteError, Task

EXAMPLE_IMAGE = "lambench/emt:latest"
_CALCULATOR = "from ase.calculators.emt import EMT\n\n\ndef make_calculator():\n    return EMT()\n"
_COPPER_EV = -0.005681511358581  # energy of fcc copper, a = 3.61 Å, per atom, ASE's EMT
_PROBE_KEY = "doctor/probe"


Finding = tuple[bool | None, str]
"""Whether a part of the machine works, None if it is optional and absent; and a sentence about it."""


class CheckResult(NamedTuple):
    """One line of the table. `ok` is None if something optional is absent."""

    name: str
    ok: bool | None
    text: str


def examine(workspace: Workspace) -> Iterator[CheckResult]:
    """The result of each check, as soon as it is done."""
    settings = workspace.settings
    checks: list[tuple[str, Callable[[], Finding]]] = [
        ("processor", lambda: (True, f"{settings.limits.cpus} × {cpu_name()} for a container")),
        ("GPU", _gpus),
        ("host", lambda: (True, host_report())),
        ("disk", lambda: _disk(settings)),
        ("store", lambda: _store(workspace)),
        ("key", lambda: _key(settings)),
    ]
    if settings.upload_bucket or settings.status_bucket or settings.status_url:
        checks += [
            ("upload bucket", lambda: _upload_bucket(workspace)),
            ("status bucket", lambda: _status_bucket(workspace)),
            ("mirror", lambda: _mirror(workspace)),
        ]
    if "://" in settings.publish_to:
        checks += [("site", lambda: _site(workspace))]
    checks += [("folders", lambda: _folders(settings)), ("data", lambda: _data(settings))]
    checks += [("suite", lambda: _suite(workspace)), ("guest", lambda: _guest_versions(workspace))]
    for name, check in checks:
        yield _run_check(name, check)
    yield _run_check("guest, as a process", lambda: _guest("process", settings))
    engine = _run_check("engine", lambda: _engine(settings))
    yield engine
    if engine.ok:
        yield _run_check("guest, in a container", lambda: _guest("docker", settings))


def _run_check(name: str, check: Callable[[], Finding]) -> CheckResult:
    try:
        ok, text = check()
    except JudgeFault as fault:
        return CheckResult(name, False, fault.remedy)
    except (OSError, DatasetError, ConfigError, UsageError, SuiteError) as error:
        return CheckResult(name, False, str(error))
    return CheckResult(name, ok, text)


def _engine(settings: JudgeSettings) -> Finding:
    try:
        driver = open_driver("docker", settings.run_dir, settings.runtime, settings.cold_start)
        for disk in driver.disks:
            require_room(disk, settings.min_free_bytes)
    except JudgeFault as fault:
        return (None if settings.driver == "process" else False), fault.remedy
    return True, "the Docker engine answers, and its disk has room"


def _gpus() -> Finding:
    gpus = list_gpus()
    if not gpus:
        return None, "none: models run on the CPU unless --gpus is given, and then this machine refuses"
    return True, ", ".join(f"{gpu.name} ({gpu.uuid})" for gpu in gpus)


def _disk(settings: JudgeSettings) -> Finding:
    places = disks(settings)
    for place in places:
        require_room(place, settings.min_free_bytes)
    least = min(places, key=free_bytes)
    needed = settings.min_free_bytes / GIB
    return True, f"{free_bytes(least) / GIB:.1f} GiB free at {least}, the least; judging needs {needed:.2g} GiB"


def _store(workspace: Workspace) -> Finding:
    settings, store = workspace.settings, workspace.store
    store.delete(_PROBE_KEY)
    if not store.put_if_absent(_PROBE_KEY, b"1") or store.put_if_absent(_PROBE_KEY, b"2"):
        raise JudgeFault(
            FaultCause.STORE, f"{settings.store} lets two processes create the same file: use another disk"
        )
    store.delete(_PROBE_KEY)
    n = sum(key.endswith("/submission.json") for key in store.list("submissions/"))
    return True, f"{settings.store}: written and read; {count(n, 'submission')}"


def _key(settings: JudgeSettings) -> Finding:
    path = safe_key_file(settings)
    trusted_keys(settings)
    try:
        SigningKey.load(path)
    except FileNotFoundError:
        return None, f"none in {path} yet: the first judge evaluate makes one, or judge keys create"
    return True, f"{path}: only its owner can read it"


def _upload_bucket(workspace: Workspace) -> Finding:
    require_bucket_settings(workspace.settings)
    return True, check_upload_bucket(workspace)


def _status_bucket(workspace: Workspace) -> Finding:
    require_bucket_settings(workspace.settings)
    return True, "; but ".join([check_status_bucket(workspace), *weak_points(workspace)])


def _mirror(workspace: Workspace) -> Finding:
    open_mirror(workspace).probe()
    settings = workspace.settings
    known = [host for host in settings.registries if login_for(settings.registry_config, host)]
    return True, f"{settings.mirror}: written and read; credentials for {', '.join(known) or 'no other registry'}"


def _site(workspace: Workspace) -> Finding:
    place = open_site(workspace.settings)
    place.difference({})  # reads and lists; the probe writes
    published = dict(place.read([FILE]))[FILE]
    sentence = check_site(workspace, FILE, published)
    return True, f"{place.path()}: {sentence}{'' if published else '; nothing is published there yet'}"


def _folders(settings: JudgeSettings) -> Finding:
    """Whether files can be written into the folders of data sets and pages, or where these will be made."""
    for name, folder in (("data", settings.data), ("site_dir", settings.site_dir)):
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        try:
            with tempfile.TemporaryFile(dir=existing) as file:
                file.write(b"1")
        except OSError as error:
            return False, f"{folder} cannot be written ({error.strerror}): make room for it, or set {name}"
    return True, f"files can be written into {settings.data} and {settings.site_dir}"


def _data(settings: JudgeSettings) -> Finding:
    cards = sorted(settings.data.glob("*/card.toml"))
    if not cards:
        return None, f"no data set in {settings.data} yet: the quickstart suite builds its own; else judge data import"
    for card in cards:
        load_dataset(card.parent)
    return True, f"{len(cards)} data sets in {settings.data}; all hashes agree with their cards"


def _suite(workspace: Workspace) -> Finding:
    """Whether each task of the suite of the settings can be judged: its data set is there, and fits its kind."""
    data = workspace.data
    suite = load_unchanged(workspace.store, workspace.settings.suite)
    present = [task for task in suite.tasks if is_there(data, task.dataset)]
    _check_tasks(data, suite, present)
    absent = {task.dataset for task in suite.tasks} - {task.dataset for task in present}
    missing = sorted(absent - own_datasets())
    if missing:
        names = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
        return False, f"{suite.name}: data sets are missing ({names}): judge plan says how to import each"
    with tempfile.TemporaryDirectory(prefix="lambench-doctor-") as folder:
        to_build = [task for task in suite.tasks if task.dataset in absent]
        build_quickstart(Path(folder), to_build, Reporter(Console(quiet=True)))
        _check_tasks(Path(folder), suite, to_build)
    built = f"; judge evaluate builds {len(absent)} data sets" if absent else ""
    return True, f"{suite.name}, version {suite.version}: its {len(suite.tasks)} tasks can be judged{built}"


def _check_tasks(data: Path, suite: Suite, tasks: Sequence[Task]) -> None:
    for task in tasks:
        check_domain(suite, task, read_card(data / task.dataset))
        check_kind(data, suite, task)


def _guest_versions(workspace: Workspace) -> Finding:
    settings, store = workspace.settings, workspace.store
    return True, describe_guests(settings, open_cache(settings, store), read_submissions(store))


def _guest(driver_name: DriverName, settings: JudgeSettings) -> Finding:
    """Starts a guest in the sandbox, asks it for the energy of copper, and compares with the known value."""
    driver = open_driver(driver_name, settings.run_dir, settings.runtime, settings.cold_start)
    limits = Limits(startup_s=60.0, task_s=60.0, message_s=30.0, cpus=1)
    with tempfile.TemporaryDirectory(prefix="lambench-doctor-") as folder:
        (Path(folder) / "calculator.py").write_text(_CALCULATOR)
        try:
            image = driver.resolve(EXAMPLE_IMAGE if driver_name == "docker" else folder)
        except SubmissionFault:
            return None, f"not tried: {EXAMPLE_IMAGE} is not here; build it with make images"
        outcome = run_session(driver, image, limits, Question(), _ask)
    if outcome.verdict is not Verdict.OK or outcome.value is None:
        return False, f"{outcome.verdict}: {outcome.sentence} {' '.join(outcome.private.split())[-200:]}"
    energy, echo_s = outcome.value
    if not abs(energy - _COPPER_EV) < 1e-9:
        return False, f"the energy of copper is {energy:.6f} eV, not {_COPPER_EV:.6f}: reinstall ASE"
    start = outcome.startup_s or 0.0
    text = f"connected in {start:.2f} s, copper's energy is right, a round trip costs {echo_s * 1e6:.0f} µs"
    if driver_name == "docker" and outcome.memory_bytes is None:
        text += "; its cgroup cannot be read: peak memory, and the cause of a kill for memory, are not known"
    if driver_name == "docker" and settings.cold_start != "required":
        text += f'; cold_start = "{settings.cold_start}": the selftest fails, since containers can leave bits'
    return True, text


def _ask(remote: RemoteCalculator) -> tuple[float, float]:
    answer = remote.compute(Frames.from_atoms([bulk("Cu", a=3.61)]), ("energy",))
    return float(answer.energy[0]), float(np.median([remote.echo(4096) for _ in range(20)]))
