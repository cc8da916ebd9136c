"""Settings: from the file, overridden by the environment, and an error that names the field."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.cli.main import main
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
    ("text", "complaint"),
    [
        ('driver = "podman"', r"driver: must be 'docker' or 'process', not 'podman'"),
        ("[limits]\npids = 1", r"LAMBENCH_LIMITS__PIDS: limits\.pids: must be at least 16, not 1"),
        ('colour = "red"', "colour: there is no such setting"),
        ("failed_share = 0.4", "failed_share: there is no such setting"),  # a task's, not the judge's
        ("beat_s = 0", "beat_s: must be greater than 0, not 0"),
        ("beat_s = 120", "dead_after_s: must be at least 360, three times beat_s, not 60"),
        ("beat_s = 5\ndead_after_s = 14.9", r"dead_after_s: must be at least 15, three times beat_s, not 14\.9"),
        ("selftest_max_age_days = inf", "selftest_max_age_days: must be at most 36500, not inf"),
        ("selftest_max_age_days = nan", "selftest_max_age_days: must be at most 36500, not nan"),
        ("site_grace_hours = 1e12", "site_grace_hours: must be at most 876000, not 1000000000000.0"),
        ("driver =", "judge.toml"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(text: str, complaint: str) -> None:
    Path("judge.toml").write_text(text)
    with pytest.raises(ConfigError, match=complaint) as raised:
        load_settings()
    assert "\n" not in str(raised.value)


def test_old_names_of_settings_are_accepted_with_a_line_that_has_the_new_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("judge.toml").write_text('inbox = "s3://bucket/uploads"\nmail = "s3://bucket/status"\n')
    monkeypatch.setenv("LAMBENCH_MAIL", "s3://other/status")
    monkeypatch.setenv("LAMBENCH_MAIL_URL", "https://example.org/status/")
    settings = load_settings()
    assert settings.upload_bucket == "s3://bucket/uploads"
    assert (settings.status_bucket, settings.status_url) == ("s3://other/status", "https://example.org/status/")
    monkeypatch.setattr("sys.argv", ["judge", "list"])
    with pytest.raises(SystemExit):
        main()
    renamed = (("inbox", "upload_bucket"), ("mail", "status_bucket"), ("mail_url", "status_url"))
    lines = [f"judge: the setting {old} is now called {new}" for old, new in renamed]
    assert capsys.readouterr().err.splitlines() == lines


def test_a_setting_by_both_names_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("judge.toml").write_text('mail = "s3://bucket/one"\nstatus_bucket = "s3://bucket/two"\n')
    with pytest.raises(ConfigError, match="status_bucket: is set, and so is mail, its old name: remove mail"):
        load_settings()
