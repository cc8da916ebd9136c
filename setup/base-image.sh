#!/usr/bin/env bash
# Makes lambench/base:latest, a small Debian with Python: from a registry if one can be reached, else by mmdebstrap.
# shellcheck source=setup/common.sh
. "$(dirname "$0")/common.sh"
IMAGE=lambench/base:latest

exec 8>"$CACHE/base.lock"
flock 8
packages=python3,python3-venv,ca-certificates,libgomp1 # libgomp1 is OpenMP, which many wheels need from the system
tar=$CACHE/base-$(uname -m)-$(printf %s "$packages small" | hash_of | cut -c1-8).tar

# The files of the image, from this machine's Debian mirror.
make_archive() {
    say "Base image: no registry can be reached; making one from this machine's Debian mirror (half a minute)"
    [ "$(id -u)" = 0 ] || stop "mmdebstrap needs root here; or name a local image: BASE_IMAGE=…"
    command -v mmdebstrap >/dev/null || apt_install mmdebstrap || stop "cannot install mmdebstrap"
    # The mirror that apt itself uses for this release's main component.
    # shellcheck source=/dev/null
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    # shellcheck disable=SC2016 # apt expands these, not the shell
    mirror=$(apt-get indextargets --format '$(CREATED_BY) $(CODENAME) $(COMPONENT) $(REPO_URI)' |
        awk -v r="$release" '$1 == "Packages" && $2 == r && $3 == "main" {print $4; exit}')
    [ "$mirror" != "" ] || stop "apt knows no mirror of $release main; name an image instead: BASE_IMAGE=…"
    trap 'rm -f "$tar.new"' EXIT
    local option small=() # as Debian's own small images
    for option in path-exclude=/usr/share/{man,doc,locale}/\* path-include=/usr/share/doc/\*/copyright; do
        small+=(--dpkgopt="$option")
    done
    quietly env TMPDIR="$CACHE" mmdebstrap --mode=root --format=tar --variant=minbase "${small[@]}" \
        --include="$packages" "$release" "$tar.new" "$mirror"
    mv "$tar.new" "$tar"
}

if [ "${1:-}" = archive ]; then # while the engine is installed: it is needed only if no registry answers
    [ "${BASE_IMAGE:-}" = "" ] && ! [ -f "$tar" ] && [ "$(id -u)" = 0 ] || exit 0
    ! timeout 5 bash -c '</dev/tcp/registry-1.docker.io/443' 2>/dev/null || exit 0
    make_archive
    exit 0
fi
if [ "${BASE_IMAGE:-}" = "" ]; then
    [ "$("$PY" setup/engine.py id "$IMAGE")" = "" ] || exit 0
fi
pull() { timeout "$1" "$PY" setup/engine.py pull "$2" >/dev/null 2>&1; }

if [ "${BASE_IMAGE:-}" != "" ]; then
    [ "$("$PY" setup/engine.py id "$BASE_IMAGE")" != "" ] || pull 600 "$BASE_IMAGE" || stop "cannot pull BASE_IMAGE=$BASE_IMAGE"
    exec "$PY" setup/engine.py tag "$BASE_IMAGE" "$IMAGE"
fi
if ! [ -f "$tar" ]; then
    say "Base image: trying a registry (python:3.11-slim)"
    if pull 90 python:3.11-slim; then
        exec "$PY" setup/engine.py tag python:3.11-slim "$IMAGE"
    fi
    make_archive
fi
"$PY" setup/engine.py import "$tar" "$IMAGE"
