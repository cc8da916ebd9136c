#!/usr/bin/env bash
# Sets up, then every check and every test. Without a Docker engine its tests are reported as skipped.
# shellcheck source=setup/common.sh
. "$(dirname "$0")/common.sh"
setup/python.sh
setup/all.sh & all=$! # meanwhile: what needs no image
lint=0; setup/lint.sh || lint=$?
setup/engine.sh >/dev/null || true # waits: installing Docker must be over before servers.sh forbids services to start
setup/browser.sh
setup/servers.sh
rc=0; wait "$all" || rc=$?
[ "$rc" = 0 ] || [ "$rc" = "$NO_DOCKER" ] || exit "$rc"
[ "$lint" = 0 ] || exit "$lint"
if [ $# -gt 0 ]; then exec "$PY" -m pytest "$@"; fi
"$PY" -m setup.tests
