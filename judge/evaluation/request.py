"""The request of a command: which submissions, which tasks, on which machine; and what it names in the store."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from judge.config import JudgeSettings, UsageError
from judge.data.datasets import Prepared, own_datasets, prepare
from judge.evaluation.equal_guests import check_equal_guests
from judge.evaluation.estimate import HOUR_S
from judge.evaluation.plan import Circumstances
from judge.records.decisions import Rounds, read_all_decisions, removed_lines, rounds_that_count
from judge.records.hardware import hardware_class
from judge.records.probe_secret import order_secret
from judge.records.record_cache import RecordCache, open_cache
from judge.records.results import read_submissions
from judge.records.suite_record import load_unchanged
from judge.workspace import Workspace
from sandbox.driver import DriverName
from sandbox.drivers.gpu import Gpu, require_gpus
from sandbox.guest_archive import guest_version
from submissions.progress import Reporter
from submissions.records import Submission
from submissions.store.interface import Store
from tasks.suites.names import did_you_mean, known_name
from tasks.suites.suite import Suite, Task


@dataclass(frozen=True)
class Request:
    """The options of a command that judges.

    Args:
        ids: submissions; empty for all.
        suite: name or path; None for that of the settings.
        tasks: names; empty for all of the suite.
        gpus: UUIDs; empty for the CPU.
        driver: None for that of the settings.
        retry_held: try held units once more.
        skip_missing: leave out the tasks whose data sets are missing.
        observe_only: only ask the models; another machine has the labels and measures.
        budget_s: start no unit that is expected to end after this time [s]; None for no budget.
        rounds: judge only these tasks, each in its round; None: all tasks, in the rounds that count.
    """

    ids: tuple[str, ...] = ()
    suite: str | None = None
    tasks: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    driver: DriverName | None = None
    retry_held: bool = False
    skip_missing: bool = False
    observe_only: bool = False
    budget_s: float | None = None
    rounds: Rounds | None = None

    @property
    def suite_option(self) -> str:
        """The option by which another command works on the same suite; empty for the suite of the settings."""
        return f" --suite {shlex.quote(self.suite)}" if self.suite else ""

    @property
    def machine_options(self) -> str:
        """The options by which another command judges the same suite in the same way, with a space before each."""
        options = self.suite_option
        if self.gpus:
            options += f" --gpus {shlex.quote(','.join(self.gpus))}"
        if self.driver:
            options += f" --driver {self.driver}"
        return options + " --observe-only" * self.observe_only

    @property
    def options(self) -> list[str]:
        """The options of this request, except --retry-held, as arguments of a command."""
        tasks = "".join(f" --task {shlex.quote(task)}" for task in self.tasks)
        budget = "" if self.budget_s is None else f" --budget {self.budget_s / HOUR_S:g}"
        return shlex.split(f"{tasks}{self.machine_options}{' --skip-missing' * self.skip_missing}{budget}")

    @property
    def command(self) -> str:
        """The command `judge evaluate` with the options of this request, except --retry-held."""
        return shlex.join(["judge", "evaluate", *(self.ids or ("--all",)), *self.options])


@dataclass(frozen=True)
class Scope:
    """The submissions and tasks of a request, before their attempts and results are read.

    Args:
        submissions: that `driver` may judge.
        skipped: a line for each other submission.
    """

    suite: Suite
    store: Store
    cache: RecordCache
    driver: DriverName
    gpus: Sequence[Gpu]
    submissions: Sequence[Submission]
    prepared: Prepared
    common: Circumstances
    rounds: Rounds
    skipped: tuple[str, ...]


def scope_of(workspace: Workspace, request: Request, reporter: Reporter) -> Scope:
    """The submissions and tasks of a request. Builds packaged data sets that are missing, and changes nothing else.

    Raises:
        UsageError: an unknown submission, task or data set; a submission that this driver may not run; a data set that
            does not fit its task; a suite that was changed and has the same version.
        SuiteError, DatasetError: one line that names file and field.
        StoreError: a record cannot be read.
        JudgeFault: a GPU is missing, or the store fails.
    """
    settings, store = workspace.settings, workspace.store
    driver: DriverName = request.driver or settings.driver
    suite = load_unchanged(store, request.suite or settings.suite)
    tasks = choose_tasks(suite, request.tasks)
    known = read_submissions(store)
    chosen = choose_submissions(known, request.ids)
    decisions_by_id = read_all_decisions(store, [submission.id for submission in chosen], workspace.trusted)
    judged = [submission for submission in chosen if not decisions_by_id[submission.id].removal]
    submissions, skipped = split_by_driver(judged, driver, settings.allow_process or request.driver == "process")
    skipped = [*removed_lines(chosen, decisions_by_id), *skipped]
    if request.ids and skipped:
        raise UsageError(skipped[0])
    for line in skipped:
        reporter.say(f"- {line}")
    cache = open_cache(settings, store)
    check_equal_guests(settings, cache, known)
    gpus = require_gpus(list(request.gpus))
    if not submissions:  # then nobody needs the data sets that the judge builds
        tasks = [task for task in tasks if task.dataset not in own_datasets()]
    prepared = prepare(settings.data, suite, tasks, reporter, request.skip_missing)
    return Scope(
        suite=suite,
        store=store,
        cache=cache,
        driver=driver,
        gpus=gpus,
        submissions=submissions,
        prepared=prepared,
        common=circumstances(settings, gpus, order_secret(store)),
        rounds=rounds_that_count(decisions_by_id) if request.rounds is None else request.rounds,
        skipped=tuple(skipped),
    )


def circumstances(settings: JudgeSettings, gpus: Sequence[Gpu], secret: bytes) -> Circumstances:
    """The circumstances of all units that are judged now on this machine.

    Args:
        secret: of the store.
    """
    hardware = hardware_class(settings.limits.cpus, gpus[0].name if gpus else None)
    return Circumstances(
        guest_version(),
        settings.limits,
        hardware,
        settings.shard_structures,
        secret,
        equal_guests=settings.equal_guests,
    )


def choose_tasks(suite: Suite, names: Sequence[str]) -> list[Task]:
    """The tasks of `suite` with these names; all if there are no names."""
    known = [task.name for task in suite.tasks]
    chosen = {known_name(name, known) for name in names}
    if None in chosen:
        name = next(name for name in names if known_name(name, known) is None)
        raise UsageError(
            f"suite {suite.name} has no task {name!r}: it has {', '.join(known)}{did_you_mean(name, known)}"
        )
    return [task for task in suite.tasks if not names or task.name in chosen]


def choose_submissions(known: Sequence[Submission], ids: Sequence[str]) -> list[Submission]:
    """The submissions with these IDs, or the only ones whose ID begins so; all if there are no IDs."""
    by_id = {submission.id: submission for submission in known}
    return [by_id[id] for id in dict.fromkeys(choose_id(by_id, wanted) for wanted in ids or by_id)]


def choose_id(known: Collection[str], wanted: str) -> str:
    """The ID of the submission with the ID `wanted`, or of the only one whose ID begins so, in any case.

    Raises:
        UsageError: there is none, or there are several.
    """
    exact = known_name(wanted, known)
    matches = [exact] if exact else [id for id in known if id.casefold().startswith(wanted.casefold())]
    if not matches:
        close = did_you_mean(wanted, known) or did_you_mean(wanted, (id.rpartition("-")[0] for id in known))
        raise UsageError(f"there is no submission {wanted!r}: see them with judge list{close}")
    if len(matches) > 1:
        raise UsageError(f"{wanted!r} is the beginning of {len(matches)} submissions: {', '.join(matches)}")
    return matches[0]


def split_by_driver(
    submissions: Sequence[Submission], driver: DriverName, process_allowed: bool
) -> tuple[list[Submission], list[str]]:
    """The submissions that `driver` may run, and a line with the reason for each other one."""
    taken, refused = [], []
    for submission in submissions:
        needed_driver = submission.image.driver
        if needed_driver != driver:
            why = "in a container" if needed_driver == "docker" else "as a process of this machine, with no isolation"
            refused.append(f"{submission.id} was submitted to be run {why}: give --driver {needed_driver}")
        elif needed_driver == "process" and not process_allowed:
            refused.append(f"{submission.id} would run with no isolation: say so with --driver process")
        else:
            taken.append(submission)
    return taken, refused
