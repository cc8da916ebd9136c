#!/usr/bin/env bash
# demo.sh [OPTION...]: the environment, the engine and the base image; then `judge demo` with these options.
# shellcheck source=setup/common.sh
. "$(dirname "$0")/common.sh"

# Docker, the base image's files and .venv can be installed at the same time.
setup/engine.sh & engine=$!
[ "${LAMBENCH_NO_DOCKER:-}" != "" ] || setup/base-image.sh archive & archive=$!
DEVELOPMENT=no setup/python.sh
unset PYTHONDONTWRITEBYTECODE # python.sh compiles nothing
download_wheels &
rc=0; wait "$engine" || rc=$?
wait "$archive" || true # base-image.sh tries again, and prints the reason
case $rc in
0) setup/base-image.sh ;;
"$NO_DOCKER") set -- --driver process "$@" ;;
*) exit "$rc" ;;
esac
exec .venv/bin/judge demo "$@"
