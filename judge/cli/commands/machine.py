"""`judge demo|doctor|verify|selftest|gc`."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli.completion import attacks
from judge.cli.options import Drivers, Everything, Ids, Json, SkipMissing, SuiteName
from judge.config import DEFAULT_DAYS

IMAGES_HELP = (
    "also images of calculators without a name that no submission of this store refers to; only for hosts with one "
    "store, since images of another store's submissions would be removed too"
)


def demo_command(
    full: Annotated[
        bool, typer.Option("--full", help="by the suite quickstart: every kind of task, many minutes")
    ] = False,
    base: Annotated[
        str | None, typer.Option(metavar="IMAGE", help="local or public image with Python, to build the examples on")
    ] = None,
    driver: Drivers = None,
    as_json: Json = False,
) -> None:
    """Judges five example models, and makes a leaderboard: its first page after two models, in three minutes.

    It needs a Docker engine. Without one, the models run in virtual environments, with no isolation.
    """
    from judge.cli.maintainer.demo import run_demo

    run_demo(full, base, driver, as_json)


def doctor_command(as_json: Json = False) -> None:
    """Tries everything that judging needs on this machine, and says what has to be corrected."""
    from judge.cli.maintainer.doctor import run_doctor

    run_doctor(as_json)


def verify_command(
    ids: Ids = None,
    everything: Everything = False,
    suite: SuiteName = None,
    trust: Annotated[
        list[str] | None, typer.Option(metavar="KEY", help="also trust this public key; may be repeated")
    ] = None,
    skip_missing: SkipMissing = False,
    as_json: Json = False,
) -> None:
    """Measures every result again from its observation; checks what was published.

    Starts no container. Exit status 1 if a check fails; the last line names the first failure.
    """
    from judge.cli.maintainer.verify import run_verify

    run_verify(ids, everything, suite, trust, skip_missing, as_json)


def selftest_command(
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="run only this attack; not recorded", autocompletion=attacks),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="list the attacks, and what each tries")] = False,
    as_json: Json = False,
    remove: Annotated[bool, typer.Option("--remove-images", help="only remove the hostile images")] = False,
    base: Annotated[
        str | None,
        typer.Option(metavar="IMAGE", show_default="the base for authors", help="base of the hostile images"),
    ] = None,
) -> None:
    """Attacks this machine's sandbox with hostile images, and records whether it held. Exit status 1 if it did not."""
    from judge.cli.maintainer.selftest import run_all_attacks

    run_all_attacks(only, listed, as_json, remove, base)


def gc_command(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only print what would be removed")] = False,
    days: Annotated[float, typer.Option(help="keep checkpoints and selftest images that are younger")] = DEFAULT_DAYS,
    images: Annotated[bool, typer.Option("--images", help=IMAGES_HELP)] = False,
    as_json: Json = False,
) -> None:
    """Removes what nothing refers to: observations, items tables, files of dead judges, old images of the selftest.

    And what the retention policy removes, the table `[retention]` of judge.toml: `judge store usage` shows it.
    """
    from judge.cli.maintainer.gc import run_gc

    run_gc(dry_run, days, images, as_json)
