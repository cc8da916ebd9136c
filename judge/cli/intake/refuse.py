"""`judge refuse`: the maintainer's decision about a letter that waits and waits, by the fault of what it holds."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli.options import checked_reason
from judge.config import UsageError
from judge.intake.invitations import StoredFate, fate_key, read_invitation
from judge.intake.retry_queue import forget_delayed, read_delayed
from judge.workspace import open_workspace
from sandbox.events import Event, emit, plain
from sandbox.verdict import Verdict


def refuse_command(
    name: Annotated[str, typer.Argument(metavar="INVITATION", help="its name")],
    letter: Annotated[str, typer.Argument(help="as judge intake names it, or its beginning")],
    reason: Annotated[str, typer.Option(help="why, for its author to read")] = "",
) -> None:
    """Refuses a letter that waits: one that no intake can decide, though nothing is wrong with this machine."""
    words, store = checked_reason(reason), open_workspace().store
    invitation = read_invitation(store, name).invitation
    waiting = [fate for fate in read_delayed(store, name) if fate.slot.startswith(letter)]
    if len(waiting) != 1:
        what = "no letter" if not waiting else "more than one letter"
        raise UsageError(f"{what} of {name} that begins with {plain(letter, 40)!r} waits: see judge intake")
    fate = waiting[0].model_copy(
        update={
            "came": "refused",
            "verdict": Verdict.POLICY_VIOLATION,
            "sentence": f"Refused: {words}",
        }
    )
    key = fate_key(invitation, fate.slot)
    if not store.put_if_absent(key, StoredFate(fate=fate).model_dump_json(indent=1).encode()):
        raise UsageError(f"{fate.slot[:8]} of {name} was decided meanwhile: see judge intake")
    forget_delayed(store, name, fate.slot)
    emit(Event.LETTER_REFUSED, key=f"{name}/{fate.slot}", verdict=str(fate.verdict))
    print(f"{name}: {fate.slot[:8]} is refused: {words}")
    print("Next: judge intake, which tells its author and clears the inbox")
