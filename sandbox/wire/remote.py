"""`RemoteCalculator`: the model inside a container, as a `BatchCalculator`."""

from __future__ import annotations

import json
import secrets
import time
from typing import NamedTuple

import numpy as np
from ase.data import chemical_symbols

from sandbox.guest.parameters import MAX_PARAMETERS
from sandbox.guest.wire import FRAME_FIELDS, PROTOCOL, Channel, WireError, pack_header
from sandbox.wire.guard import MAX_HELLO_BYTES, Expected, Guard, check, expected_result, read_failures
from tasks.structures.frames import Frames
from tasks.structures.predictions import ALL_PROPERTIES, Predictions, Properties

_NOTHING = Expected.of()
REMEMBERED_HEADERS = 256
CHANGEABLE = ("numbers", "positions", "cell", "pbc")


class Hello(NamedTuple):
    """A guest's statement about its calculator.

    Args:
        n_parameters: as counted in the container; None if they were not.
    """

    calculator: str
    properties: Properties
    batch: bool
    max_atoms_per_batch: int
    elements: tuple[int, ...] | None
    device: str
    versions: dict[str, str]
    n_parameters: int | None = None


class StartupError(Exception):
    """The guest could not load the calculator: the submission's own class and text of the error."""

    def __init__(self, kind: str, text: str, home_unreadable: bool = False) -> None:
        super().__init__(f"{kind}: {text}")
        self.home_unreadable = home_unreadable
        self.kind = kind
        self.text = text


class RemoteCalculator:
    """A `BatchCalculator` over a connection to a container.

    Args:
        channel: the accepted connection.
        message_s: seconds that the answer to one message may take.
        deadline: of the whole task, on `time.monotonic()`.
        max_atoms_per_batch: the judge's limit; the model's counts if it is smaller.

    Raises (all methods):
        WireError: the guest is gone, late, or broke the protocol: the session turns it into a verdict.
    """

    def __init__(self, channel: Channel, message_s: float, deadline: float, max_atoms_per_batch: int) -> None:
        self._channel = channel
        self._guard = Guard(channel)
        self._message_s = message_s
        self.deadline = deadline
        self._budget = max_atoms_per_batch
        self._id = np.zeros(1, np.int64)
        self._asked: dict[tuple[Properties, int, int], tuple[bytes, Expected]] = {}
        self.n_messages = 0
        self.changed: set[str] = set()  # what the guest reports that the calculator changed of structures it got
        self.hello: Hello | None = None

    def greet(self, deadline: float) -> Hello:
        """The guest's hello, which arrives when its calculator has loaded.

        Raises:
            StartupError: the guest reports that loading failed.
        """
        message = self._channel.receive(MAX_HELLO_BYTES, 0, deadline)
        header = check(message, _NOTHING, ("hello", "failed"))
        fields = header.metadata
        if fields.get("protocol") != PROTOCOL:
            raise WireError(f"the guest speaks another protocol than {PROTOCOL}")
        if fields["op"] == "failed":
            home_unreadable = fields.get("home") == "unreadable"
            raise StartupError(fields.get("class", "")[:128], fields.get("text", "")[:2048], home_unreadable)
        self.hello = read_hello(fields)
        return self.hello

    @property
    def properties(self) -> Properties:
        return self.hello.properties if self.hello else ALL_PROPERTIES

    @property
    def max_atoms_per_batch(self) -> int:
        stated = self.hello.max_atoms_per_batch if self.hello else 0
        return min(stated, self._budget) if stated else self._budget

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        """The container's answer for `frames`; a frame that it could not compute is a failure of that frame."""
        key = (properties, len(frames.n_atoms), len(frames.numbers))
        prepared = self._asked.get(key)
        if prepared is None:
            prepared = self._asked[key] = self._prepare(frames, properties)
        packed, expected = prepared
        self._id[0] = secrets.randbits(62)  # or an answer could be sent before its question
        deadline = self._next_deadline()
        self._channel.send(packed, [*[getattr(frames, name) for name in FRAME_FIELDS], self._id], deadline)
        answer = self._guard.receive(expected, "result", deadline)
        self._check_id(answer.arrays["id"])
        errors = read_failures(answer.metadata, answer.arrays["status"])
        self.n_messages += 1
        self.changed |= {name for name in CHANGEABLE if name == answer.metadata.get("changed")}
        return Predictions.checked(
            frames, answer.arrays["energy"], answer.arrays.get("forces"), answer.arrays.get("stress"), errors
        )

    def _prepare(self, frames: Frames, properties: Properties) -> tuple[bytes, Expected]:
        """The header of a question about structures of these sizes, and the arrays that the answer must have."""
        if len(self._asked) >= REMEMBERED_HEADERS:
            self._asked.clear()
        arrays = [*[(name, getattr(frames, name)) for name in FRAME_FIELDS], ("id", self._id)]
        packed = pack_header(arrays, {"op": "compute", "properties": ",".join(properties)})
        return packed, expected_result(len(frames), len(frames.numbers), properties)

    def echo(self, nbytes: int) -> float:
        """Seconds of one round trip of `nbytes` over the wire, without the calculator."""
        self._id[0] = secrets.randbits(62)  # or an answer could be sent before its question
        sent = np.zeros(nbytes, np.uint8)
        packed = pack_header([("id", self._id), ("bytes", sent)], {"op": "echo"})
        deadline = self._next_deadline()
        begin = time.perf_counter()
        self._channel.send(packed, [self._id, sent], deadline)
        expected = Expected.of(("id", np.dtype("<i8"), (1,)), ("bytes", np.dtype("u1"), (nbytes,)))
        answer = self._guard.receive(expected, "echo", deadline)
        elapsed = time.perf_counter() - begin
        self._check_id(answer.arrays["id"])
        return elapsed

    def bye(self) -> None:
        """Asks the guest to end."""
        self._channel.send(pack_header([], {"op": "bye"}), [], time.monotonic() + 1.0)

    def _next_deadline(self) -> float:
        return min(time.monotonic() + self._message_s, self.deadline)

    def _check_id(self, answered: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> None:
        if int(answered[0]) != int(self._id[0]):
            raise WireError("the answer belongs to another message")


def read_hello(fields: dict[str, str]) -> Hello:
    """A guest's hello, checked and cut to size.

    Raises:
        WireError: a field is missing or malformed.
    """
    try:
        versions = json.loads(fields.get("versions", "{}"))
        elements = tuple(int(z) for z in fields.get("elements", "").split(",") if z)
        budget = int(fields.get("max_atoms_per_batch", "0"))
        n_parameters = int(fields["n_parameters"]) if "n_parameters" in fields else None
    except (ValueError, RecursionError):
        raise WireError("the hello is malformed") from None
    if (
        not isinstance(versions, dict)
        or len(versions) > 64
        # A list nested as deep as the reader allows could not be written as text again.
        or not all(isinstance(version, str) for version in versions.values())
        or budget < 0
        or not 0 <= (n_parameters or 0) <= MAX_PARAMETERS
        or len(elements) > len(chemical_symbols)
        or not all(0 < z < len(chemical_symbols) for z in elements)
    ):
        raise WireError("the hello is malformed")
    stated = fields.get("properties", "").split(",")
    properties: Properties = tuple(p for p in ALL_PROPERTIES if p in stated)
    if "energy" not in properties:
        raise WireError("the calculator must offer energy")
    return Hello(
        calculator=_clean(fields.get("calculator", ""), 200),
        properties=properties,
        batch=fields.get("batch") == "true",
        max_atoms_per_batch=budget,
        elements=elements or None,
        device=_clean(fields.get("device", ""), 100),
        versions={_clean(name, 64): _clean(version, 64) for name, version in versions.items()},
        n_parameters=n_parameters,
    )


def _clean(text: str, length: int) -> str:
    """`text` cut to `length`, without characters that cannot be stored or that move a terminal's cursor."""
    return "".join(c if c.isprintable() else "�" for c in text[:length])
