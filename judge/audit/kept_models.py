"""The trained models of submissions: which there are, and whether they still answer as they did.

A model is kept under its hash. Asked again in a fresh container it must give the stored answers, up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from judge.evaluation.evaluate import this_machine
from judge.evaluation.machine import Machine
from judge.evaluation.plan import Planned
from judge.evaluation.request import Request
from judge.evaluation.train import ask_trained
from judge.evaluation.work_plan import WorkPlan, plan_work
from judge.records.model_file import model_path, read_model
from judge.records.observation_file import read_observation
from judge.records.records import End
from judge.records.removals import was_removed
from judge.workspace import Workspace
from sandbox.verdict import SubmissionFault, Verdict
from submissions.progress import Reporter
from submissions.records import Record
from tasks.datasets.dataset import load_dataset
from tasks.learning.training import Training, training_frames

REMOVED = "Its answers were removed by the retention policy, so its model cannot be compared with them."


class KeptTraining(Record):
    """One training and its model.

    Args:
        verdict: None if it has no end yet.
        model: sha256 of the model; empty if it left none.
        is_kept: whether the model is still in the store.
        answered: whether its model answered, and the answers are in the store.
        largest_change: of energies [eV] and forces [eV/Å], asked again; None if it was not asked, or gave no answer.
        sentence: of the training, or why its model gave no answer when asked again, or was not asked.
    """

    submission: str
    task: str
    training: str
    verdict: Verdict | None
    sentence: str = ""
    model: str = ""
    is_kept: bool = False
    answered: bool = False
    largest_change: float | None = None


def kept_trainings(
    workspace: Workspace, request: Request, reporter: Reporter, ask_again: bool
) -> Iterator[KeptTraining]:
    """The trainings of a request.

    Args:
        ask_again: each model that answered is asked once more, in a fresh container. Nothing is stored.

    Raises:
        UsageError, SuiteError, DatasetError, JudgeFault: as `judge.evaluation.work_plan.plan_work`.
        StoreError: a model is damaged.
    """
    work = plan_work(workspace, request, reporter)
    machine = this_machine(workspace.settings, work, reporter) if ask_again else None
    for planned in work.plan:
        training, end = planned.unit.training, planned.history.end
        if training is None:
            continue
        model = (end.model or "") if end else ""
        observation = end.observation if end else None
        is_removed = observation is not None and was_removed(work.store, observation)
        found = KeptTraining(
            submission=planned.unit.submission.id,
            task=planned.unit.task.name,
            training=training.name,
            verdict=end.verdict if end else None,
            sentence=REMOVED if is_removed else end.sentence if end else "",
            model=model,
            is_kept=bool(model) and work.store.exists(model_path(model)),
            answered=observation is not None and not is_removed,
        )
        if machine is not None and end is not None and found.answered and found.is_kept:
            found = found.model_copy(update=_asked_again(workspace, work, planned, training, end, machine))
        yield found


def _asked_again(
    workspace: Workspace, work: WorkPlan, planned: Planned, training: Training, end: End, machine: Machine
) -> dict[str, object]:
    unit = planned.unit
    model = read_model(work.store, end.model or "")
    dataset = load_dataset(workspace.data / unit.task.dataset)
    frames = dataset.frames.take(training_frames(dataset, training).asked)
    target = machine.target(unit.submission, (), "")
    if isinstance(target.image, SubmissionFault):
        return {"sentence": target.image.sentence}
    outcome = ask_trained(unit, target, target.image, model, frames)
    if outcome.value is None:
        return {"sentence": f"{outcome.verdict}: {outcome.sentence}"}
    stored = read_observation(work.store, end.observation or "").arrays
    changes = [
        float(np.nanmax(np.abs(array - stored[name]), initial=0.0))
        for name, array in outcome.value.arrays.items()
        if name in stored and array.shape == stored[name].shape
    ]
    return {"largest_change": max(changes, default=None)}
