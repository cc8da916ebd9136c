"""The receipt of a check on the author's own machine."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from sandbox.guest_archive import guest_version
from sandbox.wire.session import SessionOutcome
from submissions.card.file import CardError
from submissions.preflight.subject import CheckSubject
from submissions.records import PreflightReport, Submission, utc_now
from submissions.requests import Receipt

PACKAGE = "lambench-judge"


def make_receipt(subject: CheckSubject, outcome: SessionOutcome[PreflightReport]) -> Receipt:
    """The receipt: what was checked, with which versions, and the verdict."""
    return Receipt(
        subject=subject.text,
        digest=subject.digest,
        checked=utc_now(),
        verdict=outcome.verdict,
        versions={
            **(outcome.hello.versions if outcome.hello else {}),
            PACKAGE: _package_version(),
            "guest": guest_version(),
            "contract": str(Submission.model_fields["contract"].default),
            "sandbox": subject.driver.engine or "none",
        },
    )


def write_receipt(receipt: Receipt, path: Path) -> None:
    """Writes the receipt to `path`, and replaces an earlier one.

    Raises:
        CardError: it cannot be written.
    """
    try:
        path.write_text(receipt.model_dump_json(indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise CardError(f"{path}: cannot be written ({error.strerror}); name another file with --receipt") from error


def _package_version() -> str:
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return "unknown"
