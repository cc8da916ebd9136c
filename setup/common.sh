# shellcheck shell=bash
# Sourced by the other scripts: where things are, and how they speak.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
CLONE=$PWD
CACHE=${LAMBENCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lambench-judge}
PY=$CLONE/.venv/bin/python
NO_DOCKER=3 # exit status of engine.sh when no engine can be had
# shellcheck disable=SC2034 # for the scripts that source this
EXAMPLES=(emt lennard_jones xtb chgnet)
export CLONE CACHE PY NO_DOCKER
mkdir -p "$CACHE"

if [ -t 1 ]; then arrow=$'\033[1m==>\033[0m'; else arrow='==>'; fi
say() { printf '%s %s\n' "$arrow" "$*"; }
stop() { printf 'error: %s\n' "$*" >&2; exit 1; }
hash_of() { sha256sum | cut -d' ' -f1; }

# Runs a command quietly; shows what it wrote only when it fails.
quietly() {
    local log; log=$(mktemp "$CACHE/log.XXXXXX")
    if "$@" >"$log" 2>&1; then rm -f "$log"; else
        local rc=$?; tail -n 30 "$log" >&2; rm -f "$log"; return "$rc"
    fi
}

# Root may install Debian packages; nobody else is asked for a password.
apt_install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    local alone=(flock "$CACHE/apt.lock") # several scripts at once may install something
    quietly "${alone[@]}" apt-get update -q && DEBIAN_FRONTEND=noninteractive \
        quietly "${alone[@]}" apt-get install -y -q --no-install-recommends "$@"
}
