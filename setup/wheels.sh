#!/usr/bin/env bash
# wheels.sh REQUIREMENTS: downloads its wheels on the host, with the user's own pip settings, and prints their folder.
#
# Since the download is not part of the build, indexes, proxies and certificates are set in one place only: pip's
# configuration. A find-links or an extra index there also chooses CPU builds of torch.
# shellcheck source=setup/common.sh
. "$(dirname "$0")/common.sh"
requirements=$1
version=$("$PY" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
folder=$CACHE/wheels/$( (cat setup/calculator.txt "$requirements"; echo "$version") | hash_of | cut -c1-16)

exec 7>"$CACHE/wheels.$(basename "$folder").lock"
flock 7
if ! [ -f "$folder/.complete" ]; then
    rm -rf "$folder" && mkdir -p "$folder"
    # `pip wheel`, not `download`: some pure packages exist as source only. No compiler may run.
    CC=false quietly "$PY" -m pip wheel -q -w "$folder" -c setup/calculator.txt -r "$requirements" >&2
    if compgen -G "$folder/nvidia_c*.whl" >/dev/null; then
        say "Note: pip found a CUDA build of torch. Point pip at the CPU wheels to save gigabytes." >&2
    fi
    touch "$folder/.complete"
fi
echo "$folder"
