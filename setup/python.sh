#!/usr/bin/env bash
# Makes .venv with this project and its development tools, if pyproject.toml has changed. DEVELOPMENT=no: without the tools,
# but with what the suite quickstart needs.
# shellcheck source=setup/common.sh
. "$(dirname "$0")/common.sh"

PYTHON=${PYTHON:-python3}
command -v "$PYTHON" >/dev/null || stop "no $PYTHON: install Python 3.11 or newer, or name one: make PYTHON=…"
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || stop "$PYTHON is older than 3.11"

stamp=.venv/.installed
# The path is part of the stamp, since a virtual environment cannot be moved.
inputs=$( (cat pyproject.toml; "$PYTHON" -V; pwd) | hash_of)
project='.[conductivity]' tools='' compile=() # the demonstration writes the bytecode of what it imports
made=$(cat "$stamp" 2>/dev/null || true)
[ "$made" != "$inputs" ] || exit 0
if [ "${DEVELOPMENT:-}" = no ]; then
    inputs="$inputs without tools, with conductivity"
    [ "$made" != "$inputs" ] || exit 0
else
    project='.[dev]' tools=' and its development tools' compile=(--compile-bytecode)
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
# pip_setting NAME VARIABLE [SEPARATOR]: sets uv's variable as pip is set, by its own variable or else by its files.
pip_setting() {
    local value
    value=$(sed -n "s/^\(:env:\|global\)\.$1='\(.*\)'\$/\2/p" <<<"$settings" | head -n 1 | sed 's/\\n/ /g; s/^ *//; s/  */ /g')
    [ "$value" = "" ] || export "$2=${value// /${3:- }}"
}

# uv takes a quarter of pip's time, but it reads no settings of pip. As pip, it takes the best version of all indexes.
install_by_uv() (
    "$PY" -m pip install uv
    settings=$("$PY" -m pip config list)
    pip_setting index-url UV_DEFAULT_INDEX
    pip_setting extra-index-url UV_INDEX
    pip_setting find-links UV_FIND_LINKS ,
    pip_setting cert SSL_CERT_FILE
    "$PY" -m uv pip install --python "$PY" --index-strategy unsafe-best-match "${compile[@]}" -e "$project"
)
say "Installing the judge$tools into .venv"
install_by_uv >/dev/null 2>&1 || quietly "$PY" -m pip install -e "$project"
echo "$inputs" >"$stamp"
