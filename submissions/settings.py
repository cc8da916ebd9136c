"""The settings that author and maintainer share: `judge.toml` in the working directory, or `LAMBENCH_…` variables."""

from __future__ import annotations

import tomllib
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from pydantic import field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from sandbox.driver import ColdStart, DriverName
from sandbox.limits import Limits
from sandbox.rundir import default_run_dir
from tasks.structures.text_files import decoded

RECEIPT_FILE = Path("lambench-receipt.json")
INVITE_VARIABLE = "LAMBENCH_INVITE"
SETTINGS_FILE = Path("judge.toml")


class SettingsFileError(Exception):
    """`judge.toml` is no TOML, or no UTF-8: one line that names it."""


class SettingsFile(TomlConfigSettingsSource):
    """Reads `judge.toml` as a person may have written it: with a byte order mark, or not."""

    def _read_file(self, file_path: Path | Traversable) -> dict[str, Any]:
        try:
            return tomllib.loads(decoded(file_path.read_bytes()))
        except (ValueError, RecursionError) as error:  # of TOML, UTF-8, and Python's limits on digits and depth
            raise SettingsFileError(f"{file_path.name}: {error}") from None


def absolute_address(address: str) -> str:
    """The address of a store; of a folder its absolute path."""
    return address if "://" in address or address.startswith("s3:") else str(Path(address).expanduser().absolute())


class Settings(BaseSettings):
    """Where records are stored, how submissions are run, and their limits. Other settings in the file are ignored here.

    Args:
        store: a folder, or `s3://BUCKET/PREFIX`.
        endpoint_url: of the S3 service; empty for that of the AWS chain. Credentials come from that chain alone.
        cold_start: whether each container starts with none of its files in memory: `required`, `if possible` or `off`.
    """

    model_config = SettingsConfigDict(
        env_prefix="LAMBENCH_", env_nested_delimiter="__", toml_file=SETTINGS_FILE, frozen=True, extra="ignore"
    )

    store: str = "var/store"
    endpoint_url: str = ""
    run_dir: Path = default_run_dir()
    driver: DriverName = "docker"
    runtime: str = ""
    cold_start: ColdStart = "if possible"
    limits: Limits = Limits()

    @field_validator("store")
    @classmethod
    def _absolute_store(cls, value: str) -> str:
        return absolute_address(value)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Values given in code first, then those of the environment, then those of the file."""
        return init_settings, env_settings, SettingsFile(settings_cls)
