"""Intake: what lies in the inbox becomes submissions, and every letter gets its fate.

A letter without a fate is looked at, the oldest first, whoever sent it. First its submission is stored, then its fate,
and only then the letter and its parts leave the inbox. So whatever dies on the way, the next intake finds the letter
again, and where its submission is there already, that it is its own.

A fault of this machine is no fate: the letter stays, and is looked at again at the next intake. On one host one intake
at a time looks at the inbox; a second one leaves it to the first. On two hosts with one store both may do the work; of
submissions and fates there is one all the same, since each is put if absent.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from judge.config import UsageError
from judge.images.mirror import open_mirror
from judge.intake.decision import delayed_fate, fate_of
from judge.intake.examiner import Case, Desk
from judge.intake.form_renewal import renew_forms
from judge.intake.inbox_listing import (
    FLOODED,
    Found,
    clear_decided,
    clear_forgotten,
    letters_in_order,
    part_slots,
    read_contents,
)
from judge.intake.invitations import Invited, StoredFate, fate_key, read_again, read_invitations
from judge.intake.retry_queue import delayed_letters, forget_delayed, write_delayed
from judge.intake.reusable_layers import public_layers
from judge.intake.status import write_mail
from judge.intake.summary import Came, IntakeSummary
from judge.intake.upload_bucket import open_inbox
from judge.records.results import read_record
from judge.workspace import Workspace
from sandbox.events import Event, emit, plain
from sandbox.verdict import JudgeFault
from submissions.progress import Reporter
from submissions.requests import Fate
from submissions.settings import SETTINGS_FILE

LOCK = "intake.lock"


def intake(workspace: Workspace, reporter: Reporter, gpus: Sequence[str] = ()) -> IntakeSummary:
    """What became of the letters in the inbox; then every author is told, and given fresh forms.

    Args:
        gpus: UUIDs; the preflights run on the first. Empty: as `intake_gpu` of the settings says.

    Raises:
        UsageError: no inbox is set.
        ConfigError: no mirror is set, or the credentials for registries cannot be read.
        JudgeFault: the inbox or the store does not answer. What was decided before is kept.
    """
    settings = workspace.settings
    if not settings.inbox:
        raise UsageError(f'there is no inbox: set inbox = "s3://BUCKET/PREFIX" in {SETTINGS_FILE}')
    open_mirror(workspace)  # before the first letter: without one each would be in vain
    with _alone(settings.run_dir) as alone:
        if not alone:
            return IntakeSummary(elsewhere=True)
        return _intake(workspace, reporter, gpus)


def _intake(workspace: Workspace, reporter: Reporter, gpus: Sequence[str]) -> IntakeSummary:
    store, inbox = workspace.store, open_inbox(workspace)
    desk = Desk(workspace, inbox, reporter, gpus, public_layers(store))
    everybody = {invited.invitation.name: invited for invited in read_invitations(store)}
    found, flooded, notes = read_contents(inbox, everybody)
    for name in flooded:
        everybody[name] = replace(everybody[name], halted=FLOODED)
    order = letters_in_order(everybody, found)
    if order:  # until they are decided hours may pass
        _tell_authors(desk, everybody)
    came = _decide_all(desk, everybody, found, order)
    for name, objects in found.items():
        clear_decided(inbox, everybody[name], objects)
        everybody[name] = clear_forgotten(workspace, inbox, everybody[name], objects)
    _forget_delayed(desk, everybody, found)
    written = _tell_authors(desk, everybody)
    return IntakeSummary(
        invitations=len(everybody), letters=tuple(came), notes=notes, flooded=flooded, mail_written=written
    )


def _decide_all(
    desk: Desk, everybody: dict[str, Invited], found: Found, order: Sequence[tuple[str, str]]
) -> list[Came]:
    """What became of the letters; the invitations are as they are then.

    Args:
        order: invitation and slot of each.
    """
    came = []
    for name, slot in order:
        # Anew for each letter, which may take an hour: it may have been revoked, or another host may be at work.
        invited, objects = read_again(desk.store, everybody[name]), found[name]
        everybody[name] = invited
        if slot in invited.fates or invited.is_exhausted:
            continue  # a bound of its own: of whom so much came to nothing, nothing more is looked at
        case = Case(invited, slot, objects[slot], part_slots(invited) - invited.used_parts, objects)
        try:
            stored = _decide(desk, case)
        except JudgeFault as fault:
            elsewhere = _decided_elsewhere(desk, case)
            if elsewhere is None:
                came.append(_delay(desk, case, fault))
                continue
            stored = elsewhere
        everybody[name] = replace(invited, fates={**invited.fates, slot: stored})
        clear_decided(desk.inbox, everybody[name], objects)
        came.append(_came(name, stored.fate))
    return came


def _decide(desk: Desk, case: Case) -> StoredFate:
    """The fate of a letter, stored.

    Raises:
        JudgeFault: this machine is at fault, and there is none.
    """
    stored = fate_of(desk, case)
    key = fate_key(case.invited.invitation, case.slot)
    if not desk.store.put_if_absent(key, stored.model_dump_json(indent=1).encode()):
        stored = read_record(desk.store, key, StoredFate)  # another host's intake was first, and it counts
    fate = stored.fate
    if fate.came == "refused":
        # Between the fate and the letter's removal: whoever listens may kill us here.
        emit(Event.LETTER_REFUSED, key=f"{case.name}/{case.slot}", verdict=str(fate.verdict))
    return stored


def _decided_elsewhere(desk: Desk, case: Case) -> StoredFate | None:
    """The fate that another host's intake gave the letter meanwhile, if so: then what is missing here is its doing.

    Raises:
        StoreError: the store does not answer.
    """
    key = fate_key(case.invited.invitation, case.slot)
    return read_record(desk.store, key, StoredFate) if desk.store.exists(key) else None


def _delay(desk: Desk, case: Case, fault: JudgeFault) -> Came:
    """What is said of a letter that this machine could not look at."""
    fate = delayed_fate(case, fault)
    write_delayed(desk.store, case.name, fate)
    emit(Event.LETTER_DELAYED, key=f"{case.name}/{case.slot}", fault=str(fault.cause))
    return _came(case.name, fate).model_copy(update={"sentence": f"{fault.cause}: {fault.remedy}"})


def _came(name: str, fate: Fate) -> Came:
    return Came(
        invitation=name,
        slot=fate.slot,
        came=fate.came,
        submission=fate.submission,
        name=fate.name,
        verdict=str(fate.verdict or ""),
        sentence=fate.sentence,
    )


def _forget_delayed(desk: Desk, everybody: Mapping[str, Invited], found: Found) -> None:
    """Forgets the letters that are decided, here or by another host, and those that are gone from the inbox."""
    for name, slot in delayed_letters(desk.store):
        if name in found and (slot in everybody[name].fates or slot not in found[name]):
            forget_delayed(desk.store, name, slot)


def _tell_authors(desk: Desk, everybody: dict[str, Invited]) -> bool:
    """Whether every author has fresh forms and the present status; if not, why is said in a line."""
    written = _write_forms(desk, everybody)
    invitations = list(everybody.values())
    return write_mail(desk.workspace, say=desk.reporter.say, everybody=invitations) and written


def _write_forms(desk: Desk, everybody: dict[str, Invited]) -> bool:
    """Whether every author has fresh forms; if not, why is said in a line. The invitations are as they are then."""
    if not desk.settings.mail:
        return True
    try:
        for name, invited in everybody.items():
            renewed = renew_forms(desk.workspace, desk.inbox, invited, desk.public)
            everybody[name] = renewed.invited
    except JudgeFault as fault:
        desk.reporter.say(f"! Forms were not written anew: {plain(fault.remedy, 500)}")
        return False
    return True


@contextmanager
def _alone(run_dir: Path) -> Iterator[bool]:
    """Whether no other intake of this host is at work; none begins meanwhile."""
    run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(run_dir / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(handle)
