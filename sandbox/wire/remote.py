"""`RemoteCalculator`: the model inside a container, as a `BatchCalculator`."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.guest.wire import FRAME_FIELDS, PROTOCOL, Channel, WireError, pack_header
from sandbox.wire.guard import MAX_HELLO_BYTES, Answer, Expected, Guard, check, expected_result, read_failures
from sandbox.wire.hello import Hello as Hello  # also imported from here
from sandbox.wire.hello import read_hello
from tasks.model.call_costs import COLUMNS
from tasks.model.further_outputs import output_shapes
from tasks.structures.frames import MOMENTS, Float, Frames
from tasks.structures.predictions import ALL_PROPERTIES, LARGEST, Predictions, Properties

_NOTHING = Expected.of()
REMEMBERED_HEADERS = 256
CHANGEABLE = ("numbers", "positions", "cell", "pbc")


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
        self._asked: dict[tuple[Properties, int, int, bool], tuple[bytes, Expected]] = {}
        self.n_messages = 0
        self.changed: set[str] = set()  # what the guest reports that the calculator changed of structures it got
        self.stress_asymmetry = 0.0  # the largest |s_ij − s_ji| of a stress given as a matrix [eV/Å³], as it reports
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
        moments = frames.initial_magmoms
        key = (properties, len(frames.n_atoms), len(frames.numbers), moments is not None)
        prepared = self._asked.get(key)
        if prepared is None:
            prepared = self._asked[key] = self._prepare(frames, properties)
        packed, expected = prepared
        self._id[0] = secrets.randbits(62)  # or an answer could be sent before its question
        deadline = self._next_deadline()
        self._channel.send(packed, [array for _, array in self._question(frames, moments)], deadline)
        return self._predictions(frames, self._guard.receive(expected, "result", deadline))

    def compute_more(
        self,
        frames: Frames,
        properties: Properties,
        further: Sequence[str] = (),
        costs: bool = False,
        initial_magmoms: Float | None = None,
    ) -> tuple[Predictions, dict[str, Float]]:
        """As `compute`, and the arrays of further outputs by name: NaN where the model has no value.

        Args:
            further: names among those of the hello.
            costs: also `costs` (n, 5), whose columns are `tasks.model.call_costs.COLUMNS`.
            initial_magmoms: (N,) [μB], NaN for all atoms of a structure that has none; None: those of `frames`.
        """
        n, total = len(frames), len(frames.numbers)
        shapes = output_shapes(n, total, self.hello.members if self.hello else 0)
        asked = {name: shapes[name] for name in further} | ({"costs": (n, len(COLUMNS))} if costs else {})
        arrays = self._question(frames, frames.initial_magmoms if initial_magmoms is None else initial_magmoms)
        metadata = {"op": "compute", "properties": ",".join(properties)}
        metadata |= {"further": ",".join(further)} if further else {}
        metadata |= {"costs": "true"} if costs else {}
        self._id[0] = secrets.randbits(62)
        deadline = self._next_deadline()
        self._channel.send(pack_header(arrays, metadata), [array for _, array in arrays], deadline)
        answer = self._guard.receive(expected_result(n, total, properties, asked), "result", deadline)
        return self._predictions(frames, answer), {name: answer.arrays[name] for name in asked}

    def _predictions(self, frames: Frames, answer: Answer) -> Predictions:
        """The predictions in an answer, and notes what it reports of the calculator."""
        self._check_id(answer.arrays["id"])
        errors = read_failures(answer.metadata, answer.arrays["status"])
        self.n_messages += 1
        if len(answer.metadata) > 1:
            self.changed |= {name for name in CHANGEABLE if name == answer.metadata.get("changed")}
            self.stress_asymmetry = max(self.stress_asymmetry, read_asymmetry(answer.metadata))
        return Predictions.checked(
            frames, answer.arrays["energy"], answer.arrays.get("forces"), answer.arrays.get("stress"), errors
        )

    def _question(self, frames: Frames, moments: Float | None) -> list[tuple[str, NDArray[Any]]]:
        """The arrays of a question about `frames` by name, in their order on the wire."""
        arrays = [(name, getattr(frames, name)) for name in FRAME_FIELDS]
        if moments is not None:  # before the truth values, so that numbers stay aligned
            arrays.insert(-1, (MOMENTS, np.ascontiguousarray(moments, np.float64)))
        return [*arrays, ("id", self._id)]

    def _prepare(self, frames: Frames, properties: Properties) -> tuple[bytes, Expected]:
        """The header of a question about structures of these sizes, and the arrays that the answer must have."""
        if len(self._asked) >= REMEMBERED_HEADERS:
            self._asked.clear()
        arrays = self._question(frames, frames.initial_magmoms)
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


def read_asymmetry(metadata: Mapping[str, str]) -> float:
    """The largest |s_ij − s_ji| [eV/Å³] that an answer states; 0 if it states none that is possible."""
    try:
        value = float(metadata.get("stress_asymmetry", "0"))
    except ValueError:
        return 0.0
    return value if 0 <= value < LARGEST else 0.0
