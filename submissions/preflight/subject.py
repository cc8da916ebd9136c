"""What `lambench-submit check` checks: an image, or a module's factory as the guest would import it."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from sandbox.driver import Driver, Image
from sandbox.drivers.docker_running import BUSY, NO_ENGINE
from sandbox.drivers.open_driver import open_driver
from sandbox.image.image_check import MACHINE, invalid
from sandbox.verdict import JudgeFault, SubmissionFault
from submissions.card.file import CardError
from submissions.settings import Settings

MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
FIND_S = 60.0
# The parent packages are imported, and may print: the answer follows the last NUL.
_FIND = """
import importlib.util, sys
try:
    spec = importlib.util.find_spec(sys.argv[1])
except ModuleNotFoundError:
    spec = None
sys.stdout.write("\\0" + (spec.origin or "" if spec else ""))
"""


class CheckSubject(NamedTuple):
    """What is checked, and the driver that runs it.

    Args:
        digest: the image ID, or the sha256 of the factory's module.
        description: what it is, in words.
    """

    text: str
    driver: Driver
    image: Image
    digest: str
    description: str

    @property
    def is_module(self) -> bool:
        return self.driver.name == "process"


def resolve_subject(
    text: str, settings: Settings, folder: Path, python: str = "", as_image: bool = False, as_module: bool = False
) -> CheckSubject:
    """The factory of a module if there is such a module, else an image.

    Args:
        folder: the working directory, which is searched first for modules.
        python: the Python that runs a module; empty for this one.

    Raises:
        CardError: there is both, and neither `as_image` nor `as_module` is set.
        SubmissionFault: there is neither, or the image may not be judged.
        JudgeFault: the engine does not answer.
    """
    if as_image and as_module:
        raise CardError("--image and --module exclude each other: give one of them")
    if as_module and not MODULE.fullmatch(text):
        raise CardError(f"{text}: name a module as module:factory")
    file = text.partition(":")[0]
    if file.endswith(".py"):
        module = file.removesuffix(".py").strip("./").replace("/", ".")
        factory = text.partition(":")[2].removesuffix("()") or "make_calculator"
        raise CardError(f"{text} is a file: name its module and factory, {module}:{factory}")
    if as_image or not MODULE.fullmatch(text):
        try:
            return _image(text, settings)
        except JudgeFault as fault:
            if fault.remedy != NO_ENGINE:
                raise
            raise JudgeFault(fault.cause, f"{NO_ENGINE}, or check module:factory, which needs none") from fault
    interpreter = _interpreter(python)
    module = text.partition(":")[0]
    source = find_module(module, interpreter, folder)
    if source is None:
        words = f"There is no module {module!r} in this folder, nor in {interpreter}."
        if as_module:
            raise invalid(f"{words} Change to its folder, or name the Python that has it with --python.")
        try:
            return _image(text, settings)
        except (SubmissionFault, JudgeFault) as fault:
            if isinstance(fault, JudgeFault) and fault.remedy == BUSY:
                raise
            why = fault.sentence if isinstance(fault, SubmissionFault) else f"Nor can images be listed: {fault.remedy}."
            raise invalid(f"{words} {why}") from fault
    if not as_module and _is_image(text, settings):
        raise CardError(f"{text} is a module here and an image too: say --module or --image")
    return _module(text, source, interpreter, settings, folder)


def find_module(module: str, python: str, folder: Path) -> Path | None:
    """The file that `python` would import as `module` in `folder`; None if there is none.

    Raises:
        SubmissionFault: the import of a parent package fails, or takes longer than a minute.
    """
    try:
        done = subprocess.run(
            [python, "-c", _FIND, module],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=FIND_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise invalid(f"Looking for the module {module!r} took longer than {FIND_S:.0f} s: try its import.") from None
    except OSError as error:
        raise invalid(f"{python} cannot be run ({error.strerror}): name another with --python.") from error
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise invalid(f"The module {module!r} cannot be found: {last[:300]}")
    origin = done.stdout.decode("utf-8", "replace").rpartition("\0")[2]
    return Path(folder, origin) if origin else None


def _interpreter(python: str) -> str:
    path = shutil.which(python or sys.executable)
    if path is None:
        raise invalid(f"There is no Python {python!r}: name another with --python.")
    return path


def _image(text: str, settings: Settings) -> CheckSubject:
    driver = open_driver("docker", settings.run_dir, settings.runtime, settings.cold_start)
    image = driver.resolve(text)
    return CheckSubject(text, driver, image, image.id, "an image, in the judge's own sandbox")


def _is_image(text: str, settings: Settings) -> bool:
    try:
        _image(text, settings)
    except (SubmissionFault, JudgeFault):
        return False
    return True


def _module(text: str, source: Path, python: str, settings: Settings, folder: Path) -> CheckSubject:
    try:
        digest = f"sha256:{hashlib.sha256(source.read_bytes()).hexdigest()}"
    except OSError as error:
        raise invalid(f"The module of {text} is at {str(source)!r}, which is no file: name another.") from error
    # Not with the driver's `resolve`, which reads the whole folder: an author's may hold data sets.
    image = Image(
        reference=f"{folder}?{urlencode({'python': python, 'calculator': text})}",
        id=f"process:{digest.partition(':')[2]}",
        driver="process",
        python=(python,),
        calculator=text,
        architecture=MACHINE,
    )
    driver = open_driver("process", settings.run_dir, settings.runtime, settings.cold_start)
    return CheckSubject(text, driver, image, digest, f"a module ({source}), without Docker")
