"""The answer of an object store that refuses a file, in one line with the remedy."""

from __future__ import annotations

import re

from sandbox.events import plain

# Only these two elements of an S3 error are read: XML from an unknown server is not parsed.
_CODE = re.compile(rb"<Code>\s*([A-Za-z0-9]{1,60})\s*</Code>")
_MESSAGE = re.compile(rb"<Message>\s*([^<]{1,300})\s*</Message>")

_OLD_FORM = (
    "the upload form may have expired, or the invitation may be revoked: run it again after the judge's next intake"
)
_REMEDIES = {
    "EntityTooLarge": "it is larger than its upload slot takes",
    "EntityTooSmall": "it is empty",
    "ExpiredToken": _OLD_FORM,
    "InvalidAccessKeyId": _OLD_FORM,
    "InvalidPolicyDocument": "the upload form was changed on its way: run it again",
    "MissingContentLength": "a proxy between here and the server changes the upload: try another network",
    "NoSuchBucket": "the judge's upload bucket does not exist: tell the maintainer who sent the invitation",
    "QuotaExceeded": "the judge's upload bucket is full: tell the maintainer who sent the invitation",
    "RequestTimeTooSkewed": "a clock is wrong: check the clock of this machine",
    "SignatureDoesNotMatch": "the upload form was changed on its way: run it again",
}


def refusal(status: int, body: bytes) -> str:
    """Why the server refused, and the remedy.

    Args:
        body: its first bytes.
    """
    code_element = _CODE.search(body)
    code = code_element[1].decode() if code_element else ""
    if remedy := _REMEDIES.get(code):
        return f"{remedy} ({code})"
    message_element = _MESSAGE.search(body)
    message = plain(message_element[1].decode("utf-8", "replace").strip()) if message_element else ""
    shown = ": ".join(word for word in (code or f"status {status}", message) if word)
    if status in (401, 403):
        return f"{_OLD_FORM} ({shown})"
    return f"{shown}: tell the maintainer who sent the invitation"
