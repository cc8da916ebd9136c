"""The workspace of a command: this machine's settings, and the store, data, keys and S3 service that they name."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from judge.config import JudgeSettings, load_settings
from judge.records.signing import SigningKey, own_key, safe_key_file, trusted_keys
from submissions.settings import SETTINGS_FILE
from submissions.store.interface import Store
from submissions.store.open_store import open_store
from submissions.store.s3_client import S3Client, connect


@dataclass(frozen=True)
class Workspace:
    """The settings of this machine, with the store, data root, keys and S3 service that they name.

    Each is opened at its first use.

    Args:
        other_store: used in place of that of the settings.
    """

    settings: JudgeSettings
    other_store: Store | None = None

    @cached_property
    def store(self) -> Store:
        """The store of all records.

        Raises:
            StoreError: the setting names no store.
        """
        return self.other_store or open_store(self.settings.store, self.settings.endpoint_url)

    @cached_property
    def s3(self) -> S3Client:
        """A client of the S3 service.

        Raises:
            StoreError: the address is not valid, or the AWS settings cannot be read.
        """
        return connect(self.settings.endpoint_url)

    @property
    def data(self) -> Path:
        """The folder that holds a folder for each data set."""
        return self.settings.data

    @property
    def trusted(self) -> frozenset[str]:
        """The public keys whose signatures count. Read each time, since the judge may make its own key in between.

        Raises:
            ConfigError: one of them is no key, or others may read the private key or write the file.
        """
        return trusted_keys(self.settings)

    def signing_key(self, say: Callable[[str], None]) -> SigningKey:
        """This judge's private key, made at the first call.

        Args:
            say: called with one line when a key is made.

        Raises:
            ConfigError: it cannot be read or made, others may read it, or it lies in a folder that is shared.
        """
        return own_key(safe_key_file(self.settings), say)

    def with_store(self, store: Store) -> Workspace:
        """The same with another store."""
        return replace(self, other_store=store)


def open_workspace() -> Workspace:
    """The workspace of the settings in the working directory. Where nothing states a store and none exists, a line on
    standard error says which one it will be, before a command makes it.

    Raises:
        ConfigError: one line that names the file or variable, and the field.
    """
    workspace = Workspace(load_settings())
    if _is_by_chance(workspace.settings):
        print(f"judge: there is no {SETTINGS_FILE} here: the store is {workspace.settings.store}", file=sys.stderr)
    return workspace


def _is_by_chance(settings: JudgeSettings) -> bool:
    """Whether the store is the default of a folder in which no judge has worked yet."""
    return not (SETTINGS_FILE.exists() or "LAMBENCH_STORE" in os.environ or Path(settings.store).exists())
