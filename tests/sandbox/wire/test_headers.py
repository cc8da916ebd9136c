"""Headers of messages: parsed, or refused with a message that quotes nothing of them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.guest.wire import (
    Message,
    WireError,
    parse_header,
    read_arrays,
)

BAD_HEADERS = {
    "not JSON": b"{",
    "not an object": b"[]",
    "a name twice": b'{"a":%s,"a":%s}' % ((b'{"dtype":"U8","shape":[0],"data_offsets":[0,0]}',) * 2),
    "NaN": b'{"a":{"dtype":"U8","shape":[NaN],"data_offsets":[0,0]}}',
    "negative offset": b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[-1,0]}}',
    "gap": b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}',
    "overlap": b'{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},'
    b'"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}',
    "float size": b'{"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}}',
    "true as a size": b'{"a":{"dtype":"U8","shape":[true],"data_offsets":[0,1]}}',
    "huge size": b'{"a":{"dtype":"F64","shape":[9223372036854775807,2],"data_offsets":[0,8]}}',
    "unknown dtype": b'{"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}',
    "dtype is a list": b'{"a":{"dtype":["U8"],"shape":[1],"data_offsets":[0,1]}}',
    "one key more": b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":1}}',
    "metadata of numbers": b'{"__metadata__":{"a":1}}',
    "deep nesting": b"[" * 100_000,
    "long number": b'{"a":{"dtype":"U8","shape":[' + b"9" * 10_000 + b'],"data_offsets":[0,1]}}',
    "not UTF-8": b'{"\xff":1}',
}


@pytest.mark.parametrize("header", BAD_HEADERS.values(), ids=BAD_HEADERS.keys())
def test_malformed_headers_are_refused(header: bytes) -> None:
    with pytest.raises(WireError):
        parse_header(header, 2)


def parse_or_refuse(header: bytes, length: int) -> None:
    try:
        parse_header(header, length)
    except WireError:
        return


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 64))
def test_any_header_is_parsed_or_refused(header: bytes, length: int) -> None:
    parse_or_refuse(header, length)


@pytest.mark.soak
@settings(max_examples=100_000, deadline=None)
@given(
    st.binary(max_size=300) | st.text(alphabet='{}[]",:0123456789aeFINS_-', max_size=300).map(str.encode),
    st.integers(0, 64),
)
def test_very_many_headers_are_parsed_or_refused(header: bytes, length: int) -> None:
    parse_or_refuse(header, length)


ENTRY = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["F64", "I64", "BOOL", "U8", "F32", ""]),
        "shape": st.lists(st.integers(-1, 1 << 50), max_size=4),
        "data_offsets": st.lists(st.integers(-1, 1 << 50), max_size=3),
    }
)


@settings(max_examples=500, deadline=None)
@given(st.dictionaries(st.sampled_from(["energy", "forces", "id", "x"]), ENTRY), st.integers(0, 64))
def test_an_accepted_header_tiles_its_bytes(stated: dict, length: int) -> None:
    try:
        header = parse_header(json.dumps(stated).encode(), length)
    except WireError:
        return
    covered = sorted((e.start, e.stop) for e in header.entries.values())
    assert sum(stop - start for start, stop in covered) == length
    message = Message(b"", bytearray(length), 0)
    for name, array in read_arrays(message, header).items():
        assert array.shape == header.entries[name].shape


@pytest.mark.parametrize("header", ['{"secret":1}', '{"secret":{"dtype":"secret","shape":[0],"data_offsets":[0,0]}}'])
def test_what_is_said_of_a_broken_message_holds_nothing_of_it(header: str) -> None:
    with pytest.raises(WireError) as caught:
        parse_header(header.encode(), 0)
    assert "secret" not in str(caught.value)
