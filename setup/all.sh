#!/usr/bin/env bash
# All the set-up: environment, engine, base image and wheels, images. Exit status 3: no Docker; the rest is done.
# shellcheck source=setup/common.sh
. "$(dirname "$0")/common.sh"

# Docker, the base image's files and .venv can be installed at the same time.
setup/engine.sh & engine=$!
[ "${LAMBENCH_NO_DOCKER:-}" != "" ] || setup/base-image.sh archive & archive=$!
setup/python.sh
rc=0; wait "$engine" || rc=$?
wait "$archive" || true # base-image.sh tries again, and prints the reason
[ "$rc" = 0 ] || exit "$rc"

setup/base-image.sh & base=$!
download_wheels # while the base image is made
wait "$base"
setup/images.sh
