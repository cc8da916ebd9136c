#!/usr/bin/env bash
# Makes .venv with this project and its development tools, if pyproject.toml has changed. DEVELOPMENT=no: without the tools.
# shellcheck source=setup/common.sh
. "$(dirname "$0")/common.sh"

PYTHON=${PYTHON:-python3}
command -v "$PYTHON" >/dev/null || stop "no $PYTHON: install Python 3.11 or newer, or name one: make PYTHON=…"
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || stop "$PYTHON is older than 3.11"

stamp=.venv/.installed
# The path is part of the stamp, since a virtual environment cannot be moved.
inputs=$( (cat pyproject.toml; "$PYTHON" -V; pwd) | hash_of)
project=. tools=''
made=$(cat "$stamp" 2>/dev/null || true)
[ "$made" != "$inputs" ] || exit 0
if [ "${DEVELOPMENT:-}" = no ]; then
    inputs="$inputs without tools"
    [ "$made" != "$inputs" ] || exit 0
else
    project='.[dev]' tools=' and its development tools'
fi

if ! [ -x "$PY" ] || ! "$PY" -m pip --version >/dev/null 2>&1; then
    say "Making the virtual environment .venv"
    rm -rf .venv
    if ! "$PYTHON" -m venv .venv >/dev/null 2>&1; then
        # On Debian without python3-venv, pip can install the virtualenv package.
        rm -rf .venv
        [ -d "$CACHE/virtualenv/virtualenv" ] ||
            quietly "$PYTHON" -m pip install --target "$CACHE/virtualenv" virtualenv
        PYTHONPATH="$CACHE/virtualenv" quietly "$PYTHON" -m virtualenv .venv
    fi
fi
say "Installing the judge$tools into .venv"
quietly "$PY" -m pip install -e "$project"
echo "$inputs" >"$stamp"
