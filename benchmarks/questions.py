"""Questions that give answers away: models without chemistry over every layout that can be imported.

Of each layout, each adversary and each secret: the penalised value over the baseline, in the metric in which the
adversary comes off best; of metrics that may be below 1, such as laws, one is shown beside. Where a kind draws from the
secret, the lower end of the mean's 95 % interval over secrets must not be below 1. Where nothing is drawn the value is
shown without a bound, and its line says why.

`python -m benchmarks.questions NAME …` prints those of some layouts or kinds alone.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from benchmarks.report import Figure, line
from tasks.adversaries.family import ADVERSARIES
from tasks.adversaries.question_table import AdversaryCell, cells_of, is_judged_by_baseline
from tasks.adversaries.run_adversary import AdversaryTask, public_facts
from tasks.kinds.registry import KINDS
from tests.tasks.adversaries.layouts import every_layout

SECRETS = tuple(f"secret {k}".encode() for k in range(20))
ROUNDING = 1e-3  # a model that answers nearly zero differs by so much from one that answers zero


def measure_questions(names: Collection[str] = ()) -> Iterator[Figure]:
    """Each adversary in each layout whose kind has a baseline.

    Args:
        names: the layouts, or kinds, that are asked; empty: all.

    Raises:
        ValueError: a name that no layout and no kind with a baseline has.
    """
    with tempfile.TemporaryDirectory() as place:
        judged = {
            layout: laid_out
            for layout, laid_out in every_layout(Path(place)).items()
            if is_judged_by_baseline(KINDS[laid_out.kind])
        }
        known = judged.keys() | {laid_out.kind for laid_out in judged.values()}
        if unknown := set(names) - known:
            raise ValueError(f"no layout {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
        for layout, laid_out in judged.items():
            if names and not {layout, laid_out.kind} & set(names):
                continue
            task = laid_out.make()
            facts = public_facts(task)
            for adversary in ADVERSARIES:
                yield from figures(layout, task, adversary, cells_of(task, adversary, SECRETS, facts))


def figures(layout: str, task: AdversaryTask, adversary: str, cells: list[AdversaryCell]) -> Iterator[Figure]:
    """The cell in which the adversary comes off best; also of those with each mark, which may be below 1."""
    name = f"{layout}, {task.kind.name}, {adversary}"
    if not cells:
        yield Figure(f"{name}: no error with a baseline", float("nan"), "")
    for mark in sorted({cell.mark for cell in cells}):
        best = min((cell for cell in cells if cell.mark == mark), key=lambda cell: cell.interval.low)
        about = f"{name}: {best.metric}"
        if mark:
            yield Figure(f"{about} ({mark})", best.interval.low, "of the baseline")
        else:
            yield Figure(about, best.interval.low, "of the baseline", 1.0 - ROUNDING, at_least=True)


def main() -> int:
    """Prints the figures of the named layouts and kinds; the exit status is 1 if a bound is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.questions")
    parser.add_argument("names", nargs="+", metavar="NAME", help="a layout or a kind of task")
    hold = True
    try:
        for measured in measure_questions(parser.parse_args().names):
            print(line(measured), flush=True)
            hold = hold and measured.holds is not False
    except ValueError as error:
        parser.error(str(error))
    return 0 if hold else 1


if __name__ == "__main__":
    sys.exit(main())
