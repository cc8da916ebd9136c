#!/usr/bin/env bash
# Sets up, then every check and every test. Without a Docker engine its tests are reported as skipped.
# shellcheck source=setup/common.sh
. "$(dirname "$0")/common.sh"
rc=0; setup/all.sh || rc=$?
[ "$rc" = 0 ] || [ "$rc" = "$NO_DOCKER" ] || exit "$rc"
setup/browser.sh
setup/servers.sh
setup/lint.sh
if [ $# -gt 0 ]; then exec "$PY" -m pytest "$@"; fi
"$PY" -m setup.tests
