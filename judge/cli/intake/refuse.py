"""`judge refuse`: refuses a delayed submission request that cannot be decided, though this machine works."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli.completion import invitations
from judge.cli.options import Json
from judge.cli.output import print_done
from judge.cli.reasons import checked_reason
from judge.config import UsageError
from judge.intake.invitations import StoredDecision, decision_key, read_invitation
from judge.intake.retry_queue import forget_delayed, read_delayed
from judge.workspace import open_workspace
from sandbox.events import Event, emit, plain
from sandbox.verdict import Verdict


def refuse_command(
    name: Annotated[str, typer.Argument(metavar="INVITATION", help="its name", autocompletion=invitations)],
    slot: Annotated[str, typer.Argument(metavar="REQUEST", help="as judge intake prints it, or the beginning of it")],
    reason: Annotated[str, typer.Option(help="why, for its author to read")] = "",
    as_json: Json = False,
) -> None:
    """Refuses a delayed submission request that no intake can decide, though nothing is wrong with this machine."""
    words, store = checked_reason(reason), open_workspace().store
    invitation = read_invitation(store, name).invitation
    matching = [decision for decision in read_delayed(store, name).get(name, ()) if decision.slot.startswith(slot)]
    if len(matching) != 1:
        what = "no delayed request" if not matching else "more than one delayed request"
        raise UsageError(f"{what} of {name} begins with {plain(slot, 40)!r}: see judge intake")
    decision = matching[0].model_copy(
        update={
            "outcome": "refused",
            "verdict": Verdict.POLICY_VIOLATION,
            "sentence": f"Refused: {words}",
        }
    )
    key = decision_key(invitation, decision.slot)
    if not store.put_if_absent(key, StoredDecision(decision=decision).model_dump_json(indent=1).encode()):
        raise UsageError(f"{decision.slot[:8]} of {name} was decided meanwhile: see judge intake")
    forget_delayed(store, name, decision.slot)
    emit(Event.REQUEST_REFUSED, key=f"{name}/{decision.slot}", verdict=str(decision.verdict))
    print_done(
        as_json,
        {"invitation": name, "request": decision.slot, "reason": words},
        f"{name}: {decision.slot[:8]} is refused: {words}",
        "Next: judge intake, which writes its author's status and removes the upload",
    )
