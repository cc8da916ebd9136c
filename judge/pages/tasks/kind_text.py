"""The text about the kind of a task: the formula, how the judge asks the model, and the cost of a failure."""

from __future__ import annotations

import logging
from functools import lru_cache, partial
from typing import NamedTuple

from jinja2 import Environment, Template, TemplateError
from markupsafe import Markup

from judge.view.jinja import has_template, template
from judge.view.page_context import Frame
from scoring.lambench.release import Release
from tasks.kinds.nve import FAILURE_COST as DRIFT_COST
from tasks.metrics.failure_cost import COST_IN_BASELINES
from tasks.observing.memorisation_probes import SHARE
from tasks.suites.suite import Task
from tasks.timing.efficiency_metrics import FAILURE_COST as TIME_COST

DEFAULT = "kinds/default.html"
_log = logging.getLogger(__name__)


class KindFacts(NamedTuple):
    """Numbers for the texts about the kinds; see the modules that they are imported from.

    Args:
        hidden: whether the data set of the task is hidden.
    """

    release: Release
    hidden: bool
    cost_in_baselines: float = COST_IN_BASELINES
    drift_cost: float = DRIFT_COST
    time_cost: float = TIME_COST
    probed_share: float = SHARE


def kind_text(frame: Frame, task: Task, *, hidden: bool) -> Markup:
    """The text about the kind of a task: its own, else a plain one made from its traits.

    A text that cannot be rendered is named in the log, and the plain one takes its place.
    """
    packaged = f"kinds/{task.kind}.html"
    text = task.traits.page or (template(packaged) if has_template(packaged) else "")
    render = partial(_rendered, frame, task, hidden)
    if text:
        try:
            return render(text)
        # What a template of another package raises can be anything that its expressions raise.
        except (TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            _log.warning("kind %s: its page text cannot be rendered: %s", task.kind, " ".join(str(error).split()))
    return render(template(DEFAULT))


def _rendered(frame: Frame, task: Task, hidden: bool, text: str) -> Markup:
    facts = KindFacts(frame.board.release, hidden)
    return Markup(_compiled(frame.templates, text).render(fact=facts, traits=task.traits))


@lru_cache(maxsize=100)  # several tasks have the same kind
def _compiled(templates: Environment, text: str) -> Template:
    return templates.from_string(text)
