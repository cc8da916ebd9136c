"""The maintainer's settings: `judge.toml` here, overridden by `LAMBENCH_…` variables."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import SettingsConfigDict

from sandbox.driver import ColdStart
from submissions.settings import SETTINGS_FILE, Settings, SettingsFileError, absolute_address
from tasks.structures.validation_errors import one_line


class ConfigError(ValueError):
    """A setting is wrong; the message names it."""


class UsageError(ValueError):
    """A command cannot be run with these arguments; one line with the reason and the remedy."""


_GUEST_VERSION = re.compile(r"^[0-9a-f]{16}\Z")
DEFAULT_DAYS = 30.0  # of `judge gc --days`
CENTURY_DAYS = 36_500.0  # a longer time leads beyond the first or the last date


class Retention(BaseModel):
    """How many days each sort of file is kept. None: for ever.

    Args:
        observations: stored answers that no result that counts and no published page rests on.
        trajectories: the same of simulations, whose observations hold their frames.
        models: trained models.
        logs: preflight logs of submissions that were never published, and old files of the event log.
        images: images of the selftest on this machine's engine. None: as `judge gc --days`.
        also_needed: also observations and trajectories that a result that counts or a published page rests on. `judge
            verify` cannot measure these results again.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    observations: float | None = Field(None, ge=0)
    trajectories: float | None = Field(None, ge=0)
    models: float | None = Field(None, ge=0)
    logs: float | None = Field(None, ge=0)
    images: float | None = Field(None, ge=0)
    also_needed: bool = False


class ClusterSettings(BaseModel):
    """How Dask starts workers for `judge evaluate --cluster`.

    Args:
        folder: with `judge.toml`, as the workers' hosts name it. Empty: the working directory of the command.
        python: of the workers' hosts, with the judge installed. Empty: that of the command.
        interface: the network interface by which scheduler and workers talk. Empty: the host's usual one.
        dashboard: address of Dask's dashboard on the scheduler's host; port 0: any free one.
        tls: encrypt, and let nobody in without a certificate. Without it, whoever reaches the scheduler can run
            programs as you.
        tls_ca_file, tls_cert, tls_key: files, as all hosts name them. Empty: for `local` and `slurm` Dask makes a
            certificate for each run.
        hosts: of `ssh`; the first one also runs the scheduler.
        ssh_config: file in the format of ssh_config(5). None: `~/.ssh/config`.
        queue: Slurm's partition.
        account: that Slurm charges.
        walltime: of a job, `HH:MM:SS`, at least a minute.
        cores: of a job.
        memory: of a job, with a unit.
        directives: further options of `sbatch`.
        prologue: lines of the job's script before the worker starts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: str = ""
    python: str = ""
    interface: str = ""
    dashboard: str = "127.0.0.1:0"
    tls: bool = True
    tls_ca_file: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    hosts: tuple[str, ...] = ()
    ssh_config: Path | None = None
    queue: str = ""
    account: str = ""
    walltime: timedelta = timedelta(hours=4)
    cores: int = Field(1, ge=1)
    memory: str = "4 GiB"
    directives: tuple[str, ...] = ()
    prologue: tuple[str, ...] = ()

    @field_validator("walltime")
    @classmethod
    def _a_minute(cls, value: timedelta) -> timedelta:
        if value < timedelta(minutes=1):
            raise ValueError("must be a minute or more")
        return value


def default_key_file() -> Path:
    """The default path of this user's signing key."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "lambench-judge" / "signing.key"


RENAMED = {"inbox": "upload_bucket", "mail": "status_bucket", "mail_url": "status_url"}
"""Settings by their old names, which are still accepted."""


class JudgeSettings(Settings):
    """The maintainer's settings: those of the author's command, and where the judge keeps its data and its site.

    Args:
        cold_start: must be `required` on a host that sees hidden data: else the selftest fails there.
        data: folder with a folder for each data set.
        site_dir: folder that `judge site build` writes.
        suite: the default suite: a packaged suite's name, or a path.
        references: names or IDs of submissions that are shown for comparison: they are judged, and have no rank.
        allow_process: also judge submissions of the process driver (no isolation) without an option.
        beat_s: seconds between two signs of life of an attempt, at most a third of `dead_after_s`.
        dead_after_s: an attempt of another host is taken over if its sign of life has not changed for this time.
        shard_structures: a larger task, of a kind that asks about each structure once, is cut into shards that several
            workers can observe at once; 0: none is.
        engine_wait_s: how long to wait for a container engine that stops answering during a run.
        min_free_bytes: on each disk that is written to; with less space, nothing is started.
        equal_guests: lists of versions of the guest that give the same answers: what one of a list has observed is not
            asked again with another.
        log: file that every event is appended to, as a line of JSON.
        key_file: the private key that signs results and manifests.
        trusted_keys: public keys, besides that of `key_file`, whose signatures count.
        selftest_max_age_days: a result is not published if the last selftest of its host and engine is older.
        publish_to: where `judge site publish` writes the pages: a folder, or `s3://BUCKET/PREFIX`.
        site_grace_hours: how long files that the pages no longer need stay in a bucket, for readers of older pages.
        site_url: address of the published site, ending with a slash, for links in the authors' status.
        upload_bucket: `s3://BUCKET/PREFIX` that authors upload to. Only the judge reads it, and it keeps every version.
        status_bucket: `s3://BUCKET/PREFIX` for the authors' status files. Anybody may read an object whose name he
            knows, and nobody may list any.
        status_url: the address of `status_bucket` for readers, as invitations state it.
        intake_gpu: UUID of the GPU on which `judge intake` tries images; `cpu` for none; empty: the machine's first.
        form_days: lifetime of the upload forms. The forms of a revoked invitation also work that long, but what is
            uploaded with them is refused.
        mirror: `HOST[:PORT]/NAME` of the registry that keeps every accepted image.
        registries: hosts that images are fetched from, `HOST` or `HOST:PORT`. Redirects lead to public hosts only.
        registry_config: a `config.json` as `docker login` writes it, with the credentials of private registries.
        max_image_bytes: of all layers of an image, unpacked.
        intake_seconds: how long one intake examines requests of one invitation, and how long one transfer may take.
        intake_bytes: how much one intake fetches for one invitation, and how much is fetched in vain for one request.
        intake_delays: a request is refused after so many delays that only this request has; at most one an hour counts.
        retention: how many days `judge gc` keeps each sort of file, a table `[retention]`.
        source_cache: folder that keeps what `judge data get` fetched.
        mirrors: by beginning of an address, what replaces it when `judge data get` fetches, a table `[mirrors]`:
            `"https://github.com/" = "https://git.example.org/"`. The longest beginning applies.
        cluster: how Dask starts workers, a table `[cluster]`.
    """

    model_config = SettingsConfigDict(extra="forbid")

    cold_start: ColdStart = "required"
    data: Path = Path("var/data")
    site_dir: Path = Path("var/site")
    suite: str = "quickstart"
    references: tuple[str, ...] = ()
    allow_process: bool = False
    beat_s: float = Field(5.0, gt=0)
    dead_after_s: float = Field(60.0, gt=0)
    shard_structures: int = Field(20_000, ge=0)
    engine_wait_s: float = Field(60.0, ge=0)
    min_free_bytes: int = Field(1024**3, ge=0)
    equal_guests: tuple[tuple[str, ...], ...] = ()
    log: Path = Path("var/log/judge.jsonl")
    key_file: Path = Field(default_factory=default_key_file)
    trusted_keys: tuple[str, ...] = ()
    selftest_max_age_days: float = Field(30.0, gt=0, le=CENTURY_DAYS)
    publish_to: str = "var/public"
    site_grace_hours: float = Field(24.0, ge=0, le=24 * CENTURY_DAYS)
    site_url: str = ""
    upload_bucket: str = ""
    status_bucket: str = ""
    status_url: str = ""
    intake_gpu: str = ""
    form_days: float = Field(7.0, gt=0, le=7)
    mirror: str = ""
    registries: tuple[str, ...] = ("docker.io", "ghcr.io", "quay.io", "nvcr.io", "registry.gitlab.com")
    registry_config: Path | None = None
    max_image_bytes: int = Field(64 * 1024**3, gt=0)
    intake_seconds: float = Field(3600.0, gt=0)
    intake_bytes: int = Field(128 * 1024**3, gt=0)
    intake_delays: int = Field(5, ge=1)
    retention: Retention = Retention()
    source_cache: Path = Path("var/sources")
    mirrors: dict[str, str] = Field(default_factory=dict)
    cluster: ClusterSettings = ClusterSettings()
    _old_names: tuple[str, ...] = PrivateAttr(())

    @property
    def notices(self) -> list[str]:
        """A line for each setting that was given by its old name."""
        return [f"the setting {old} is now called {RENAMED[old]}" for old in self._old_names]

    @model_validator(mode="wrap")
    @classmethod
    def _accept_old_names(cls, given: dict[str, Any], validate: ModelWrapValidatorHandler[Self]) -> Self:
        """The settings, with their old names in files and environment variables replaced by the present ones."""
        prefix = cls.model_config["env_prefix"]
        variables = {old: prefix + old.upper() for old in RENAMED}
        given |= {old: os.environ[variable] for old, variable in variables.items() if variable in os.environ}
        old_names = tuple(old for old in RENAMED if old in given)
        for old in old_names:
            if RENAMED[old] in given:
                raise ValueError(f"{RENAMED[old]}: is set, and so is {old}, its old name: remove {old}")
        settings = validate({RENAMED.get(name, name): value for name, value in given.items()})
        settings._old_names = old_names
        return settings

    @field_validator("dead_after_s")
    @classmethod
    def _after_three_beats(cls, value: float, info: ValidationInfo) -> float:
        least = round(3 * info.data.get("beat_s", 0.0), 6)
        if not value >= least:
            raise ValueError(f"must be at least {least:g}, three times beat_s, not {value:g}")
        return value

    @field_validator("equal_guests", mode="before")
    @classmethod
    def _one_list(cls, value: Any) -> Any:
        """One list of versions is a list of one list."""
        flat = isinstance(value, list) and value and all(isinstance(version, str) for version in value)
        return [value] if flat else value

    @field_validator("equal_guests")
    @classmethod
    def _are_versions(cls, groups: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        for group in groups:
            for version in group:
                if not _GUEST_VERSION.match(version):
                    raise ValueError(f"{version!r:.60} is no version of a guest: 16 digits 0-9 and a-f (judge doctor)")
            if len(set(group)) < 2:
                raise ValueError(f"{', '.join(group) or 'an empty list'}: name at least two versions that are equal")
        return groups

    @field_validator("data", "site_dir", "run_dir", "log", "key_file", "registry_config", "source_cache")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return value.expanduser().absolute() if value else None

    @field_validator("publish_to")
    @classmethod
    def _absolute_publish_to(cls, value: str) -> str:
        return absolute_address(value)


def load_settings() -> JudgeSettings:
    """The settings of the working directory, with absolute paths.

    Raises:
        ConfigError: one line that names the file or variable, and the field.
    """
    try:
        return JudgeSettings()
    except ValidationError as error:
        complaint = one_line(error).replace("no such field", "no such setting")
        variable = "LAMBENCH_" + complaint.partition(":")[0].upper().replace(".", "__")
        raise ConfigError(f"{SETTINGS_FILE} or {variable}: {complaint}") from None
    except SettingsFileError as error:
        raise ConfigError(str(error)) from None
    except ValueError as error:
        raise ConfigError(f"{SETTINGS_FILE}: {error}") from None
