"""Settings: from the file, overridden by the environment, and an error that names the field."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.config import ConfigError, load_settings


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("LAMBENCH_STORE", "LAMBENCH_DATA", "LAMBENCH_SITE_DIR", "LAMBENCH_DRIVER", "LAMBENCH_RUN_DIR"):
        monkeypatch.delenv(name, raising=False)


def test_defaults_are_absolute(tmp_path: Path) -> None:
    settings = load_settings()
    assert settings.store == str(tmp_path / "var/store")
    assert settings.data == tmp_path / "var/data"
    assert settings.site_dir == tmp_path / "var/site"


def test_the_environment_overrides_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("judge.toml").write_text('suite = "mine"\ndata = "elsewhere"\n[limits]\npids = 64\ncpus = 3\n')
    monkeypatch.setenv("LAMBENCH_LIMITS__PIDS", "128")
    monkeypatch.setenv("LAMBENCH_DATA", "/data")
    settings = load_settings()
    assert (settings.suite, str(settings.data), settings.limits.pids, settings.limits.cpus) == ("mine", "/data", 128, 3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('driver = "podman"', r"driver: must be 'docker' or 'process', not 'podman'"),
        ("[limits]\npids = 1", r"LAMBENCH_LIMITS__PIDS: limits\.pids: must be at least 16, not 1"),
        ('colour = "red"', "colour: there is no such setting"),
        ("failed_share = 0.4", "failed_share: there is no such setting"),  # a task's, not the judge's
        ("beat_s = 0", "beat_s: must be greater than 0, not 0"),
        ("driver =", "judge.toml"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(text: str, said: str) -> None:
    Path("judge.toml").write_text(text)
    with pytest.raises(ConfigError, match=said) as raised:
        load_settings()
    assert "\n" not in str(raised.value)
