"""The maintainer's settings: `judge.toml` here, overridden by `LAMBENCH_…` variables."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import SettingsConfigDict

from submissions.settings import SETTINGS_FILE, Settings
from tasks.structures.validation_errors import one_line


class ConfigError(ValueError):
    """A setting that cannot be; the message names the field."""


class UsageError(ValueError):
    """What was asked for cannot be done; one line that says what can."""


def default_key_file() -> Path:
    """Where this user's signing key lies when nothing else is said."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "lambench-judge" / "signing.key"


class JudgeSettings(Settings):
    """What the author's command knows, and where the judge keeps its data, its site, and its patience.

    Args:
        data: the data root, with a folder per dataset.
        site_dir: where `judge site build` writes.
        suite: what is judged when nothing is said: a packaged suite's name, or a path.
        references: names or ids of submissions that are shown for comparison: they are judged, and have no rank.
        allow_process: also judge submissions of the process driver (no isolation) without being told each time.
        beat_s: seconds between two signs of life of an attempt.
        dead_after_s: an attempt of another host whose sign of life has not changed for so long is taken over.
        engine_wait_s: how long the engine is waited for that stopped answering in the middle of a run.
        min_free_bytes: on each disk that is written to, without which nothing is begun.
        log: file to which every event is written, a line of JSON each.
        key_file: the private key that signs results and manifests.
        trusted_keys: public keys, besides that of `key_file`, whose signatures count.
        selftest_max_age_days: a result is not published if the last selftest of its host and engine is older.
        publish_to: where `judge site publish` puts the pages: a folder, or `s3://BUCKET/PREFIX`.
        site_grace_hours: for so long what the pages no longer refer to stays in a bucket, for readers of older ones.
        site_url: address of the published site, ending with a slash, for the links that authors are sent.
        inbox: `s3://BUCKET/PREFIX` that authors upload to; nobody but the judge reads it, and it is versioned.
        mail: `s3://BUCKET/PREFIX` of which anybody may read an object whose name he knows, and nobody may list any.
        mail_url: the address at which `mail` is read, as invitations name it.
        intake_gpu: UUID of the GPU on which `judge intake` tries images where it is given none; `cpu` for none; empty:
            the first of this machine, where it has any.
        form_days: how long the forms live by which authors upload; so long a revoked invitation can still fill the
            inbox, with what intake refuses.
        mirror: `HOST[:PORT]/NAME` of the registry that keeps every image that was taken.
        registries: hosts that images are fetched from; of another one nothing is ever asked.
        registry_config: a `config.json` as `docker login` writes it, with what is needed to read private registries.
        max_image_bytes: of all layers of an image, unpacked.
    """

    model_config = SettingsConfigDict(extra="forbid")

    data: Path = Path("var/data")
    site_dir: Path = Path("var/site")
    suite: str = "quickstart"
    references: tuple[str, ...] = ()
    allow_process: bool = False
    beat_s: float = Field(5.0, gt=0)
    dead_after_s: float = Field(60.0, gt=0)
    engine_wait_s: float = Field(60.0, ge=0)
    min_free_bytes: int = Field(1024**3, ge=0)
    log: Path = Path("var/log/judge.jsonl")
    key_file: Path = Field(default_factory=default_key_file)
    trusted_keys: tuple[str, ...] = ()
    selftest_max_age_days: float = Field(30.0, gt=0)
    publish_to: str = "var/public"
    site_grace_hours: float = Field(24.0, ge=0)
    site_url: str = ""
    inbox: str = ""
    mail: str = ""
    mail_url: str = ""
    intake_gpu: str = ""
    form_days: float = Field(7.0, gt=0, le=7)
    mirror: str = ""
    registries: tuple[str, ...] = ("docker.io", "ghcr.io", "quay.io", "nvcr.io", "registry.gitlab.com")
    registry_config: Path | None = None
    max_image_bytes: int = Field(64 * 1024**3, gt=0)

    @field_validator("data", "site_dir", "run_dir", "log", "key_file", "registry_config")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return value.expanduser().absolute() if value else None

    @field_validator("store", "publish_to")
    @classmethod
    def _absolute_store(cls, value: str) -> str:
        return value if "://" in value else str(Path(value).expanduser().absolute())


def load_settings() -> JudgeSettings:
    """The settings that hold in the working directory, every path absolute.

    Raises:
        ConfigError: one line that names the file or variable, and the field.
    """
    try:
        return JudgeSettings()
    except ValidationError as error:
        complaint = one_line(error).replace("no such field", "no such setting")
        variable = "LAMBENCH_" + complaint.partition(":")[0].upper().replace(".", "__")
        raise ConfigError(f"{SETTINGS_FILE} or {variable}: {complaint}") from None
    except (ValueError, RecursionError) as error:  # of TOML, UTF-8, and Python's limits on digits and depth
        raise ConfigError(f"{SETTINGS_FILE}: {error}") from None
