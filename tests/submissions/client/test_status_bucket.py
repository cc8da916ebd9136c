"""The mailbox over HTTP: a real S3 server's answers and refusals, and servers that answer oddly."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from submissions.client.http import MailError, RefusedError, Web
from submissions.client.status_bucket import InviteError, Mailbox, read_invite
from submissions.records import utc_now
from submissions.requests import Forms, InviteFile
from tests.servers.rgw import RgwServer
from tests.submissions.author_desk import AuthorDesk, slot, status_of
from tests.submissions.client.odd_server import HASTY, form_to, odd_server, say


@pytest.fixture
def desk(rgw: RgwServer, tmp_path: Path) -> AuthorDesk:
    return AuthorDesk(rgw, tmp_path)


def test_what_the_judge_left_is_read_without_a_credential(desk: AuthorDesk) -> None:
    forms = desk.put_forms()
    desk.put_log("emt-0123456789ab", "loading\n\x1b[2Jdone")
    mailbox = Mailbox(desk.invite)
    assert mailbox.forms() == forms
    assert mailbox.status() == status_of()
    assert mailbox.log("emt-0123456789ab") == "loading\n\\x1b[2Jdone"
    assert mailbox.log("lj-0123456789ab") == ""


def test_a_file_arrives_byte_by_byte(desk: AuthorDesk, tmp_path: Path) -> None:
    path, form, counts = tmp_path / "part", desk.form(), []
    path.write_bytes(bytes(range(256)) * 1000 + b"\r\n--x--\r\n")
    Web(HASTY).post(form, path, counts.append)
    assert desk.arrived() == {form.slot: [path.read_bytes()]}
    assert counts == sorted(counts)
    assert counts[-1] == path.stat().st_size


def test_the_server_refuses_what_the_form_does_not_allow(desk: AuthorDesk, tmp_path: Path) -> None:
    path = tmp_path / "part"
    path.write_bytes(b"x" * 2000)
    small = desk.form(max_bytes=1000)
    with pytest.raises(RefusedError, match="2000 bytes, and its slot takes 1000"):
        Web(HASTY).post(small, path)
    with pytest.raises(RefusedError, match=r"larger than its slot takes \(EntityTooLarge\)"):
        Web(HASTY).post(small.model_copy(update={"max_bytes": 10**6}), path)
    elsewhere = small.fields | {"key": f"alice/{slot()}"}
    with pytest.raises(RefusedError, match=r"may have expired, or the invitation been revoked.*AccessDenied"):
        Web(HASTY).post(desk.form().model_copy(update={"fields": elsewhere}), path)
    assert desk.arrived() == {}


def test_the_server_refuses_a_form_that_has_expired(desk: AuthorDesk, tmp_path: Path) -> None:
    path, form = tmp_path / "part", desk.form(seconds=-1)
    path.write_bytes(b"x")
    with pytest.raises(RefusedError, match="may have expired"):
        Web(HASTY).post(form, path)


def test_another_address_is_not_known(desk: AuthorDesk) -> None:
    wrong = InviteFile(name="alice", mail=desk.invite.mail.replace(desk.secret, "0" * 64))
    with pytest.raises(MailError, match="invitation alice is not known: it may have been revoked"):
        Mailbox(wrong).forms()


def test_a_revoked_invitation_and_old_forms_say_so(desk: AuthorDesk) -> None:
    forms = desk.put_forms()
    with pytest.raises(MailError, match=r"not renewed its forms since 20.* wait for its next intake"):
        Mailbox(desk.invite).forms(now=forms.expires + timedelta(seconds=1))
    revoked = forms.model_copy(update={"revoked": "left\x1b[31m us", "letters": (), "parts": ()})
    desk.put_mail("forms.json", revoked.model_dump_json())
    with pytest.raises(MailError, match=r"alice was revoked: left\\x1b\[31m us"):
        Mailbox(desk.invite).forms()


def test_a_form_in_the_open_is_refused_where_the_mailbox_is_not() -> None:
    forms = Forms(renewed=utc_now(), expires=utc_now() + timedelta(hours=1), parts=(form_to("http://10.0.0.1/\x1b"),))
    web = Prepared(forms.model_dump_json().encode())
    with pytest.raises(MailError, match=r"leads to http://10\.0\.0\.1/\\x1b, which is not https: nothing is sent"):
        Mailbox(InviteFile(name="alice", mail="https://example.org/"), web).forms()
    assert Mailbox(InviteFile(name="alice", mail="http://127.0.0.1/"), web).forms() == forms
    secret = forms.model_copy(update={"parts": (form_to("https://10.0.0.1/"),)})
    web.data = secret.model_dump_json().encode()
    assert Mailbox(InviteFile(name="alice", mail="https://example.org/"), web).forms() == secret


class Prepared(Web):
    """What is at every address, whatever its kind: there is no certificate here that the world trusts."""

    def __init__(self, data: bytes) -> None:
        super().__init__(HASTY)
        self.data = data

    def fetch(self, url: str, max_bytes: int) -> bytes:
        return self.data


@pytest.mark.parametrize("text", ["", "[]", '{"schema_version": 9}', '{"renewed": "\x1b[2J"}', "[" * 100_000])
def test_something_else_in_the_mailbox_is_one_line(text: str) -> None:
    with (
        odd_server(say(200, text.encode())) as server,
        pytest.raises(MailError, match=r"^forms\.json of the judge cannot be read") as caught,
    ):
        Mailbox(InviteFile(name="alice", mail=server.url)).forms()
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "there is no such file"),
        ("no json", "is no invitation"),
        ('{"name": "alice"}', "mail: Field required"),
        ('{"name": "alice", "mail": "ftp://here/"}', "must be a web address that ends with /"),
        ('{"name": "alice", "mail": "http://here/", "key": "AKIA"}', "key: Extra inputs"),
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
