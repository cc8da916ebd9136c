#!/usr/bin/env bash
# Installs and starts a Docker engine if none answers. Exit status 3: that is not possible; the `process` driver works.
# shellcheck source=setup/common.sh
. "$(dirname "$0")/common.sh"

answers() { "${PYTHON:-python3}" setup/engine.py ping; }

no_docker() {
    say "No Docker engine: $*. Continuing with the process driver (no isolation)."
    exit "$NO_DOCKER"
}

[ "${LAMBENCH_NO_DOCKER:-}" = "" ] || no_docker "LAMBENCH_NO_DOCKER is set"
answers && exit 0
[ "${DOCKER_HOST:-}" = "" ] || no_docker "DOCKER_HOST=$DOCKER_HOST does not answer"

exec 9>"$CACHE/engine.lock"
flock 9 # two clones must not start two engines at the same time
answers && exit 0
if ! command -v dockerd >/dev/null; then
    [ "$(id -u)" = 0 ] || no_docker "it is not installed, and only root may install it"
    say "Installing Docker (docker.io, iptables)"
    apt_install docker.io iptables || no_docker "apt-get could not install docker.io"
fi
[ "$(id -u)" = 0 ] || no_docker "it does not answer, and only root may start it"
# After a power cut a pid file may name a process that is now another program: dockerd would wait for it.
forget_stale() {
    [ -f "$1" ] || return 0
    [ "$(cat "/proc/$(cat "$1")/comm" 2>/dev/null)" = "$2" ] || rm -f "$1"
}
# An engine that is still starting counts: there must never be two.
if ! answers && ! grep -qsx dockerd /proc/[0-9]*/comm; then
    forget_stale /var/run/docker.pid dockerd
    forget_stale /var/run/docker/containerd/containerd.pid containerd
    say "Starting dockerd (its log: $CACHE/dockerd.log)"
    setsid dockerd >"$CACHE/dockerd.log" 2>&1 </dev/null 9>&- &
fi
for _ in $(seq 60); do
    answers && exit 0
    sleep 0.5
done
no_docker "dockerd does not answer after 30 s; the last line of its log: $(tail -n 1 "$CACHE/dockerd.log" 2>/dev/null)"
