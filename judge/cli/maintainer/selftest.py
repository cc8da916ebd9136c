"""`judge selftest`: runs hostile images in the real sandbox. Results are published only after it has passed."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import typer

from judge.cli.output import print_json
from judge.config import UsageError
from judge.evaluation.host_selftest import run_selftest
from judge.records.signing import safe_key_file
from judge.workspace import Workspace, open_workspace
from sandbox.drivers.open_driver import open_driver
from sandbox.selftest.attack import Attack
from sandbox.selftest.catalog import ATTACKS
from sandbox.selftest.images import CALCULATOR_IMAGE, remove_images
from sandbox.selftest.run import AttackResult, hostile_images, selftest
from tasks.suites.names import did_you_mean, known_name

NOT_HELD = 1


def run_all_attacks(only: list[str] | None, listed: bool, as_json: bool, remove: bool, base: str | None) -> None:
    """Attacks this machine's sandbox with hostile images, and records whether it held. Exit status 1 if it did not."""
    if remove:
        print(f"Removed {remove_images()} images.")
        return
    attacks = choose(only or ())
    if listed:
        _print_list(attacks, as_json)
        return
    begin = time.monotonic()
    results = _run(open_workspace(), attacks if only else None, base or CALCULATOR_IMAGE, as_json)
    failed = [result.name for result in results if not result.held]
    if as_json:
        summary = {"passed": not failed, "recorded": not only, "seconds": time.monotonic() - begin}
        print_json({**summary, "results": [result._asdict() for result in results]})
    else:
        print(_summary(len(results), failed, time.monotonic() - begin))
    raise typer.Exit(NOT_HELD if failed else 0)


def choose(names: Sequence[str]) -> tuple[Attack, ...]:
    """The named attacks; all if none is named.

    Raises:
        UsageError: there is no such attack.
    """
    known = {attack.name: attack for attack in ATTACKS}
    chosen = []
    for name in names:
        if not (attack := known_name(name, known)):
            raise UsageError(f"there is no attack {name!r}: see judge selftest --list{did_you_mean(name, known)}")
        chosen.append(attack)
    return tuple(known[name] for name in dict.fromkeys(chosen)) if names else ATTACKS


def _run(workspace: Workspace, attacks: Sequence[Attack] | None, base: str, quiet: bool) -> tuple[AttackResult, ...]:
    """The results of `attacks`; of all of them if None, which is recorded."""

    def on_result(result: AttackResult) -> None:
        results.append(result)
        if not quiet:
            print(line_of(result), flush=True)

    results: list[AttackResult] = []
    settings = workspace.settings
    safe_key_file(settings)  # before a container starts
    driver = open_driver("docker", settings.run_dir, settings.runtime, settings.cold_start)
    if attacks is None:
        key = workspace.signing_key(lambda line: print(line, file=sys.stderr))
        run_selftest(workspace.store, driver, key, on_result, base)
    else:
        selftest(driver, on_result, attacks, hostile_images(driver, base))
    return tuple(results)


def line_of(result: AttackResult) -> str:
    """The result of one attack, in a line."""
    return f"{'held    ' if result.held else 'NOT HELD'}  {result.seconds:5.1f} s  {result.name}: {result.how}"


def _summary(count: int, failed: Sequence[str], seconds: float) -> str:
    if failed:
        return f"NOT HELD: {len(failed)} of {count} ({', '.join(failed)}), in {seconds:.0f} s: judge nothing here."
    return f"All {count} held, in {seconds:.0f} s."


def _print_list(attacks: Sequence[Attack], as_json: bool) -> None:
    if as_json:
        print_json([{"name": attack.name, "tries": attack.tries} for attack in attacks])
        return
    width = max(len(attack.name) for attack in attacks)
    for attack in attacks:
        print(f"{attack.name:{width}}  {attack.tries}")
