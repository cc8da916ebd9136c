"""The status bucket over HTTP: answers and refusals of a real S3 server, and servers with unusual answers."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from submissions.client.http import FileRefusedError, WebClient, WebError
from submissions.client.status_bucket import InviteError, StatusBucket, read_invite
from submissions.records import utc_now
from submissions.requests import InviteFile, UploadForms
from tests.submissions.client.odd_server import HASTY, form_to, odd_server, say
from tests.world.author_machine import AuthorMachine, slot, status_of


def test_what_the_judge_left_is_read_without_a_credential(author: AuthorMachine) -> None:
    forms = author.put_forms()
    author.put_log("emt-0123456789ab", "loading\n\x1b[2Jdone")
    status_bucket = StatusBucket(author.invite)
    assert status_bucket.forms() == forms
    assert status_bucket.status() == status_of()
    assert status_bucket.log("emt-0123456789ab") == "loading\n\\x1b[2Jdone"
    assert status_bucket.log("lj-0123456789ab") == ""


def test_a_file_arrives_byte_by_byte(author: AuthorMachine, tmp_path: Path) -> None:
    path, form, counts = tmp_path / "part", author.form(), []
    path.write_bytes(bytes(range(256)) * 1000 + b"\r\n--x--\r\n")
    WebClient(HASTY).post(form, path, counts.append)
    assert author.arrived() == {form.slot: [path.read_bytes()]}
    assert counts == sorted(counts)
    assert counts[-1] == path.stat().st_size


def test_the_server_refuses_what_the_form_does_not_allow(author: AuthorMachine, tmp_path: Path) -> None:
    path = tmp_path / "part"
    path.write_bytes(b"x" * 2000)
    small = author.form(max_bytes=1000)
    with pytest.raises(FileRefusedError, match="2000 bytes, and its upload slot takes 1000"):
        WebClient(HASTY).post(small, path)
    with pytest.raises(FileRefusedError, match=r"larger than its upload slot takes \(EntityTooLarge\)"):
        WebClient(HASTY).post(small.model_copy(update={"max_bytes": 10**6}), path)
    elsewhere = small.fields | {"key": f"alice/{slot()}"}
    with pytest.raises(FileRefusedError, match=r"may have expired, or the invitation may be revoked.*AccessDenied"):
        WebClient(HASTY).post(author.form().model_copy(update={"fields": elsewhere}), path)
    assert author.arrived() == {}


def test_the_server_refuses_a_form_that_has_expired(author: AuthorMachine, tmp_path: Path) -> None:
    path, form = tmp_path / "part", author.form(seconds=-1)
    path.write_bytes(b"x")
    with pytest.raises(FileRefusedError, match="may have expired"):
        WebClient(HASTY).post(form, path)


def test_another_address_is_not_known(author: AuthorMachine) -> None:
    wrong = InviteFile(name="alice", status_url=author.invite.status_url.replace(author.secret, "0" * 64))
    with pytest.raises(WebError, match="nothing at the address of the invitation alice: it may have been revoked"):
        StatusBucket(wrong).forms()


def test_a_revoked_invitation_and_old_forms_say_so(author: AuthorMachine) -> None:
    forms = author.put_forms()
    with pytest.raises(WebError, match=r"not renewed its forms since 20.* wait for its next intake"):
        StatusBucket(author.invite).forms(now=forms.expires + timedelta(seconds=1))
    revoked = forms.model_copy(update={"revoked": "left\x1b[31m us", "requests": (), "parts": ()})
    author.put_file("forms.json", revoked.model_dump_json())
    with pytest.raises(WebError, match=r"alice was revoked: left\\x1b\[31m us"):
        StatusBucket(author.invite).forms()
    status, _, err = author.run(f"registry.example.org/group/model@sha256:{'1' * 64}", "--no-check")
    assert (status, "alice was revoked" in err) == (1, True)  # refused; no fault of a machine


def test_a_form_in_the_open_is_refused_where_the_status_bucket_is_not() -> None:
    forms = UploadForms(
        renewed=utc_now(), expires=utc_now() + timedelta(hours=1), parts=(form_to("http://10.0.0.1/\x1b"),)
    )
    web = Prepared(forms.model_dump_json().encode())
    with pytest.raises(WebError, match=r"leads to http://10\.0\.0\.1/\\x1b, which is not https: nothing is sent"):
        StatusBucket(InviteFile(name="alice", status_url="https://example.org/"), web).forms()
    assert StatusBucket(InviteFile(name="alice", status_url="http://127.0.0.1/"), web).forms() == forms
    secret = forms.model_copy(update={"parts": (form_to("https://10.0.0.1/"),)})
    web.data = secret.model_dump_json().encode()
    assert StatusBucket(InviteFile(name="alice", status_url="https://example.org/"), web).forms() == secret


class Prepared(WebClient):
    """What is at every address, whatever its kind: there is no certificate here that the world trusts."""

    def __init__(self, data: bytes) -> None:
        super().__init__(HASTY)
        self.data = data

    def fetch(self, url: str, max_bytes: int) -> bytes:
        return self.data


@pytest.mark.parametrize("text", ["", "[]", '{"schema_version": 9}', '{"renewed": "\x1b[2J"}', "[" * 100_000])
def test_something_else_in_the_status_bucket_is_one_line(text: str) -> None:
    with (
        odd_server(say(200, text.encode())) as server,
        pytest.raises(WebError, match=r"^forms\.json of the judge cannot be read") as caught,
    ):
        StatusBucket(InviteFile(name="alice", status_url=server.url)).forms()
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "there is no such file"),
        ("no json", "is no invitation"),
        ('{"name": "alice"}', "mail: is missing"),
        ('{"name": "alice", "mail": "ftp://here/"}', "must be a web address that ends with /"),
        ('{"name": "alice", "mail": "http://here/", "key": "AKIA"}', "key: there is no such field"),
        ('{"name": "' + "a" * 20_000 + '"}', "too large"),
    ],
)
def test_an_invitation_that_cannot_be_used(tmp_path: Path, text: str | None, complaint: str) -> None:
    path = tmp_path / "alice.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InviteError, match=complaint) as caught:
        read_invite(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
