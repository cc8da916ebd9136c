"""`judge show|explain|withdraw|disqualify|reinstate`."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli.completion import scores, submissions, tasks
from judge.cli.options import AsPublished, Json, Reason, SuiteName

Id = Annotated[str, typer.Argument(metavar="ID", help="submission", autocompletion=submissions)]


def show_command(
    id: Annotated[str, typer.Argument(help="submission", autocompletion=submissions)],
    task: Annotated[
        str | None, typer.Option(help="only this task, with failure costs and errors by part", autocompletion=tasks)
    ] = None,
    details: Annotated[bool, typer.Option("--details", help="also all metrics, and every task that is held")] = False,
    author: Annotated[bool, typer.Option("--author", help="print exactly what its author may see")] = False,
    as_json: Json = False,
) -> None:
    """Shows one submission: its image, verdicts and held tasks; with --details or --task its metrics."""
    from judge.cli.maintainer.show import run_show

    run_show(id, task, details, author, as_json)


def explain_command(
    id: Annotated[str, typer.Argument(help="submission", autocompletion=submissions)],
    suite: SuiteName = None,
    score: Annotated[
        str | None, typer.Option(help="only this one: force-field, property, efficiency …", autocompletion=scores)
    ] = None,
    depth: Annotated[int | None, typer.Option(min=0, help="number of levels shown below each score")] = None,
    details: Annotated[bool, typer.Option("--details", help="show how every score was computed")] = False,
    as_published: AsPublished = False,
    as_json: Json = False,
) -> None:
    """Shows the scores of a submission. With --details, --score or --depth also how they were computed.

    That is: weights, baselines, failures, formulas and their sources.
    """
    from judge.cli.scores.explain import run_explain

    run_explain(id, suite, score, depth, details, as_published, as_json)


def withdraw_command(id: Id, reason: Reason = "", as_json: Json = False) -> None:
    """Takes a submission out of the ranking because its author asks for it. Its results are kept."""
    from judge.cli.maintainer.decisions import run_withdraw

    run_withdraw(id, reason, as_json)


def disqualify_command(id: Id, reason: Reason = "", as_json: Json = False) -> None:
    """Takes a submission out of the ranking because it breaks a rule. Its results are kept."""
    from judge.cli.maintainer.decisions import run_disqualify

    run_disqualify(id, reason, as_json)


def reinstate_command(id: Id, reason: Reason = "", as_json: Json = False) -> None:
    """Takes a withdrawn or disqualified submission back into the ranking."""
    from judge.cli.maintainer.decisions import run_reinstate

    run_reinstate(id, reason, as_json)
