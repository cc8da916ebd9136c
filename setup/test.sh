#!/usr/bin/env bash
# Sets up, then runs every check and every test. Without a Docker engine the tests that need it are reported as skipped.
# shellcheck source=setup/common.sh
. "$(dirname "$0")/common.sh"
setup/python.sh
setup/all.sh & all=$! # meanwhile, the steps that need no image
lint=0; setup/lint.sh || lint=$?
setup/engine.sh >/dev/null || true # waits until Docker is installed: servers.sh then forbids services to start
setup/browser.sh
setup/servers.sh
rc=0; wait "$all" || rc=$?
[ "$rc" = 0 ] || [ "$rc" = "$NO_DOCKER" ] || exit "$rc"
[ "$lint" = 0 ] || exit "$lint"
if [ $# -gt 0 ]; then exec "$PY" -m pytest "$@"; fi
"$PY" -m setup.tests
