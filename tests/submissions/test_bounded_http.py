"""The limits of a bounded session: time, bytes, redirects and hosts."""

from __future__ import annotations

import gzip
import socket
import time
from threading import Event
from typing import Any

import pytest
import requests

from submissions import bounded_http
from submissions.bounded_http import (
    AnswerTooLarge,
    BoundedSession,
    InvalidAnswer,
    RedirectRefused,
    is_loopback,
    is_public,
    pieces,
    read_body,
)
from tests.servers.raw_server import drop_by_drop, raw_server


@pytest.mark.parametrize("same_host", [True, False])
def test_nothing_of_a_redirect_is_read(same_host: bool) -> None:
    """Its body may unpack to gigabytes, or never end."""
    sent: list[int] = []

    def speak(connection: socket.socket, request: str, over: Event) -> None:
        if request.startswith("GET /there "):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            return
        connection.sendall(
            b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Encoding: gzip\r\nContent-Length: 99999999999\r\n\r\n"
        )
        bomb = gzip.compress(bytes(1 << 20)) * 1000
        while not over.is_set():
            connection.sendall(bomb)
            sent.append(len(bomb))

    with raw_server(speak) as (host, _), BoundedSession(same_host=same_host) as session, session.cut_after(20):
        assert session.get(f"http://{host}/here").content == b"hello"
        assert sum(sent) < 20_000_000


def test_a_token_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_http, "MAX_UNSTREAMED", 10_000)

    def speak(connection: socket.socket, _: str, over: Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n{")
        while not over.is_set():
            connection.sendall(b" " * 1000)

    too_much = pytest.raises(AnswerTooLarge, match="more than 10000 bytes")
    with raw_server(speak) as (host, _), BoundedSession(same_host=False) as session, too_much:
        session.get(f"http://{host}/token")


def test_an_answer_is_read_as_utf_8_whatever_it_states() -> None:
    stated = b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=punycode\r\n\r\n"
    with (
        raw_server(drop_by_drop(stated + '"größe"'.encode(), b"")) as (host, _),
        BoundedSession(same_host=True) as session,
    ):
        assert session.get(f"http://{host}/").json() == "größe"


def test_a_proxy_that_sends_a_byte_at_a_time_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with raw_server(drop_by_drop(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x" * 5000)) as (host, requests_seen):
        monkeypatch.setenv("http_proxy", f"http://{host}")
        monkeypatch.setenv("no_proxy", "")
        begun, session = time.monotonic(), BoundedSession(same_host=True)
        with pytest.raises(requests.Timeout, match="not done after"), session.cut_after(0.3):
            session.get("http://example.org/there")
        assert time.monotonic() - begun < 5
    assert requests_seen[0].startswith("GET http://example.org/there ")


def test_nothing_is_asked_when_the_time_is_over() -> None:
    with raw_server(drop_by_drop(b"HTTP/1.1 200 OK\r\n\r\n", b"")) as (host, requests_seen):
        session = BoundedSession(same_host=True)
        too_late = pytest.raises(requests.Timeout)
        with too_late, session.cut_after(0.01):
            time.sleep(0.1)
            session.get(f"http://{host}/")
    assert requests_seen == []


def test_an_answer_without_a_length_that_was_cut_off_is_no_answer() -> None:
    """Its end looks like that of a whole one."""
    with raw_server(drop_by_drop(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 5000)) as (host, _):
        session = BoundedSession(same_host=True)
        with (
            pytest.raises(requests.Timeout),
            session.cut_after(0.2),
            session.get(f"http://{host}/", stream=True) as answer,
        ):
            read_body(answer, 10_000)


def test_a_redirect_that_is_not_followed_is_an_answer() -> None:
    answer = drop_by_drop(b"HTTP/1.1 307 Elsewhere\r\nLocation: http://elsewhere/\r\nContent-Length: 3\r\n\r\n", b"abc")
    with raw_server(answer) as (host, _), BoundedSession(same_host=True) as session:
        assert session.post(f"http://{host}/", allow_redirects=False).status_code == 307


@pytest.mark.parametrize(
    "answer",
    [
        b"307 Elsewhere\r\nContent-Length: 0\r\nLocation: https://[bad/\r\n\r\n",
        b"307 Elsewhere\r\nContent-Length: 0\r\nLocation: /\xff\r\n\r\n",
        b"200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n\r\n",
    ],
    ids=["address", "letters", "chunk"],
)
def test_an_answer_that_is_no_http_is_an_error_of_requests(answer: bytes) -> None:
    speak = drop_by_drop(b"HTTP/1.1 " + answer, b"")
    with raw_server(speak) as (host, _), BoundedSession(same_host=False) as session, pytest.raises(InvalidAnswer):
        session.get(f"http://{host}/")


@pytest.mark.parametrize("name", ["a..b", "a" * 70 + ".example"])
def test_a_host_that_no_name_server_knows_by_its_form_is_an_error_of_requests(name: str) -> None:
    with BoundedSession(same_host=False, private=()) as session, pytest.raises(InvalidAnswer):
        session.get(f"http://{name}/")


@pytest.mark.parametrize("same_host", [True, False])
@pytest.mark.parametrize("target", ["http://example.org/", "http://169.254.169.254/latest", "https://example.org/"])
def test_a_redirect_to_another_host_is_not_followed_from_this_machine(target: str, same_host: bool) -> None:
    answer = drop_by_drop(f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode(), b"")
    refused = pytest.raises(RedirectRefused)
    with raw_server(answer) as (host, _), BoundedSession(same_host=same_host) as session, refused:
        session.get(f"http://{host}/")


def test_redirects_have_an_end() -> None:
    answer = drop_by_drop(b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n", b"")
    too_many = pytest.raises(requests.TooManyRedirects)
    with raw_server(answer) as (host, requests_seen), BoundedSession(same_host=True) as session, too_many:
        session.get(f"http://{host}/")
    assert len(requests_seen) == 1 + bounded_http.MAX_REDIRECTS


def test_what_is_packed_is_unpacked_only_on_demand_and_within_the_bound() -> None:
    packed = gzip.compress(bytes(2_000_000))
    sizes = f"Content-Encoding: gzip\r\nContent-Length: {len(packed)}"
    head = f"HTTP/1.1 200 OK\r\nConnection: close\r\n{sizes}\r\n\r\n".encode()

    def speak(connection: socket.socket, _: str, over: Event) -> None:
        connection.sendall(head + packed)

    with raw_server(speak) as (host, requests_seen), BoundedSession(same_host=True) as session:
        with session.get(f"http://{host}/", stream=True) as answer:
            assert b"".join(pieces(answer)) == packed
        with session.get(f"http://{host}/", stream=True) as answer:
            assert read_body(answer, 2_000_000, unpack=True) == bytes(2_000_000)
        with session.get(f"http://{host}/", stream=True) as answer, pytest.raises(AnswerTooLarge):
            read_body(answer, 1_999_999, unpack=True)
    assert "Accept-Encoding: identity" in requests_seen[0]


def test_only_this_machine_is_spoken_to_without_tls() -> None:
    assert all(map(is_loopback, ["localhost", "localhost:5000", "127.0.0.1:5000", "127.1.2.3", "[::1]:5000"]))
    assert not any(map(is_loopback, ["ghcr.io", "localhost.example", "127.0.0.1.example:80", "10.0.0.1", ""]))


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("140.82.121.4", True), ("2606:50c0:8000::153", True), ("10.0.0.1", False), ("172.17.0.1", False),
        ("192.168.1.1", False), ("169.254.169.254", False), ("100.64.0.1", False), ("127.0.0.1", False),
        ("0.0.0.0", False), ("224.0.0.1", False), ("255.255.255.255", False), ("::1", False), ("fe80::1%eth0", False),
        ("fd00:ec2::254", False), ("::ffff:10.0.0.1", False), ("::ffff:140.82.121.4", True),
        ("2002:0a00:0001::", False), ("64:ff9b::a9fe:a9fe", False), ("64:ff9b::8c52:7904", True), ("::", False),
    ],
)  # fmt: skip
def test_addresses_of_the_internet_are_public(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Addresses by name, one for each look-up in turn; the last one stays."""
    addresses: dict[str, list[str]] = {}
    resolve = socket.getaddrinfo

    def look_up(host: str, *arguments: Any, **options: Any) -> Any:
        known = addresses.get(host)
        return resolve(host if not known else known.pop(0) if len(known) > 1 else known[0], *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return addresses


@pytest.mark.parametrize("scheme", ["https", "http"])
def test_a_host_with_an_address_of_a_private_network_is_reached_only_if_it_is_listed(
    names: dict[str, list[str]], scheme: str
) -> None:
    names["blobs.example"] = ["127.0.0.1"]
    with raw_server(drop_by_drop(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"")) as (host, requests_seen):
        port = host.partition(":")[2]
        url = f"{scheme}://blobs.example:{port}/"
        for listed in ((), ("blobs.example",), ("other.example:" + port,)):
            with (
                BoundedSession(same_host=False, private=listed) as session,
                pytest.raises(RedirectRefused, match=r"blobs\.example has the address 127\.0\.0\.1"),
            ):
                session.get(url)
        assert requests_seen == []
        if scheme == "http":
            for allowed in ((f"blobs.example:{port}",), None):
                with BoundedSession(same_host=False, private=allowed) as session:
                    assert session.get(url).status_code == 200


def test_a_name_that_changes_its_address_after_the_check_is_refused(names: dict[str, list[str]]) -> None:
    with raw_server(drop_by_drop(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"")) as (host, requests_seen):
        names["blobs.example"] = ["140.82.121.4", "127.0.0.1"]
        with BoundedSession(same_host=False, private=()) as session, pytest.raises(RedirectRefused, match="not public"):
            session.get(f"http://blobs.example:{host.partition(':')[2]}/")
        assert "".join(requests_seen) == ""


@pytest.mark.parametrize("target", ["https://169.254.169.254/latest", "https://10.0.0.1/", "https://[fd00:ec2::254]/"])
def test_a_redirect_to_a_private_address_over_tls_is_refused(target: str) -> None:
    with BoundedSession(same_host=False, private=("ghcr.io",)) as session:
        begun = time.monotonic()
        with pytest.raises(RedirectRefused, match="not public"):
            session.get(target, timeout=20)
        assert time.monotonic() - begun < 5


def test_a_proxy_of_the_environment_may_have_a_private_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with raw_server(drop_by_drop(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"")) as (host, requests_seen):
        monkeypatch.setenv("http_proxy", f"http://{host}")
        monkeypatch.setenv("no_proxy", "")
        with BoundedSession(same_host=False, private=()) as session:
            assert session.get("http://example.org/there").status_code == 200
    assert requests_seen[0].startswith("GET http://example.org/there ")
