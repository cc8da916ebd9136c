"""Why a structure has no answer: the exceptions of an author's code in the words of the protocol.

This file is packed beside the guest: the standard library, numpy and ASE only, Python 3.9.
"""

from __future__ import annotations

from typing import NamedTuple, Tuple, Type

# Codes of tasks.predictions.Cause, which this file must not import.
ERROR, UNSUPPORTED, WRONG_SHAPE, OUT_OF_MEMORY = 1, 2, 4, 5
MAX_TEXT_BYTES = 2048
# What counts as an author's exception in the judge's own process: `sys.exit` in a calculator is the failure of one
# structure, but Ctrl-C is meant for the judge. In the guest every exception is the author's.
AUTHORS_ERRORS: Tuple[Type[BaseException], ...] = (Exception, SystemExit)


class Failure(NamedTuple):
    """Why a frame failed: a cause code, the class of the error and its text, both the submission's own words."""

    cause: int
    kind: str
    text: str


class WrongShape(ValueError):
    """The calculator's array does not have the shape that the structure asks for."""


def cause_of(error: BaseException) -> int:
    """The cause code of an exception of the submission."""
    if isinstance(error, WrongShape):
        return WRONG_SHAPE
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return OUT_OF_MEMORY
    if isinstance(error, RuntimeError) and "out of memory" in str(error).lower():
        return OUT_OF_MEMORY
    if isinstance(error, NotImplementedError):
        return UNSUPPORTED
    return ERROR


def describe(error: BaseException) -> Failure:
    """The failure of one frame, its text cut at 2 kB."""
    try:
        text = "sys.exit(%r) was called" % (error.code,) if isinstance(error, SystemExit) else str(error)
    except BaseException:  # the author's class may raise here, too
        text = ""
    text = text.encode("utf-8", "replace")[:MAX_TEXT_BYTES].decode("utf-8", "ignore")
    return Failure(cause_of(error), type(error).__name__[:128], text)
