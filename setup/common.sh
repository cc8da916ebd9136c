# shellcheck shell=bash
# Sourced by the other scripts: paths, and functions for messages and packages.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
CLONE=$PWD
CACHE=${LAMBENCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lambench-judge}
PY=$CLONE/.venv/bin/python
NO_DOCKER=3 # exit status of engine.sh if there is no engine
# shellcheck disable=SC2034 # for the scripts that source this
EXAMPLES=(emt lennard_jones xtb chgnet)
export CLONE CACHE PY NO_DOCKER
mkdir -p "$CACHE"

if [ -t 1 ]; then arrow=$'\033[1m==>\033[0m'; else arrow='==>'; fi
say() { printf '%s %s\n' "$arrow" "$*"; }
stop() { printf 'error: %s\n' "$*" >&2; exit 1; }
hash_of() { sha256sum | cut -d' ' -f1; }

# Runs a command; prints the end of its output only if it fails.
quietly() {
    local log; log=$(mktemp "$CACHE/log.XXXXXX")
    if "$@" >"$log" 2>&1; then rm -f "$log"; else
        local rc=$?; tail -n 30 "$log" >&2; rm -f "$log"; return "$rc"
    fi
}

# Installs Debian packages if this user is root; no password is ever asked for.
apt_install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    local alone=(flock "$CACHE/apt.lock") # several scripts may install packages at the same time
    quietly "${alone[@]}" apt-get update -q && DEBIAN_FRONTEND=noninteractive \
        quietly "${alone[@]}" apt-get install -y -q --no-install-recommends "$@"
}

# Downloads the wheels of the examples. If this fails, the build of the images tries again and prints the reason.
download_wheels() {
    local name requirements=()
    for name in calculator "${EXAMPLES[@]}"; do requirements+=("submissions/examples/$name/requirements.txt"); done
    "$PY" -m judge.demo wheels "${requirements[@]}" >/dev/null 2>&1 || true
}
