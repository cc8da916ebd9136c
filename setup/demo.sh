#!/usr/bin/env bash
# demo.sh [OPTION...]: the environment, the engine and the base image; then `judge demo` with these options.
# shellcheck source=setup/common.sh
. "$(dirname "$0")/common.sh"

setup/engine.sh & engine=$! # Docker and .venv can be installed at the same time
DEVELOPMENT=no setup/python.sh
rc=0; wait "$engine" || rc=$?
case $rc in
0) setup/base-image.sh ;;
"$NO_DOCKER") set -- --driver process "$@" ;;
*) exit "$rc" ;;
esac
exec .venv/bin/judge demo "$@"
