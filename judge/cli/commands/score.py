"""`judge score suite|ml-peg|mlipaudit|matbench|lambench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judge.cli.options import AsPublished, Json, SuiteName

FactsFile = Annotated[Path | None, typer.Option("--facts", metavar="FILE.TOML", help="instead of the packaged facts")]
Explain = Annotated[str | None, typer.Option(metavar="MODEL", help="show how this model's scores were computed")]

app = typer.Typer(no_args_is_help=True)


@app.command("suite")
def suite_command(
    suite: SuiteName = None,
    as_published: Annotated[
        bool, typer.Option("--as-published", help="by each scheme's own rules, instead of the corrected ones")
    ] = False,
    as_json: Json = False,
) -> None:
    """Prints scores of the judged submissions by every scheme: 95 % intervals, ranks, and how far ranks would move."""
    from judge.cli.scores.score_suite import run_suite

    run_suite(suite, as_published, as_json)


@app.command("ml-peg")
def ml_peg_command(
    metrics: Annotated[Path, typer.Argument(metavar="METRICS.JSON", help="metrics by model and benchmark")],
    facts: FactsFile = None,
    preset: Annotated[str, typer.Option(metavar="NAME", help="weights of the facts' preset of that name")] = "",
    as_published: AsPublished = False,
    as_json: Json = False,
    explain: Explain = None,
) -> None:
    """Computes ML-PEG scores of metrics in a file. A missing metric counts 0; a second score counts it as 1."""
    from judge.cli.scores.score_files import run_ml_peg

    run_ml_peg(metrics, facts, preset, as_published, as_json, explain)


@app.command("mlipaudit")
def mlipaudit_command(
    results: Annotated[Path, typer.Argument(metavar="RESULTS.JSON", help="values of items by model and benchmark")],
    facts: FactsFile = None,
    release: Annotated[str | None, typer.Option(metavar="NAME", help="a packaged release: mlipaudit-0.1.8")] = None,
    as_published: AsPublished = False,
    as_json: Json = False,
    explain: Explain = None,
) -> None:
    """Computes MLIPAudit scores of results in a file: over all benchmarks, and over the compatible ones."""
    from judge.cli.scores.score_files import run_mlipaudit

    run_mlipaudit(results, facts, release, as_published, as_json, explain)


@app.command("matbench")
def matbench_command(
    metrics: Annotated[Path, typer.Argument(metavar="METRICS.JSON", help="metrics by model and score")],
    as_published: AsPublished = False,
    as_json: Json = False,
    explain: Explain = None,
) -> None:
    """Computes CPS, CDS and CMDS of metrics in a file. A missing metric counts 0, or leaves no score as published."""
    from judge.cli.scores.score_matbench import run_matbench

    run_matbench(metrics, as_published, as_json, explain)


@app.command("lambench")
def lambench_command(
    raw: Annotated[
        Path, typer.Argument(metavar="RAW.JSON", help="LAMBench's results.json: published metrics by model")
    ],
    config: Annotated[Path | None, typer.Option(metavar="CONFIG.JSON", help="formula of the release")] = None,
    release: Annotated[str | None, typer.Option(help="a packaged release, instead of --config")] = None,
    corrected: Annotated[
        bool,
        typer.Option(
            "--corrected", help="by this judge's rules: a failure never helps, and what is missing counts as worst"
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Computes scores from LAMBench's published metrics, by the rules of a release, or corrected."""
    from judge.cli.scores.score import run_lambench

    run_lambench(raw, config, release, corrected, as_json)
