"""Reads images from the registries of authors, which may be hostile.

Only hosts in the setting `registries` are asked, so a reference cannot lead into the judge's own network. A credential
is sent only to its host and to that host's own token service. A redirect is followed without the credential, never to
http, and to an address that is not public only if the maintainer listed that host. Every answer is bounded while it is
read, and refused if it does not match its digest.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import dxf
import dxf.exceptions
import requests
import www_authenticate  # type: ignore[import-untyped]

from judge.config import JudgeSettings
from judge.images.credentials import login_for
from judge.images.manifest import MAX_CONFIG, MAX_MANIFEST, Blob, ImageIndex, ImageManifest, read_manifest
from judge.images.reference import ImageReference, Repository, read_reference
from judge.images.token_service import require_own_service
from judge.images.transfer import PIECE_S, Pace, RequestFault, Transfer
from sandbox.driver import Login
from sandbox.image.image_check import invalid
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault
from submissions.bounded_http import BoundedSession, is_loopback, pieces

CHUNK = 1024**2
TIMEOUT_S = PIECE_S  # of a connection and of each byte
TRIES = 5  # of a blob whose connection is lost
PATIENCE_S, SLOWEST_BYTES_PER_S = 120.0, 1e6
_KINDS = (
    "docker.distribution.manifest.v2",
    "docker.distribution.manifest.list.v2",
    "oci.image.manifest.v1",
    "oci.image.index.v1",
)
MAX_CHALLENGE = 8192  # of the letters of a 401; the time for parsing grows as their square
_ACCEPT = ", ".join(f"application/vnd.{kind}+json" for kind in _KINDS)
_PARTIAL = 206
# Refusals that may pass, or come from the judge's own network. Other refusals are the author's fault.
_MAY_PASS = (407, 408, 425, 429)


@dataclass(frozen=True)
class RegistryImage:
    """An image in its author's registry.

    Args:
        reference: the reference of the manifest for this machine's architecture.
    """

    reference: ImageReference
    manifest: ImageManifest
    client: RegistryClient

    def config(self) -> bytes:
        """The bytes of its configuration.

        Raises:
            SubmissionFault: they are too many, or do not match the digest in the manifest.
            JudgeFault: the registry does not answer.
        """
        blob = self.manifest.config
        with registry_faults(self.client):
            return self.client.read(f"blobs/{blob.digest}", blob.digest, MAX_CONFIG)

    def layer(self, blob: Blob) -> Iterator[bytes]:
        """The bytes of a layer, piece by piece; see `config`."""
        with registry_faults(self.client):
            yield from self.client.blob(blob)


def find_image(settings: JudgeSettings, reference: str, transfer: Transfer | None = None) -> RegistryImage:
    """The image that `reference` names; of an index, the image for this machine's architecture.

    Raises:
        SubmissionFault: the image may not be fetched, or cannot be.
        JudgeFault: the registry does not answer, or refuses the judge's credential.
        ConfigError: the credential cannot be read.
    """
    named = read_reference(reference, settings.registries)
    repository = named.repository
    transfer = transfer or Transfer()
    may_log_in = transfer.may_log_in(str(repository))
    login = login_for(settings.registry_config, repository.host) if may_log_in else None
    client = RegistryClient(repository, login, private=(repository.address, *settings.registries))
    client.transfer = transfer
    with registry_faults(client):
        manifest = read_manifest(client.read(f"manifests/{named.digest}", named.digest, MAX_MANIFEST))
        if isinstance(manifest, ImageIndex):
            named = ImageReference(repository, manifest.manifest().digest)
            manifest = read_manifest(client.read(f"manifests/{named.digest}", named.digest, MAX_MANIFEST))
    if isinstance(manifest, ImageIndex):
        raise invalid("The image's index names another index: push it again with `docker push`.")
    return RegistryImage(named, manifest, client)


class RegistryClient(dxf.DXF):
    """A connection to one repository.

    Args:
        login: None if the repository is public.
        piece_s: a mebibyte must arrive in this time [s].
        private: hosts that may have an address that is not public, as those that the maintainer listed; None: all.
    """

    def __init__(
        self,
        repository: Repository,
        login: Login | None,
        timeout_s: float = TIMEOUT_S,
        piece_s: float = PIECE_S,
        private: Collection[str] | None = None,
    ) -> None:
        host = repository.address
        super().__init__(
            host,
            repository.name,
            auth=lambda _, answer: _authenticate(self, answer),
            insecure=is_loopback(host),
            timeout=timeout_s,
        )
        self.repository = repository
        self.login = login
        self.transfer = Transfer()
        self.listed = tuple(private or ())
        self._piece_s = piece_s
        self._session = BoundedSession(same_host=False, private=private)
        self._sessions = [self._session]

    def read(self, path: str, digest: str, max_bytes: int) -> bytes:
        """The bytes at `path`, which match `digest`.

        Raises:
            SubmissionFault: they are too many, or do not match.
        """
        data = bytearray()
        with self._within(max_bytes):
            for piece in self._chunks(path, 0, Pace(self._session, self._piece_s, self.transfer)):
                data += piece
                if len(data) > max_bytes:
                    too_many = f"{digest} in {self.repository} has more than {max_bytes} bytes: push the image again."
                    raise invalid(too_many)
        if f"sha256:{hashlib.sha256(data).hexdigest()}" != digest:
            raise self._other_bytes(digest)
        return bytes(data)

    def blob(self, blob: Blob) -> Iterator[bytes]:
        """The bytes of `blob`, piece by piece. After a lost connection it continues where it was. Raises as `read`."""
        sha256, n_bytes, pace = hashlib.sha256(), 0, Pace(self._session, self._piece_s, self.transfer)
        with self._within(blob.size):
            for tries_left in reversed(range(TRIES)):
                try:
                    for chunk in self._chunks(f"blobs/{blob.digest}", n_bytes, pace):
                        sha256.update(chunk)
                        n_bytes += len(chunk)
                        if n_bytes > blob.size:
                            raise self._other_bytes(blob.digest)
                        yield chunk
                    break
                except (requests.ConnectionError, requests.Timeout):
                    if not tries_left:
                        raise
        if n_bytes != blob.size or f"sha256:{sha256.hexdigest()}" != blob.digest:
            raise self._other_bytes(blob.digest)

    def _other_bytes(self, digest: str) -> SubmissionFault:
        return invalid(f"{self.repository} has other bytes than {digest} under this digest: push the image again.")

    def _within(self, n_bytes: int) -> AbstractContextManager[None]:
        """A time limit for an answer of so many bytes."""
        return self._session.cut_after(PATIENCE_S + n_bytes / SLOWEST_BYTES_PER_S)

    def _answer(self, path: str, start: int = 0) -> requests.Response:
        """The streamed answer with what is at `path`, from byte `start` on."""
        headers = {"Accept": _ACCEPT, **({"Range": f"bytes={start}-"} if start else {})}
        answer: requests.Response = self._request("get", path, stream=True, headers=headers)  # type: ignore[no-untyped-call]
        return answer

    def _chunks(self, path: str, start: int, pace: Pace) -> Iterator[bytes]:
        """The bytes at `path` from `start` on, also if the server ignores `start`."""
        with pace.wait():
            answer = self._answer(path, start)
        with answer:
            unwanted = 0 if answer.status_code == _PARTIAL else start
            for chunk in pace.keep(pieces(answer, CHUNK)):
                wanted, unwanted = chunk[unwanted:], max(0, unwanted - len(chunk))
                if wanted:
                    yield wanted

    def authorize(self, login: Login) -> None:
        """Sends the credential itself from now on, for a registry without a token service."""
        self._headers = {"Authorization": _basic(login)}

    @property
    def credential_refused(self) -> bool:
        """True if the registry answered "unauthorized" to the credential itself."""
        return str(self._headers.get("Authorization", "")).startswith("Basic ")


@contextmanager
def registry_faults(client: RegistryClient) -> Iterator[None]:
    """Turns errors of an author's registry into a fault of the submission or of the judge."""
    repository = client.repository
    lacking = invalid(
        f"The judge cannot read this image in {repository}: push it, or let the judge read it. "
        "If it is private, your invitation must name its repository: ask the maintainer."
    )
    with client.transfer.asking(repository.host):
        try:
            yield
        except dxf.exceptions.DXFUnauthorizedError:
            if client.credential_refused:
                raise login_refused(repository) from None
            raise lacking from None
        except requests.HTTPError as error:
            status = status_of(error)
            if 400 <= status < 500 and status not in _MAY_PASS:
                raise lacking from None
            raise RequestFault(
                FaultCause.REGISTRY, f"{repository} cannot be read now (status {status}): try again later"
            ) from None
        except (requests.RequestException, dxf.exceptions.DXFError) as error:
            raise does_not_answer(repository, error) from error


def status_of(error: requests.HTTPError) -> int:
    """The status of a registry's answer."""
    return error.response.status_code if error.response is not None else 0


def does_not_answer(repository: Repository, error: Exception) -> RequestFault:
    """The fault of a registry that does not answer, or not as registries do."""
    return RequestFault(
        FaultCause.REGISTRY,
        f"the registry {repository.host} does not answer as it should ({type(error).__name__}): "
        "check the network, then try again",
        is_silence=isinstance(error, (requests.ConnectionError, requests.Timeout)),
    )


def login_refused(repository: Repository) -> JudgeFault:
    """The fault of a credential that the registry refuses."""
    return JudgeFault(
        FaultCause.REGISTRY,
        f"{repository.host} refuses the judge's credential: renew registry_config with docker login",
    )


def _authenticate(client: RegistryClient, answer: requests.Response) -> None:
    """Prepares the client's headers as the registry demands: a token of its token service, or the credential itself."""
    stated = answer.headers.get("www-authenticate", "")
    if len(stated) > MAX_CHALLENGE:
        return
    try:
        challenge = www_authenticate.parse(stated)
    except (ValueError, AttributeError):  # no challenge, or one without a scheme
        return
    bearer = challenge.get("bearer")
    if "basic" in challenge and client.login:
        client.authorize(client.login)
    elif isinstance(bearer, dict):
        require_own_service(client.repository, str(bearer.get("realm", "")), client.listed)
        try:
            client.authenticate(authorization=_basic(client.login) if client.login else None, response=answer)
        except dxf.exceptions.DXFUnauthorizedError:
            if client.login:
                raise login_refused(client.repository) from None
            raise
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise does_not_answer(client.repository, error) from error


def _basic(login: Login) -> str:
    return "Basic " + base64.b64encode(f"{login.username}:{login.password}".encode()).decode()
