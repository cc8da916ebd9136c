"""A client of an S3 service, the addresses of buckets, and the service's errors as one line with the remedy.

Credentials come only from the AWS chain (environment, profile, instance role), never from our settings or files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from botocore import exceptions

from sandbox.events import plain
from submissions.store.interface import StoreError

S3Client: TypeAlias = Any  # boto3 makes the methods of its clients at run time
POOL = 32  # connections of one client; more threads would wait for each other

_ADDRESS = re.compile(r"s3://(?P<bucket>[A-Za-z0-9._-]+)(/(?P<prefix>[A-Za-z0-9_.:@+=, ()/-]*))?")
_ENDPOINT = re.compile(r"https?://[^/\s]+(/[^\s]*)?")
_ATTEMPTS = 6
_CONNECT_S = 5.0
_READ_S = 60.0

_REMEDIES = {
    "AccessDenied": "these credentials may not do it: allow them to read, write, list and delete in the bucket",
    "ExpiredToken": "these credentials have expired: fetch new ones",
    "InvalidAccessKeyId": "no such access key is known there: check AWS_ACCESS_KEY_ID (or AWS_PROFILE)",
    "InternalError": "the service has trouble of its own: run it again later",
    "NoSuchBucket": "there is no such bucket: make it, or correct its name",
    "QuotaExceeded": "the bucket is full: raise its quota, or free some space",
    "RegionMismatch": "the bucket is in another region: set AWS_DEFAULT_REGION",
    "SignatureDoesNotMatch": "the secret key does not fit the access key: check AWS_SECRET_ACCESS_KEY (or AWS_PROFILE)",
    "SlowDown": "the service asks for patience: run it again later",
}
_SAME_AS = {
    "401": "AccessDenied",
    "403": "AccessDenied",  # the answer to a HEAD has no body, so the status is all that is known
    "AllAccessDisabled": "AccessDenied",
    "Forbidden": "AccessDenied",
    "AuthorizationHeaderMalformed": "RegionMismatch",
    "IllegalLocationConstraintException": "RegionMismatch",
    "PermanentRedirect": "RegionMismatch",
    "301": "RegionMismatch",
    "InvalidBucketName": "NoSuchBucket",
    "InvalidToken": "ExpiredToken",
    "TokenRefreshRequired": "ExpiredToken",
    "500": "InternalError",
    "ServiceUnavailable": "SlowDown",
    "503": "SlowDown",
    "RequestTimeout": "SlowDown",
}
_UNREACHED = (
    exceptions.ConnectionError,  # among its subclasses: refused, timed out, not resolved
    exceptions.ConnectionClosedError,
    exceptions.HTTPClientError,
)


class BucketPlace(NamedTuple):
    """A prefix of a bucket; it is empty or ends with a slash."""

    bucket: str
    prefix: str


def bucket_place(url: str, setting: str) -> BucketPlace:
    """The bucket and prefix of the address `s3://bucket/prefix`.

    Raises:
        StoreError: it is no such address; the line names `setting`.
    """
    address = _ADDRESS.fullmatch(url)
    prefix = (address["prefix"] or "").strip("/") if address else ""
    if not address or any(part in ("", ".", "..") for part in prefix.split("/") if prefix):
        raise StoreError(f"{setting}: {plain(url)!r} is no place in S3: give s3://BUCKET or s3://BUCKET/PREFIX")
    return BucketPlace(address["bucket"], f"{prefix}/" if prefix else "")


def connect(endpoint_url: str = "") -> S3Client:
    """A client that threads may share. It retries passing errors with backoff (see AWS_MAX_ATTEMPTS).

    Args:
        endpoint_url: of the service; empty for that of the AWS chain.

    Raises:
        StoreError: `endpoint_url` is not an address, or the files of the AWS chain cannot be read.
    """
    if endpoint_url and not _ENDPOINT.fullmatch(endpoint_url):
        raise StoreError(f"endpoint_url: {plain(endpoint_url)!r} is no service: give http(s)://HOST[:PORT]")
    # These imports take a quarter of a second: commands that need no S3 must not pay for them.
    import boto3
    from botocore.config import Config

    config = Config(
        retries={"mode": "standard"} | ({} if "AWS_MAX_ATTEMPTS" in os.environ else {"total_max_attempts": _ATTEMPTS}),
        connect_timeout=_CONNECT_S,
        read_timeout=_READ_S,
        tcp_keepalive=True,
        max_pool_connections=POOL,
        signature_version="s3v4",
        # Not every service knows the newer checksums; our sha256 travels as metadata.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        # A bucket as part of the host name needs a wildcard in the DNS, which few services besides AWS have.
        s3={"addressing_style": "path" if endpoint_url else "auto"},
    )
    try:
        session = boto3.session.Session()
        region = session.region_name or ("us-east-1" if endpoint_url else None)
        return session.client("s3", endpoint_url=endpoint_url or None, region_name=region, config=config)
    except (exceptions.BotoCoreError, ValueError) as error:
        raise StoreError(f"S3: {_one_line(error)}: correct the AWS settings (~/.aws, AWS_…)") from error


def in_parts(part_bytes: int) -> Any:
    """The settings of an upload that sends one part of this size after the other."""
    from boto3.s3.transfer import TransferConfig

    return TransferConfig(multipart_threshold=part_bytes, multipart_chunksize=part_bytes, use_threads=False)


@contextmanager
def s3_errors(what: str) -> Iterator[None]:
    """Turns errors of boto3 into a `StoreError` that names `what` and the remedy."""
    try:
        yield
    except exceptions.ClientError as error:
        raise StoreError(f"{what}: {_of_service(error)}") from error
    except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError) as error:
        remedy = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        raise StoreError(f"{what}: no AWS credentials here: {remedy}") from error
    except exceptions.SSLError as error:
        remedy = "check endpoint_url; AWS_CA_BUNDLE names the certificates that are trusted"
        raise StoreError(f"{what}: no trusted connection: {_one_line(error)}: {remedy}") from error
    except exceptions.EndpointConnectionError as error:
        url = urlsplit(str(error.kwargs.get("endpoint_url", "")))
        remedy = "check endpoint_url, and whether the service runs"
        raise StoreError(f"{what}: nobody answers at {plain(url.scheme)}://{plain(url.netloc)}: {remedy}") from error
    except _UNREACHED as error:
        raise StoreError(f"{what}: {_one_line(error)}: check endpoint_url and the network, and run it again") from error
    except exceptions.BotoCoreError as error:
        raise StoreError(f"{what}: {_one_line(error)}: check the address and the AWS settings") from error


def error_code(error: exceptions.ClientError) -> str:
    """The service's code of the error: a word or a number."""
    return str(error.response.get("Error", {}).get("Code", ""))


def _of_service(error: exceptions.ClientError) -> str:
    code = error_code(error)
    if code == "RequestTimeTooSkewed":
        return f"this machine's clock is off{_by_how_much(error)}: set it"
    remedy = _REMEDIES.get(_SAME_AS.get(code, code))
    if remedy is None:
        message = plain(str(error.response.get("Error", {}).get("Message", "")))
        return f"the service answers {plain(code)} {message}".rstrip() + ": check the bucket and its rights"
    return remedy


def _by_how_much(error: exceptions.ClientError) -> str:
    """` by … s`, from the date of the answer; empty if it has none."""
    try:
        theirs = parsedate_to_datetime(error.response["ResponseMetadata"]["HTTPHeaders"]["date"])
    except (KeyError, ValueError):
        return ""
    seconds = (datetime.now(UTC) - theirs).total_seconds()
    return f" by {abs(seconds):.0f} s ({'ahead' if seconds > 0 else 'behind'} of the service)"


def _one_line(error: Exception) -> str:
    return plain(" ".join(str(error).split())).rstrip(".")
