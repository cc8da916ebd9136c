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
import math
import os
import socket
import struct
import time
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence, Tuple

import numpy as np

PROTOCOL = "1"
DTYPES = {"F64": np.dtype("<f8"), "I64": np.dtype("<i8"), "BOOL": np.dtype("?"), "U8": np.dtype("u1")}
DTYPE_NAMES = {dtype.str: name for name, dtype in DTYPES.items()}
LENGTH = struct.Struct("<Q")
BOTH_LENGTHS = struct.Struct("<QQ")
BUFFER_BYTES = 1 << 18
TICK_S = 0.2
SPIN_S = 100e-6
MAX_BELIEVABLE_BYTES = 1 << 48

# Order of a `Frames` on the wire: eight-byte numbers first, so that every array lies aligned.
FRAME_FIELDS = ("n_atoms", "numbers", "positions", "cell", "charge", "multiplicity", "pbc")


class WireError(Exception):
    """The other end broke the protocol; the text says how, and holds nothing that the other end chose."""


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
    raise WireError("the header holds a number that is none")


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
    entries = {name: _parse_entry(entry) for name, entry in stated.items()}
    position = 0
    for entry in sorted(entries.values(), key=lambda e: (e.start, e.stop)):
        if entry.start != position:
            raise WireError("the arrays overlap or leave a gap")
        position = entry.stop
    if position != data_length:
        raise WireError("the arrays do not fill the message")
    return Header(entries, metadata)


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 48


def _parse_entry(entry: Any) -> Entry:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise WireError("an array must have dtype, shape and data_offsets, and nothing else")
    dtype = DTYPES.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
    if dtype is None:
        raise WireError("an array has a dtype that this protocol does not use")
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not isinstance(shape, list) or len(shape) > 3 or not all(map(_is_size, shape)):
        raise WireError("an array has no proper shape")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_size, offsets)):
        raise WireError("an array has no proper data_offsets")
    size = dtype.itemsize
    for length in shape:
        size *= length
    if offsets[1] - offsets[0] != size:
        raise WireError("the offsets and the shape of an array disagree")
    return Entry(dtype, tuple(shape), offsets[0], offsets[1])


class Channel:
    """One end of the wire: whole messages out and in, each under one total deadline (monotonic seconds).

    The socket blocks, and the kernel wakes it every `TICK_S` to look at the deadline: a time-out of Python's own would
    cost a further system call for each of the message's.
    """

    def __init__(self, sock: socket.socket) -> None:
        sock.settimeout(None)
        tick = struct.pack("@ll", 0, int(TICK_S * 1e6))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, tick)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, tick)
        self._sock = sock
        self._buffer = bytearray(BUFFER_BYTES)
        self._view = memoryview(self._buffer)

    def send(self, packed: bytes, arrays: Sequence[Any], deadline: float = math.inf) -> None:
        """Sends a header from `pack_header` and the C-contiguous arrays that it was made for.

        Raises:
            Closed, TimedOut: nobody took the whole message.
        """
        message = b"".join([packed, *[array for array in arrays if array.size]])
        try:
            sent = self._sock.send(message)
            if sent < len(message):
                self._send_rest(memoryview(message)[sent:], deadline)
        except BlockingIOError:
            self._send_rest(memoryview(message), deadline)
        except OSError as error:
            raise Closed("the connection broke: %s" % error.strerror) from None

    def _send_rest(self, rest: memoryview, deadline: float) -> None:
        while rest:
            if time.monotonic() > deadline:
                raise TimedOut("the message was not taken in time")
            try:
                rest = rest[self._sock.send(rest) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise Closed("the connection broke: %s" % error.strerror) from None

    def receive(self, max_header: int, max_bytes: int, deadline: float = math.inf) -> Message:
        """The next message, its size checked before anything is allocated.

        Args:
            max_header: bytes that the header may have.
            max_bytes: bytes that all arrays together may have.

        Raises:
            TooLarge, Closed, TimedOut, WireError.
        """
        have = self._some(self._view, deadline)
        while have < 8:
            have += self._some(self._view[have:], deadline)
        (length,) = LENGTH.unpack_from(self._buffer)
        if not 8 <= length < MAX_BELIEVABLE_BYTES:  # text taken for a length has its high bytes set
            raise WireError("the bytes do not begin with the length of a message")
        most = 8 + max_header + max_bytes
        if length > most:
            raise TooLarge("a message of more than the %d bytes that were asked for" % most)
        if have > 8 + length:
            raise WireError("more bytes came than the message states")
        payload = self._buffer[8 : 8 + length]
        if have < 8 + length:
            payload = self._rest(payload[: have - 8], length, deadline)
        (header_length,) = LENGTH.unpack_from(payload)
        if header_length > length - 8:
            raise WireError("the header is longer than its message")
        if header_length > max_header:
            raise TooLarge("a header of more than %d bytes" % max_header)
        start = 8 + header_length
        if length - start > max_bytes:
            raise TooLarge("arrays of more than the %d bytes that were asked for" % max_bytes)
        return Message(bytes(payload[8:start]), payload, start)

    def _rest(self, begun: bytearray, length: int, deadline: float) -> bytearray:
        payload = bytearray(length)
        payload[: len(begun)] = begun
        view = memoryview(payload)[len(begun) :]
        while view:
            view = view[self._some(view, deadline) :]
        return payload

    def _some(self, view: memoryview, deadline: float) -> int:
        """Waits for at least one byte; how many were put into `view`.

        A process that sleeps takes longer to wake than a small answer takes to come: so for a moment it is looked for
        without sleeping, the processor given to whoever else wants it.
        """
        awake_until = time.monotonic() + SPIN_S
        flags = int(socket.MSG_DONTWAIT)
        while True:
            try:
                count = self._sock.recv_into(view, 0, flags)
            except BlockingIOError:
                count = -1
                if flags:
                    os.sched_yield()
                    flags = int(socket.MSG_DONTWAIT) if time.monotonic() < awake_until else 0
                    continue
            except OSError as error:
                raise Closed("the connection broke: %s" % error.strerror) from None
            if not count:
                raise Closed("the connection was closed")
            if time.monotonic() > deadline:
                raise TimedOut("no complete message in time")
            if count > 0:
                return count

    def close(self) -> None:
        """Closes this end."""
        self._sock.close()


def read_arrays(message: Message, header: Header) -> Dict[str, Any]:
    """The arrays of a message, as views of its bytes."""
    start, payload = message.data_start, message.payload
    return {
        name: np.frombuffer(payload, e.dtype, (e.stop - e.start) // e.dtype.itemsize, start + e.start).reshape(e.shape)
        for name, e in header.entries.items()
    }
