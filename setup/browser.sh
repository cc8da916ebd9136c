#!/usr/bin/env bash
# Installs a browser for the tests of the pages. Without one, these tests are reported as skipped.
# shellcheck source=setup/common.sh
. "$(dirname "$0")/common.sh"
command -v chromium >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "Installing chromium"
    apt_install chromium && exit 0
fi
say "No chromium: the tests in a browser will be skipped"
