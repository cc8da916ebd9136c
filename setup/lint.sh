#!/usr/bin/env bash
# Checks formatting, lint, types, imports between rooms, and refused words.
# shellcheck source=setup/common.sh
. "$(dirname "$0")/common.sh"
export PATH="$CLONE/.venv/bin:$PATH"
ruff check .
ruff format --check .
mypy --strict
lint-imports
python setup/words.py
