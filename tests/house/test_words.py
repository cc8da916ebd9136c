"""`make lint` refuses words that a reader would have to learn, and class names that stand for two things."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def check(folder: Path) -> tuple[int, str]:
    """Exit status and output of the check of words on the checkout in `folder`."""
    done = subprocess.run(
        [sys.executable, ROOT / "setup" / "words.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def test_refused_words_and_shared_class_names_are_named_with_the_term_to_use(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "judge").mkdir()
    source = 'class Letter:\n    """A request."""\n\n\ndef at(letter_desk):\n    return f"{letter_desk} {guises}"\n'
    (tmp_path / "judge" / "one.py").write_text(source)
    (tmp_path / "judge" / "two.py").write_text("class Letter: ...\n")
    status, output = check(tmp_path)
    assert status == 1
    assert "judge/one.py:1: Letter: use the term 'submission request'" in output
    assert "judge/one.py:5: letter_desk: use the term 'session'" in output
    assert "judge/one.py:6: guises: use the term 'transformed copies'" in output
    assert "class Letter is defined 2 times: judge/one.py, judge/two.py" in output


def test_stored_keys_and_ordinary_words_pass(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "one.py").write_text("culprit = found = benchmarks = deskewed = 1\n")
    assert check(tmp_path) == (0, "Words: 1 files pass\n")
