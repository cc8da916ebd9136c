"""The wire: named arrays in the *safetensors* format behind a length, over a Unix socket. Both ends use this file.

A message is an unsigned 64-bit little-endian length and that many bytes: an unsigned 64-bit header length, a JSON
header, and the arrays' bytes without gaps. The header maps each name to dtype, shape and offsets, and `__metadata__`
to strings.

Building and parsing that header costs more than the socket. So whatever changes from message to message (the id)
travels as an array: equal shapes then give equal header bytes, which are built once, parsed once, and compared ever
after.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

PROTOCOL = "1"
DTYPES = {"F64": np.dtype("<f8"), "I64": np.dtype("<i8"), "BOOL": np.dtype("?"), "U8": np.dtype("u1")}
DTYPE_NAMES = {dtype.str: name for name, dtype in DTYPES.items()}
LENGTH = struct.Struct("<Q")
BOTH_LENGTHS = struct.Struct("<QQ")
CACHED_HEADERS = 256
MAX_BELIEVABLE_BYTES = 1 << 48

# Order of a `Frames` on the wire: eight-byte numbers first, so that every array lies aligned.
FRAME_FIELDS = ("n_atoms", "numbers", "positions", "cell", "charge", "multiplicity", "pbc")


class WireError(Exception):
    """The other end broke the protocol; the text says how."""


class TooLarge(WireError):
    """A message or header beyond what was asked for."""


class Closed(WireError):
    """The other end closed the connection."""


class TimedOut(WireError):
    """A message was not complete at its deadline."""


class Entry(NamedTuple):
    """One array of a message: where its bytes lie, behind the header."""

    dtype: Any
    shape: Tuple[int, ...]
    start: int
    stop: int


class Header(NamedTuple):
    """A parsed header."""

    entries: Dict[str, Entry]
    metadata: Dict[str, str]


class Message(NamedTuple):
    """A received message, arrays still in bytes: `payload` begins with the header length."""

    header: bytes
    payload: Any
    data_start: int


def pack_header(arrays: Sequence[Tuple[str, Any]], metadata: Mapping[str, str]) -> bytes:
    """Both lengths and the header of a message, padded so that the arrays begin at a multiple of eight bytes."""
    header: Dict[str, Any] = {"__metadata__": dict(metadata)}
    offset = 0
    for name, array in arrays:
        stop = offset + array.nbytes
        header[name] = {
            "dtype": DTYPE_NAMES[array.dtype.str],
            "shape": list(array.shape),
            "data_offsets": [offset, stop],
        }
        offset = stop
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return BOTH_LENGTHS.pack(8 + len(text) + offset, len(text)) + text


def _no_duplicates(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise WireError("the header names something twice")
    return result


def _refuse_constant(text: str) -> Any:
    raise WireError("the header holds %s" % text[:16])


def parse_header(header: bytes, data_length: int) -> Header:
    """Names, dtypes, shapes and offsets that a header states, if they tile the `data_length` bytes exactly.

    Raises:
        WireError: not JSON, a name twice, an unknown dtype, a wrong shape, bytes that overlap or are left over.
    """
    try:
        stated = json.loads(header.decode("utf-8"), object_pairs_hook=_no_duplicates, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise WireError("the header is not JSON") from None
    if not isinstance(stated, dict):
        raise WireError("the header is not a JSON object")
    metadata = stated.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise WireError("the header's metadata must map strings to strings")
    entries = {name: _parse_entry(name, entry) for name, entry in stated.items()}
    position = 0
    for entry in sorted(entries.values(), key=lambda e: (e.start, e.stop)):
        if entry.start != position:
            raise WireError("the arrays overlap or leave a gap at byte %d" % position)
        position = entry.stop
    if position != data_length:
        raise WireError("the arrays take %d bytes, the message holds %d" % (position, data_length))
    return Header(entries, metadata)


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 48


def _parse_entry(name: str, entry: Any) -> Entry:
    label = name[:64]
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise WireError("%r must have dtype, shape and data_offsets, and nothing else" % label)
    dtype = DTYPES.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
    if dtype is None:
        raise WireError("%r has a dtype that this protocol does not use" % label)
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not isinstance(shape, list) or len(shape) > 3 or not all(map(_is_size, shape)):
        raise WireError("%r has no proper shape" % label)
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_size, offsets)):
        raise WireError("%r has no proper data_offsets" % label)
    size = dtype.itemsize
    for length in shape:
        size *= length
    if offsets[1] - offsets[0] != size:
        raise WireError("%r: offsets and shape disagree" % label)
    return Entry(dtype, tuple(shape), offsets[0], offsets[1])


class Channel:
    """One end of the wire: whole messages out and in, each under one total deadline (monotonic seconds)."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._packed: Dict[Any, bytes] = {}
        self._length = bytearray(8)

    def send(
        self,
        arrays: Sequence[Tuple[str, Any]],
        metadata: Mapping[str, str],
        deadline: Optional[float] = None,
    ) -> None:
        """Sends C-contiguous arrays of the protocol's dtypes.

        Raises:
            Closed, TimedOut: nobody took the whole message.
        """
        key = (tuple(metadata.items()), tuple([(name, array.shape, array.dtype) for name, array in arrays]))
        prefix = self._packed.get(key)
        if prefix is None:
            prefix = pack_header(arrays, metadata)
            if len(self._packed) >= CACHED_HEADERS:
                self._packed.clear()
            self._packed[key] = prefix
        message = b"".join([prefix] + [array for _, array in arrays if array.size])
        try:
            self._sock.settimeout(_remaining(deadline))
            self._sock.sendall(message)
        except socket.timeout:
            raise TimedOut("the message was not taken in time") from None
        except OSError as error:
            raise Closed("the connection broke: %s" % error.strerror) from None

    def receive(self, max_header: int, max_bytes: int, deadline: Optional[float] = None) -> Message:
        """The next message, its size checked before anything is allocated.

        Args:
            max_header: bytes that the header may have.
            max_bytes: bytes that all arrays together may have.

        Raises:
            TooLarge, Closed, TimedOut, WireError.
        """
        self._fill(self._length, deadline)
        (length,) = LENGTH.unpack(self._length)
        if not 8 <= length < MAX_BELIEVABLE_BYTES:  # text taken for a length has its high bytes set
            raise WireError("the bytes do not begin with the length of a message")
        if length > 8 + max_header + max_bytes:
            raise TooLarge(
                "a message of %d bytes, where at most %d were asked for" % (length, 8 + max_header + max_bytes)
            )
        payload = bytearray(length)
        self._fill(payload, deadline)
        (header_length,) = LENGTH.unpack_from(payload)
        if header_length > length - 8:
            raise WireError("the header is longer than its message")
        if header_length > max_header:
            raise TooLarge("a header of %d bytes, where at most %d are allowed" % (header_length, max_header))
        start = 8 + header_length
        if length - start > max_bytes:
            raise TooLarge("%d bytes of arrays, where %d were asked for" % (length - start, max_bytes))
        return Message(bytes(payload[8:start]), payload, start)

    def _fill(self, buffer: bytearray, deadline: Optional[float]) -> None:
        view = memoryview(buffer)
        missing = len(buffer)
        sock = self._sock
        try:
            while missing:
                sock.settimeout(_remaining(deadline))
                count = sock.recv_into(view, missing)
                if not count:
                    raise Closed("the connection was closed")
                missing -= count
                view = view[count:]
        except socket.timeout:
            raise TimedOut("no complete message in time") from None
        except OSError as error:
            raise Closed("the connection broke: %s" % error.strerror) from None

    def close(self) -> None:
        """Closes this end."""
        self._sock.close()


def _remaining(deadline: Optional[float]) -> Optional[float]:
    """Seconds until `deadline`, as `settimeout` wants them: one that has passed is a very short time, not none."""
    if deadline is None:
        return None
    return max(deadline - time.monotonic(), 1e-6)


def read_arrays(message: Message, header: Header) -> Dict[str, Any]:
    """The arrays of a message, as views of its bytes."""
    start, payload = message.data_start, message.payload
    return {
        name: np.frombuffer(payload, e.dtype, (e.stop - e.start) // e.dtype.itemsize, start + e.start).reshape(e.shape)
        for name, e in header.entries.items()
    }
