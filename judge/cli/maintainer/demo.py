"""`judge demo`: builds, submits and judges five example models, and shows the leaderboard as it grows."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from urllib.parse import urlencode

import typer
from rich.console import Console

from judge.cli.maintainer.site import write_pages
from judge.cli.output import lines_aside, print_json
from judge.config import load_settings
from judge.demo.environments import example_python
from judge.demo.examples import AT_FIRST, BASE, EXAMPLES, MODELS, REFERENCES, card_of_example, requirements_of
from judge.demo.images import ExampleImages, build_client, find_base
from judge.demo.wheels import CUDA_NOTE, has_cuda, wheels_of
from judge.evaluation.evaluate import evaluate
from judge.evaluation.request import Request
from judge.workspace import Workspace
from sandbox.driver import Driver, DriverName
from sandbox.drivers.docker_driver import connect_engine
from sandbox.drivers.open_driver import open_driver
from sandbox.verdict import FaultCause, JudgeFault
from submissions.card.file import read_card
from submissions.cli.local_preflight import local_preflight
from submissions.preflight.acceptance import earlier_submission, make_submission, store_submission
from submissions.progress import Reporter, duration

SUITE, FULL_SUITE = "demo", "quickstart"
N_PREPARED = 2  # models whose images are built at the same time: a build mostly waits for one core


def run_demo(full: bool, base: str | None, driver: DriverName | None, as_json: bool) -> None:
    """Judges five example models, and makes a leaderboard: its first page after two models.

    Args:
        full: by the suite quickstart.
        base: image with Python that the examples are built on; None: the usual one.
        driver: None: docker if an engine answers, else processes.
    """
    begin = time.monotonic()
    suite = FULL_SUITE if full else SUITE
    with lines_aside(as_json):
        demo = _demonstrate(suite, base, driver)
        wall_s = time.monotonic() - begin
        say = Reporter(demo.console).say
        for line in demo.last_lines(wall_s):
            say(line)
    if as_json:
        print_json(
            {
                "suite": suite,
                "submissions": demo.submissions,
                "left_out": demo.left_out,
                "leaderboard": demo.address,
                "judging_s": round(demo.judging_s, 1),
                "wall_s": round(wall_s, 1),
                "exit_status": demo.exit_status,
            }
        )
    raise typer.Exit(demo.exit_status)


def _demonstrate(suite: str, base: str | None, driver: DriverName | None) -> Demonstration:
    """The demonstration when all models are judged. The next images are built meanwhile."""
    console = Console()
    say = Reporter(console).say
    demo = Demonstration(_workspace(), console, suite, driver or _driver(say))
    prepare = _preparation(demo.driver, base, say)
    with ThreadPoolExecutor(1) as downloads, ThreadPoolExecutor(N_PREPARED) as preparations:
        downloads.submit(_download_all, say)
        references = {name: preparations.submit(prepare, name) for name in MODELS}
        if demo.workspace.settings.cold_start == "required":
            wait(references.values())  # a build uses files of the images, which must not be in memory
        try:
            for names in (MODELS[:AT_FIRST], *((name,) for name in MODELS[AT_FIRST:])):
                submitted = [demo.submit(name, references[name].result()) for name in names]
                demo.judge([id for id in submitted if id is not None])
        finally:
            preparations.shutdown(wait=False, cancel_futures=True)
    return demo


def _workspace() -> Workspace:
    """The workspace of the settings, with the reference models, unless others are stated.

    The data sets are public: so no container needs a cold start, which takes seconds and not every engine allows.
    """
    settings = load_settings()
    stated = settings.model_fields_set
    defaults = {"references": REFERENCES, "cold_start": "off"}
    return Workspace(settings.model_copy(update={k: v for k, v in defaults.items() if k not in stated}))


def _driver(say: Callable[[str], None]) -> DriverName:
    try:
        connect_engine().close()
    except JudgeFault as fault:
        if fault.cause is not FaultCause.DOCKER:
            raise
        say("No Docker engine answers: the models run in virtual environments, with no isolation.")
        return "process"
    return "docker"


def _download_all(say: Callable[[str], None]) -> None:
    """Downloads all wheels while others are installed. What fails is tried again, and reported, when it is needed."""
    for name in (BASE, *MODELS):
        try:
            if has_cuda(wheels_of(requirements_of(name))):
                say(CUDA_NOTE)
        except JudgeFault:
            return


def _preparation(driver: DriverName, base: str | None, say: Callable[[str], None]) -> Callable[[str], str]:
    """A function from the name of an example to its reference for the driver. It builds what is missing."""
    if driver == "docker":
        client = build_client()
        return ExampleImages(client, find_base(client, base, say), say).build

    def of_environment(name: str) -> str:
        say(f"Preparing {name}")
        return f"{EXAMPLES / name}?{urlencode({'python': example_python(name)})}"

    return of_environment


@dataclass
class Demonstration:
    """The submissions, their judging and the pages.

    Args:
        judging_s: time of judging and of the pages until now [s].
        submissions: IDs of the models that passed their preflight.
        left_out: names of the others.
        address: of the leaderboard, once there is one.
        exit_status: 1 once a model did not pass its preflight, or this machine prevented something from being judged.
    """

    workspace: Workspace
    console: Console
    suite: str
    driver: DriverName
    judging_s: float = 0.0
    submissions: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    address: str = ""
    exit_status: int = 0

    def submit(self, name: str, reference: str) -> str | None:
        """The ID of the submission of an example that passes the preflight; None if it does not pass."""
        sandbox, store, card = self._sandbox(), self.workspace.store, read_card(card_of_example(name))
        image = sandbox.resolve(reference)
        if earlier := earlier_submission(store, image.id):
            self.submissions.append(earlier.id)
            return earlier.id
        begin = time.monotonic()
        outcome = local_preflight(self.console, self.workspace.settings, card.name, sandbox, image, card, None)
        if outcome.value is None:
            self.exit_status = 1
            self.left_out.append(card.name)
            self._say(f"{card.name} is left out: it did not pass the preflight ({outcome.verdict}). {outcome.sentence}")
            if outcome.private:
                self._say(outcome.private.strip().splitlines()[0])
            return None
        submission = make_submission("", card, image, outcome.value)
        store_submission(store, submission, outcome.private)
        self.submissions.append(submission.id)
        self._say(f"{card.name} is submitted as {submission.id} (preflight: {duration(time.monotonic() - begin)})")
        return submission.id

    def judge(self, ids: list[str]) -> None:
        """Judges these submissions, and writes the pages of all. Without any it does nothing."""
        if not ids:
            return
        begin, folder = time.monotonic(), self.workspace.settings.site_dir
        request = Request(ids=tuple(ids), suite=self.suite, driver=self.driver)
        summary = evaluate(self.workspace, request, Reporter(self.console, "judging"))
        self.exit_status = max(self.exit_status, summary.exit_status)
        problems = write_pages(self.workspace, self.suite, folder)
        self.judging_s += time.monotonic() - begin
        for problem in problems:
            self._say(f"left out: {problem}")
        self.address = (folder / "index.html").as_uri()
        self._say(f"The leaderboard is {self.address}")

    def last_lines(self, wall_s: float) -> list[str]:
        """What it took, and the lines of judge.toml by which other commands make the same leaderboard."""
        references = self.workspace.settings.references
        names = ", ".join(f'"{name}"' for name in references)
        return [
            f"Done in {duration(wall_s)}. Judging took {duration(self.judging_s)}.",
            f"{', '.join(references)} {'has' if len(references) == 1 else 'have'} no rank. "
            "Other commands need these lines in judge.toml:",
            f'suite = "{self.suite}"',
            f"references = [{names}]",
        ]

    def _sandbox(self) -> Driver:
        settings = self.workspace.settings
        return open_driver(self.driver, settings.run_dir, settings.runtime, settings.cold_start)

    def _say(self, text: str) -> None:
        Reporter(self.console).say(text)
