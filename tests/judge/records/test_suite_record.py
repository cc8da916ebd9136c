"""The key of a suite's record."""

from __future__ import annotations

from judge.records.suite_record import suite_path
from submissions.store.interface import check_key
from tasks.suites.suite import MAX_VERSION_BYTES, Suite


def test_the_longest_name_and_version_have_a_valid_key() -> None:
    check_key(suite_path(Suite(name="s" * 63, version="ß" * (MAX_VERSION_BYTES // 2), title="", tasks=())))
