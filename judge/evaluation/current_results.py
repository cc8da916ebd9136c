"""The stored results that are current: they fit the present data sets, versions and limits."""

from __future__ import annotations

from dataclasses import replace

from judge.data.datasets import is_there
from judge.data.testset import read_testset
from judge.evaluation.equal_guests import units_with_answers
from judge.evaluation.plan import Circumstances, Step, depends_on_hardware, make_plan
from judge.evaluation.work_plan import make_units
from judge.records.attempts import read_histories
from judge.records.decisions import Rounds, read_all_decisions, rounds_that_count
from judge.records.hardware import hardware_class
from judge.records.items_file import result_path
from judge.records.probe_secret import known_secret
from judge.records.results import read_submissions
from judge.workspace import Workspace
from sandbox.guest_archive import guest_version
from tasks.kinds.registry import KINDS
from tasks.suites.suite import Suite


def current_results(workspace: Workspace, suite: Suite, rounds: Rounds | None = None) -> frozenset[str]:
    """Keys of the results in the store that fit the present data sets, versions and limits.

    `load_results` prefers them. Else the newest result would count, which is wrong after a label was changed and
    changed back. Timings and trainings are current on whichever machine they ran; if there are several, the newest
    counts. Tasks whose data sets are missing have no current results.

    Args:
        rounds: used in place of the rounds that count.

    Raises:
        DatasetError: one line that names file and field.
        StoreError: a record cannot be read, or nobody trusted signed an event; one line that names it.
    """
    store, data, limits = workspace.store, workspace.data, workspace.settings.limits
    tasks = [task for task in suite.tasks if is_there(data, task.dataset)]
    testsets = {task.dataset: read_testset(data, task.dataset) for task in tasks}
    submissions = read_submissions(store)
    histories = read_histories(store, [submission.id for submission in submissions])
    common = Circumstances(
        guest_version(),
        limits,
        hardware_class(limits.cpus, None),
        secret=known_secret(store),
        equal_guests=workspace.settings.equal_guests,
    )
    if rounds is None:
        rounds = rounds_that_count(read_all_decisions(store, [s.id for s in submissions], workspace.trusted))
    units = units_with_answers(make_units(submissions, tasks, testsets, common, rounds), common, histories)
    by_hardware = [task for task in tasks if depends_on_hardware(KINDS[task.kind])]
    for hardware in sorted({h.end.origin.hardware for h in histories.values() if h.end} - {common.hardware}):
        other = replace(common, hardware=hardware)
        of_hardware = make_units(submissions, by_hardware, testsets, other, rounds)
        units += units_with_answers(of_hardware, other, histories)
    plan = make_plan(units, histories, frozenset(store.list("results/")).__contains__)
    return frozenset(
        result_path(unit.submission.id, unit.task.name, unit.result_key(history.end))
        for unit, history, step in plan
        if step is Step.DONE and history.end
    )
