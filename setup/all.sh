#!/usr/bin/env bash
# All the set-up: environment, engine, base image and wheels, images. Exit status 3: no Docker; the rest is done.
# shellcheck source=setup/common.sh
. "$(dirname "$0")/common.sh"

setup/engine.sh & engine=$! # Docker and .venv can be installed at the same time
setup/python.sh
wait "$engine" || exit $?

setup/base-image.sh & base=$!
# Wheels are downloaded while the base image is made. If this fails, images.sh tries again and prints the reason.
requirements=()
for name in calculator "${EXAMPLES[@]}"; do requirements+=("submissions/examples/$name/requirements.txt"); done
"$PY" -m judge.demo wheels "${requirements[@]}" >/dev/null 2>&1 || true
wait "$base"
setup/images.sh
