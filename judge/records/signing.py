"""Signatures: who measured a number, and that nobody changed it since. ed25519 (RFC 8032) over canonical JSON.

What is signed is the record as it was stored, not as a later version of the judge reads it: its JSON without the field
`signature`, names sorted, no spaces, ASCII. The private key lies outside the store, readable by its owner alone; the
public one stands in every signature, and whoever verifies says which of them is trusted: this judge's own, those of
the settings, and those of a file beside the private key, one a line, that nobody else may write.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from judge.config import ConfigError, JudgeSettings
from judge.records.private_files import append_lines, write_new
from judge.records.records import Signature
from submissions.records import Record

R = TypeVar("R", bound=Record)
FIELD = "signature"
TRUSTED = "trusted.keys"
_PUBLIC = re.compile(r"[0-9a-f]{64}")


class BadSignature(ValueError):
    """A record that nobody trusted has signed as it is; one line that says why."""


class KeyExists(ConfigError):
    """There is a file already where a key was to be made."""


class SigningKey:
    """A private key, from its 32 bytes."""

    def __init__(self, secret: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(secret)
        self.public = self._key.public_key().public_bytes_raw().hex()

    @classmethod
    def create(cls, path: Path) -> SigningKey:
        """A new key, written to `path` for its owner alone: whole, or not at all, whatever dies when.

        Raises:
            KeyExists: there is a file already.
            ConfigError: it cannot be written.
        """
        secret = Ed25519PrivateKey.generate().private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_new(path, secret.hex() + "\n")
        except FileExistsError:
            raise KeyExists(f"key_file: {path} exists: a key is never overwritten; name another") from None
        except OSError as error:
            raise ConfigError(f"key_file: {path} cannot be written ({error.strerror}): name another") from None
        return cls(secret)

    @classmethod
    def load(cls, path: Path) -> SigningKey:
        """The key in `path`.

        Raises:
            FileNotFoundError: there is none.
            ConfigError: others may read it, or it is no key.
        """
        try:
            with path.open(encoding="ascii") as file:
                mode = os.fstat(file.fileno()).st_mode
                text = file.read(256).strip()
        except FileNotFoundError:
            raise
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"key_file: {path} cannot be read ({error}): correct it, or name another") from None
        if mode & 0o077:
            raise ConfigError(f"key_file: {path} can be read by others: chmod 600 {path}")
        try:
            return cls(bytes.fromhex(text))
        except ValueError:
            raise ConfigError(f"key_file: {path} is no key of judge keys create: name another") from None

    def sign(self, record: R) -> R:
        """`record` with its signature."""
        value = self._key.sign(canonical(record.model_dump(mode="json"))).hex()
        return record.model_copy(update={FIELD: Signature(key=self.public, value=value)})


def own_key(path: Path, on_new: Callable[[str], None] = lambda line: None) -> SigningKey:
    """This judge's key, made when it is asked for the first time.

    Args:
        on_new: told a line when one is made.

    Raises:
        ConfigError: it cannot be read or made, or others may read it.
    """
    try:
        return SigningKey.load(path)
    except FileNotFoundError:
        pass
    try:
        key = SigningKey.create(path)
    except KeyExists:  # made by another judge a moment ago
        with suppress(FileNotFoundError):  # a link to nowhere
            return SigningKey.load(path)
        raise
    on_new(f"Made a key to sign results with: {path} (its public part: {key.public})")
    return key


def safe_key_file(settings: JudgeSettings) -> Path:
    """Where the private key lies: nowhere that is copied, shown to containers or put on the web.

    Raises:
        ConfigError: it would lie within the store, the data sets, the pages or the run directory.
    """
    path = settings.key_file.resolve()
    places = {
        "the store": _folder(settings.store),
        "the data sets": settings.data,
        "the published pages": _folder(settings.publish_to),
        "the pages": settings.site_dir,
        "the run directory": settings.run_dir,
    }
    for what, folder in places.items():
        if folder is not None and path.is_relative_to(folder.resolve()):
            raise ConfigError(f"key_file: {settings.key_file} lies within {what} ({folder}): move it out of there")
    return settings.key_file


def _folder(address: str) -> Path | None:
    """The folder that a setting names; None for a place that is no folder of this machine."""
    path = address.removeprefix("file://")
    return None if "://" in path else Path(path)


def trusted_file(settings: JudgeSettings) -> Path:
    """The file of keys that this user trusts."""
    return settings.key_file.with_name(TRUSTED)


def trusted_keys(settings: JudgeSettings) -> frozenset[str]:
    """The public keys whose signatures count: this judge's own, those of the settings, those of the file beside it.

    Raises:
        ConfigError: one of them is no key, or others may read the private key or write the file.
    """
    return frozenset(key for keys in keys_by_source(settings).values() for key in keys)


def keys_by_source(settings: JudgeSettings) -> dict[str, tuple[str, ...]]:
    """The trusted public keys, by where each is stated: `own`, `settings`, `file`.

    Raises:
        ConfigError: as `trusted_keys`.
    """
    try:
        own: tuple[str, ...] = (SigningKey.load(safe_key_file(settings)).public,)
    except FileNotFoundError:
        own = ()
    stated = tuple(public_key(key, "trusted_keys") for key in settings.trusted_keys)
    return {"own": own, "settings": stated, "file": _read_trusted(trusted_file(settings))}


def trust(settings: JudgeSettings, key: str) -> bool:
    """True if `key` is trusted from now on, False if it was already.

    Raises:
        ConfigError: it is no key, or the file of trusted keys cannot be written.
    """
    path, known = trusted_file(settings), trusted_keys(settings)
    wanted = public_key(key, "KEY")
    if wanted in known:
        return False
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        append_lines(path, wanted + "\n")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}): correct it, or state trusted_keys") from None
    return True


def public_key(text: str, field: str) -> str:
    """`text` as a public key.

    Raises:
        ConfigError: it is none; the message names `field`.
    """
    key = text.strip().lower()
    if not _PUBLIC.fullmatch(key):
        raise ConfigError(f"{field}: {text[:80]!r} is no public key: 64 hexadecimal digits, as judge keys show says")
    return key


def _read_trusted(path: Path) -> tuple[str, ...]:
    try:
        with path.open(encoding="ascii") as file:
            mode = os.fstat(file.fileno()).st_mode
            lines = file.read().split("\n")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read ({error}): correct it, or remove it") from None
    if mode & 0o022:
        raise ConfigError(f"{path} can be written by others: chmod 600 {path}, after a look at what it holds")
    return tuple(public_key(line, str(path)) for line in lines if line.strip())


def canonical(fields: dict[str, Any]) -> bytes:
    """What is signed of the JSON object `fields`."""
    unsigned = {name: value for name, value in fields.items() if name != FIELD}
    return json.dumps(unsigned, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def check_signature(data: bytes, trusted: Collection[str]) -> str:
    """The public key that signed the record stored as `data`.

    Args:
        trusted: public keys, of which it must be one.

    Raises:
        BadSignature: nobody signed it, somebody who is not trusted, or something else than this.
    """
    try:
        fields = json.loads(data)
        signature = Signature.model_validate(fields[FIELD])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadSignature("it is not signed") from None
    if signature.key not in trusted:
        raise BadSignature(f"it is signed by {signature.key[:16]}…, which is not trusted: judge keys trust KEY")
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(signature.key)).verify(
            bytes.fromhex(signature.value), canonical(fields)
        )
    except (InvalidSignature, ValueError, RecursionError):
        raise BadSignature("it was changed after it was signed") from None
    return signature.key
