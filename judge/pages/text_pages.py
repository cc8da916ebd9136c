"""The pages "How it works", "How to submit" and "ML-PEG". Their numbers come from code, release and leaderboard."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

from judge.disclosure.public_curves import HIDDEN_DIGITS
from judge.disclosure.redaction import SCORE_DIGITS, TIME_DIGITS
from judge.pages.citation import citation
from judge.ranking.cluster_statistics import N_RESAMPLES
from judge.ranking.leaderboard import Leaderboard
from judge.records.few_items import LEAST_ITEMS
from judge.view.columns import task_groups
from judge.view.leaderboard_export import task_page
from judge.view.limit_text import limit_lines
from judge.view.page_context import Frame
from scoring.ml_peg import load_facts
from scoring.robustness import LEVEL
from submissions.card.starter import StarterName
from submissions.preflight.preflight import MAX_PREFLIGHT_S
from submissions.records import ModelCard
from tasks.kinds.registry import KINDS
from tasks.metrics.failure_cost import COST_IN_BASELINES

_GPU = "GPU "  # the hardware class of a machine with a GPU begins so: `judge.records.hardware.hardware_class`


def pages(frame: Frame) -> dict[str, bytes]:
    """`how.html`, `submit.html` and `ml-peg.html`."""
    return {"how.html": _how(frame), "submit.html": _submit(frame), "ml-peg.html": _ml_peg(frame)}


def _ml_peg(frame: Frame) -> bytes:
    """Which benchmarks of ML-PEG are measured, and what is not."""
    facts = load_facts()
    covers = Counter(benchmark.cover for benchmark in facts.benchmarks.values())
    titles = {name: kind.traits.title for name, kind in KINDS.items()}
    named = sorted(facts.benchmarks.items())
    whole = sorted((each for each in named if each[1].cover == "full"), key=lambda each: each[1].category)
    by_category = groupby(whole, key=lambda each: each[1].category)
    return frame.draw(
        "ml-peg.html",
        "ml-peg.html",
        facts=facts,
        measured=[(category, list(benchmarks)) for category, benchmarks in by_category],
        others=[each for each in named if each[1].cover != "full"],
        covers=covers,
        cover_words={"part": "in part", "no": "not measured"},
        n_metrics=sum(len(benchmark.metrics) for benchmark in facts.benchmarks.values()),
        titles=titles,
    )


def _how(frame: Frame) -> bytes:
    board = frame.board
    ran = [line.limits for row in board.rows for line in row.tasks if line.is_judged]
    return frame.draw(
        "how.html",
        "how.html",
        citation=citation(frame),
        groups=task_groups(board),
        release=board.release,
        schemes=frame.file.schemes,
        limits=limit_lines(ran),
        from_board=bool(ran),
        cost_in_baselines=COST_IN_BASELINES,
        n_resamples=N_RESAMPLES,
        level=LEVEL,
        least_items=LEAST_ITEMS,
        score_digits=SCORE_DIGITS,
        time_digits=TIME_DIGITS,
        part_digits=TIME_DIGITS,
        mean_digits=HIDDEN_DIGITS,
        n_hidden=sum(task.dataset not in frame.sources.public for task in board.suite.tasks),
        silent=sum(not row.submission.card.training for row in board.rows),
        never_on_gpu=_never_on_gpu(board),
        task_page=task_page,
    )


def _submit(frame: Frame) -> bytes:
    return frame.draw(
        "submit.html",
        "submit.html",
        domains=tuple(dict.fromkeys(task.model_domain for task in frame.board.suite.tasks)),
        starters=tuple(name.value for name in StarterName),
        fields=tuple(name for name in ModelCard.model_fields if name != "schema_version"),
        preflight_s=MAX_PREFLIGHT_S,
        limits=limit_lines(()),
        time_digits=TIME_DIGITS,
    )


def _never_on_gpu(board: Leaderboard) -> tuple[str, ...]:
    """The titles of the suite's kinds of tasks that have no result from a GPU."""
    kinds = {task.kind: task.traits.title for task in board.suite.tasks}
    lines = [line for row in board.rows for line in row.tasks]
    timed_on = {(line.task.kind, line.hardware) for line in lines}
    on_gpu = {kind for kind, hardware in timed_on if hardware.startswith(_GPU)}
    return tuple(title for kind, title in kinds.items() if kind not in on_gpu)
