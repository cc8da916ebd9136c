"""Signatures: who measured a number, and that nobody changed it since. ed25519 (RFC 8032) over canonical JSON.

What is signed is the record as it was stored, not as a later version of the judge reads it: its JSON without the field
`signature`, names sorted, no spaces, ASCII. The private key lies outside the store, readable by its owner alone; the
public one stands in every signature, and whoever verifies says which of them is trusted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from judge.config import ConfigError
from judge.records import Signature
from submissions.records import Record

R = TypeVar("R", bound=Record)
FIELD = "signature"


class BadSignature(ValueError):
    """A record that nobody trusted has signed as it is; one line that says why."""


class SigningKey:
    """A private key, from its 32 bytes."""

    def __init__(self, secret: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(secret)
        self.public = self._key.public_key().public_bytes_raw().hex()

    @classmethod
    def create(cls, path: Path) -> SigningKey:
        """A new key, written to `path` for its owner alone.

        Raises:
            ConfigError: there is a file already, or it cannot be written.
        """
        secret = Ed25519PrivateKey.generate().private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(handle, "w", encoding="ascii") as file:
                file.write(secret.hex() + "\n")
        except FileExistsError:
            raise ConfigError(f"key_file: {path} exists: a key is never overwritten; name another") from None
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
            raise ConfigError(f"key_file: {path} cannot be read ({error}): mend it, or name another") from None
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
    key = SigningKey.create(path)
    on_new(f"Made a key to sign results with: {path} (its public part: {key.public})")
    return key


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
    except (InvalidSignature, ValueError):
        raise BadSignature("it was changed after it was signed") from None
    return signature.key
