"""Why an object store did not take a file: its answer in one line, with what to do."""

from __future__ import annotations

import re

from sandbox.events import plain

# The error documents of S3 are read by these two words alone: no XML of a stranger's is parsed.
_CODE = re.compile(rb"<Code>\s*([A-Za-z0-9]{1,60})\s*</Code>")
_MESSAGE = re.compile(rb"<Message>\s*([^<]{1,300})\s*</Message>")

_OLD_FORM = "the form may have expired, or the invitation been revoked: run it again after the judge's next intake"
_REMEDIES = {
    "EntityTooLarge": "it is larger than its slot takes",
    "EntityTooSmall": "it is empty",
    "ExpiredToken": _OLD_FORM,
    "InvalidAccessKeyId": _OLD_FORM,
    "InvalidPolicyDocument": "the form was changed on its way: run it again",
    "MissingContentLength": "something between here and the server takes the request apart: try another network",
    "NoSuchBucket": "the judge's inbox is not there: tell whoever sent the invitation",
    "QuotaExceeded": "the judge's inbox is full: tell whoever sent the invitation",
    "RequestTimeTooSkewed": "a clock is off: check the one of this machine",
    "SignatureDoesNotMatch": "the form was changed on its way: run it again",
}


def refusal(status: int, body: bytes) -> str:
    """What the server's answer means.

    Args:
        body: its first bytes.
    """
    found = _CODE.search(body)
    code = found[1].decode() if found else ""
    if remedy := _REMEDIES.get(code):
        return f"{remedy} ({code})"
    said = _MESSAGE.search(body)
    words = plain(said[1].decode("utf-8", "replace").strip()) if said else ""
    shown = ": ".join(word for word in (code or f"status {status}", words) if word)
    if status in (401, 403):
        return f"{_OLD_FORM} ({shown})"
    return f"{shown}: tell whoever sent the invitation"
