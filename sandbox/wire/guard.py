"""The guard: an answer counts only if it has exactly the arrays, types and shapes of the question."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.guest.wire import Channel, Header, Message, TooLarge, WireError, parse_header, read_arrays
from tasks.structures.predictions import Cause, FrameError

MAX_HEADER_BYTES = 128 * 1024
MAX_HELLO_BYTES = 64 * 1024
MAX_FAILURES = 16
MAX_TEXT = 2048

# The judge itself states the other causes: a model may not state that its time was over.
GUESTS_CAUSES = frozenset({Cause.ERROR, Cause.UNSUPPORTED, Cause.NON_FINITE, Cause.WRONG_SHAPE, Cause.OUT_OF_MEMORY})

_F8, _I8 = np.dtype("<f8"), np.dtype("<i8")

# The author reads the message about a breach. Sizes would reveal hidden structures, and the submission chooses the
# structure at which it breaks the protocol. So messages name shapes by letters.
_SHAPES = {"energy": "(n,)", "forces": "(N, 3)", "stress": "(n, 6)", "status": "(n,)", "id": "(1,)"}

NO_OUTPUTS: Mapping[str, tuple[int, ...]] = {}


class AnswerShapeError(WireError):
    """An array of the right name and type has a shape that does not fit the structures."""


class Expected(NamedTuple):
    """The arrays that an answer must hold: exactly these names, dtypes and shapes."""

    arrays: tuple[tuple[str, Any, tuple[int, ...]], ...]
    nbytes: int

    @classmethod
    def of(cls, *arrays: tuple[str, Any, tuple[int, ...]]) -> Expected:
        return cls(arrays, sum(dtype.itemsize * math.prod(shape) for _, dtype, shape in arrays))


class Answer(NamedTuple):
    """A checked message."""

    arrays: dict[str, NDArray[Any]]
    metadata: Mapping[str, str]


def expected_result(
    n: int, total: int, properties: tuple[str, ...], further: Mapping[str, tuple[int, ...]] = NO_OUTPUTS
) -> Expected:
    """The answer to `n` structures with `total` atoms.

    Args:
        further: shapes of other arrays that were asked for, by name, in their order.
    """
    arrays: list[tuple[str, Any, tuple[int, ...]]] = [("id", _I8, (1,)), ("energy", _F8, (n,))]
    if "forces" in properties:
        arrays.append(("forces", _F8, (total, 3)))
    if "stress" in properties:
        arrays.append(("stress", _F8, (n, 6)))
    arrays.append(("status", _I8, (n,)))
    arrays += [(name, _F8, shape) for name, shape in further.items()]
    return Expected.of(*arrays)


class Guard:
    """Receives answers on `channel`. It remembers valid headers, so that equal bytes are not parsed again."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._good: dict[bytes, tuple[Expected, str, Header]] = {}

    def receive(self, expected: Expected, op: str, deadline: float) -> Answer:
        """The next message, if it is an `op` with exactly the `expected` arrays.

        Raises:
            WireError: the message is anything else. Subclasses: `TooLarge`, `Closed`, `TimedOut`, `AnswerShapeError`.
        """
        try:
            message = self._channel.receive(MAX_HEADER_BYTES, expected.nbytes, deadline)
        except TooLarge:
            raise TooLarge("a message has more bytes than its question allows") from None
        known = self._good.get(message.header)
        whole = len(message.payload) - message.data_start == expected.nbytes
        if known is not None and known[0] is expected and known[1] == op and whole:
            return Answer(read_arrays(message, known[2]), known[2].metadata)
        header = check(message, expected, (op,))
        if len(message.header) <= 4096:  # answers without failures, whose headers recur
            if len(self._good) >= 256:
                self._good.clear()
            self._good[message.header] = (expected, op, header)
        return Answer(read_arrays(message, header), header.metadata)


def check(message: Message, expected: Expected, ops: tuple[str, ...]) -> Header:
    """The header of `message`, if it states one of `ops` and the `expected` arrays and nothing else.

    Raises:
        WireError: it does not; `AnswerShapeError` if only a shape differs.
    """
    data_length = len(message.payload) - message.data_start
    header = parse_header(message.header, data_length)
    if header.metadata.get("op") not in ops:
        raise WireError(f"a message of another kind came in place of {ops[0]!r}")
    names = {name for name, _, _ in expected.arrays}
    if set(header.entries) != names:
        raise WireError(f"the answer must hold exactly the arrays {', '.join(sorted(names))}")
    for name, dtype, shape in expected.arrays:
        entry = header.entries[name]
        if entry.dtype != dtype:
            raise WireError(f"{name} has another dtype than the protocol states")
        if entry.shape != shape:
            raise AnswerShapeError(f"{name} should have shape {_SHAPES.get(name, 'as asked for')}")
    return header


def read_failures(metadata: Mapping[str, str], status: NDArray[np.int64]) -> dict[int, FrameError]:
    """The failed frames of an answer, by index. `status` (n,) is 0, or 1 + an index into the stated failures.

    Raises:
        WireError: a status without its failure, a cause that is not in the list, a too long text.
    """
    failed = np.flatnonzero(status)
    if not len(failed):
        return {}
    try:
        stated = json.loads(metadata.get("failures", "[]"))
    except (ValueError, RecursionError):
        raise WireError("the failures are not JSON") from None
    if not isinstance(stated, list) or len(stated) > MAX_FAILURES:
        raise WireError(f"at most {MAX_FAILURES} distinct failures may be stated")
    failures = [_read_failure(entry) for entry in stated]
    codes = status[failed]
    if codes.min() < 1 or codes.max() > len(failures):
        raise WireError("a status points to no stated failure")
    return {int(i): failures[int(code) - 1] for i, code in zip(failed, codes, strict=True)}


def _read_failure(entry: Any) -> FrameError:
    if not isinstance(entry, list) or len(entry) != 3:
        raise WireError("a failure is [cause, class, text]")
    cause, kind, text = entry
    if type(cause) is not int or cause not in GUESTS_CAUSES:
        raise WireError("a failure has a cause that a guest may not state")
    if not isinstance(kind, str) or not isinstance(text, str) or len(kind) > 128 or len(text) > MAX_TEXT:
        raise WireError("a failure's class and text must be short strings")
    return FrameError(Cause(cause), kind, text)
