"""Signatures of records: ed25519 (RFC 8032) over canonical JSON. They show who measured a number, and any later change.

The stored JSON is signed, without the field `signature`, with sorted names, no spaces, in ASCII; not the record as a
later version of the judge reads it. The private key is kept outside the store, readable only by its owner. Each
signature states the public key. Trusted public keys are this judge's own, those of the settings, and those in a file
beside the private key, one per line, that nobody else may write.
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
from judge.records.strict_json import canonical_json
from submissions.records import Record

R = TypeVar("R", bound=Record)
FIELD = "signature"
TRUSTED = "trusted.keys"
_PUBLIC = re.compile(r"[0-9a-f]{64}")


class BadSignature(ValueError):
    """A record without a valid signature by a trusted key; one line with the reason."""


class KeyExists(ConfigError):
    """A file exists where a key was to be made."""


class SigningKey:
    """A private key, from its 32 bytes."""

    def __init__(self, secret: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(secret)
        self.public = self._key.public_key().public_bytes_raw().hex()

    @classmethod
    def create(cls, path: Path) -> SigningKey:
        """A new key, written to `path`, readable only by its owner. A crash never leaves part of a file.

        Raises:
            KeyExists: the file exists.
            ConfigError: the file cannot be written.
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
            FileNotFoundError: there is no such file.
            ConfigError: others may read the file, or it holds no key.
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
    """This judge's key, made at the first call.

    Args:
        on_new: called with one line if a key is made.

    Raises:
        ConfigError: the key cannot be read or made, or others may read it.
    """
    with suppress(FileNotFoundError):
        return SigningKey.load(path)
    try:
        key = SigningKey.create(path)
    except KeyExists:  # another process has just made it
        with suppress(FileNotFoundError):  # a dangling link
            return SigningKey.load(path)
        raise
    on_new(f"Made a key to sign results with: {path} (its public part: {key.public})")
    return key


def safe_key_file(settings: JudgeSettings) -> Path:
    """The path of the private key, outside of everything that is copied, mounted into containers or published.

    Raises:
        ConfigError: the path lies within the store, the data sets, the pages or the run directory.
    """
    path = settings.key_file.resolve()
    shared_folders = {
        "the store": _folder(settings.store),
        "the data sets": settings.data,
        "the published pages": _folder(settings.publish_to),
        "the pages": settings.site_dir,
        "the run directory": settings.run_dir,
    }
    for what, folder in shared_folders.items():
        if folder is not None and path.is_relative_to(folder.resolve()):
            raise ConfigError(f"key_file: {settings.key_file} lies within {what} ({folder}): move it out of there")
    return settings.key_file


def _folder(address: str) -> Path | None:
    """The folder that a setting names; None if it is not on this machine."""
    path = address.removeprefix("file://")
    return None if "://" in path else Path(path)


def trusted_file(settings: JudgeSettings) -> Path:
    """The path of the file of trusted keys."""
    return settings.key_file.with_name(TRUSTED)


def trusted_keys(settings: JudgeSettings) -> frozenset[str]:
    """The trusted public keys: this judge's own, those of the settings, those of the file of trusted keys.

    Raises:
        ConfigError: one of them is not a key, or others may read the private key or write the file.
    """
    return frozenset(key for keys in keys_by_source(settings).values() for key in keys)


def keys_by_source(settings: JudgeSettings) -> dict[str, tuple[str, ...]]:
    """The trusted public keys by source: `own`, `settings`, `file`.

    Raises:
        ConfigError: as `trusted_keys`.
    """
    try:
        own_keys: tuple[str, ...] = (SigningKey.load(safe_key_file(settings)).public,)
    except FileNotFoundError:
        own_keys = ()
    in_settings = tuple(public_key(key, "trusted_keys") for key in settings.trusted_keys)
    return {"own": own_keys, "settings": in_settings, "file": _read_trusted(trusted_file(settings))}


def trust(settings: JudgeSettings, key: str) -> bool:
    """Adds `key` to the file of trusted keys; False if it was trusted already.

    Raises:
        ConfigError: it is not a key, or the file of trusted keys cannot be written.
    """
    path, trusted = trusted_file(settings), trusted_keys(settings)
    new_key = public_key(key, "KEY")
    if new_key in trusted:
        return False
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        append_lines(path, new_key + "\n")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}): correct it, or state trusted_keys") from None
    return True


def public_key(text: str, field: str) -> str:
    """The public key in `text`.

    Raises:
        ConfigError: it is not a key; the message names `field`.
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
    """The bytes that are signed of the JSON object `fields`."""
    unsigned = {name: value for name, value in fields.items() if name != FIELD}
    return canonical_json(unsigned).encode()


def check_signature(data: bytes, trusted: Collection[str]) -> str:
    """The public key that signed the record stored as `data`.

    Args:
        trusted: public keys; the signer must be one of them.

    Raises:
        BadSignature: there is no signature, its key is not trusted, or the record was changed.
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
